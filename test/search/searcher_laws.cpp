// Laws of searchers, over all of them: what they propose lies in the space, is new, and follows from seed and history;
// they find the best point of a small space.
#include <primsel/search/any_searcher.hpp>
#include <primsel/search/bayes.hpp>
#include <primsel/search/grid.hpp>
#include <primsel/search/random_search.hpp>

#include "../error_of.hpp"
#include "spaces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace searcher_laws {
namespace {

namespace ps = primsel;
using tests::error_of;

struct MakeGrid {
    ps::search::Grid operator()(ps::search::Space const& space, std::uint64_t) const {
        return ps::search::Grid(space, 4);
    }
};
struct MakeRandom {
    ps::search::RandomSearch operator()(ps::search::Space const& space, std::uint64_t seed) const {
        return ps::search::RandomSearch(space, seed);
    }
};
struct MakeBayes {
    ps::search::Bayes<> operator()(ps::search::Space const& space, std::uint64_t seed) const {
        return ps::search::Bayes(space, {.first = 4, .candidates = 64, .rounds = 4, .seed = seed});
    }
};
/// Outcomes of which half is known.
struct KnownShare {
    ps::search::Space all;
    ps::search::Outcome operator()(ps::search::SearchPoint const& point) const {
        return {{std::nan(""), all.shares_of(point)[0]}};
    }
};

double loss_of(ps::search::Space const& space, ps::search::SearchPoint const& point) {
    const std::vector<double> shares = space.shares_of(point);
    double loss = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double away = shares[i] - 0.2 * static_cast<double>(i + 1);
        if (space.parameters()[i].count() != 1) loss += away * away;
    }
    return loss;
}
ps::search::Outcome outcome_of(ps::search::Space const& space, ps::search::SearchPoint const& point) {
    return {{loss_of(space, point)}};
}

TEST_CASE_TEMPLATE("proposals lie in the space, are new, and the same for the same seed", Make, MakeGrid, MakeRandom,
                   MakeBayes) {
    for (ps::search::Space const& space : spaces::any()) {
        auto one = Make{}(space, 5), same = Make{}(space, 5);
        static_assert(ps::search::Searcher<decltype(one)>);
        CHECK(one.space() == space);
        std::set<std::string> seen;
        for (int i = 0; i < 14; ++i) {
            const std::optional<ps::search::SearchPoint> point = one.ask();
            REQUIRE(point == same.ask());
            if (!point) break;
            REQUIRE(space.has(*point));
            CHECK(seen.insert(space.text(*point)).second);
            // Every third trial is silent for now.
            if (i % 3 == 2) continue;
            one.tell(*point, outcome_of(space, *point)), same.tell(*point, outcome_of(space, *point));
        }
    }
}

TEST_CASE_TEMPLATE("a search that was told what another saw goes on as the other", Make, MakeGrid, MakeRandom,
                   MakeBayes) {
    for (ps::search::Space const& space : spaces::any()) {
        auto one = Make{}(space, 2), resumed = Make{}(space, 2);
        for (int i = 0; i < 8; ++i) {
            const std::optional<ps::search::SearchPoint> point = one.ask();
            if (!point) break;
            one.tell(*point, outcome_of(space, *point)), resumed.tell(*point, outcome_of(space, *point));
        }
        for (int i = 0; i < 3; ++i) CHECK(one.ask() == resumed.ask());
    }
}

TEST_CASE_TEMPLATE("every point of a small space comes once, the best among them", Make, MakeGrid, MakeRandom,
                   MakeBayes) {
    const ps::search::Space space(
        {ps::search::Parameter::integer("n", 0, 3), ps::search::Parameter::values("kind", {"a", "b", "c"})});
    auto searcher = Make{}(space, 3);
    std::set<std::string> seen;
    while (const std::optional<ps::search::SearchPoint> point = searcher.ask()) {
        REQUIRE(seen.insert(space.text(*point)).second);
        searcher.tell(*point, seen.size() % 5 == 0 ? ps::search::Outcome{{std::nan("")}} : outcome_of(space, *point));
    }
    CHECK(seen.size() == space.count());
}

TEST_CASE_TEMPLATE("points of another space are refused, by any searcher", Make, MakeGrid, MakeRandom, MakeBayes) {
    auto searcher = Make{}(spaces::small(), 1);
    CHECK(error_of([&] {
              searcher.tell({{std::int64_t{9}, "a", 0.5}}, {{1}});
          }) == "the point count=9 kind=a size=0.5 is not in the space");
}

/// Whether both propose the same, told the same, until the second has nothing left or so often.
template <class One, class Other>
bool same_proposals(One one, Other other, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
        const std::optional<ps::search::SearchPoint> point = other.ask();
        if (one.ask() != point) return false;
        if (!point) return true;
        const ps::search::Outcome outcome{{loss_of(other.space(), *point)}, {0.5 - other.space().shares_of(*point)[0]}};
        one.tell(*point, outcome), other.tell(*point, outcome);
    }
    return true;
}

TEST_CASE("AnySearcher is the searcher that the sweep names, with the sweep's goals, bounds, budget and seed") {
    static_assert(ps::search::Searcher<ps::search::AnySearcher<>>);
    ps::search::Sweep sweep{.goals = {{"loss", false}},
                            .bounds = {{.metric = "size", .at_least = 0.5}},
                            .space = spaces::mixed(),
                            .trials = 40,
                            .seed = 7};
    const ps::search::BayesOptions effort{.first = 4, .candidates = 64, .rounds = 4};
    const auto any = [&](ps::search::SweepMethod method) {
        sweep.method = method;
        return ps::search::AnySearcher<>(sweep, effort);
    };
    CHECK(any(ps::search::SweepMethod::bayes).space() == sweep.space);
    CHECK(same_proposals(any(ps::search::SweepMethod::random), ps::search::RandomSearch(sweep.space, 7), 40));
    CHECK_FALSE(same_proposals(any(ps::search::SweepMethod::random), ps::search::RandomSearch(sweep.space, 8), 40));
    ps::search::BayesOptions whole = effort;
    whole.objectives = 1, whole.constraints = 1, whole.seed = 7;
    CHECK(same_proposals(any(ps::search::SweepMethod::bayes), ps::search::Bayes<>(sweep.space, whole), 12));
    CHECK_FALSE(same_proposals(any(ps::search::SweepMethod::bayes), ps::search::RandomSearch(sweep.space, 7), 12));
    // A grid of as many levels as the budget allows, two at least.
    for (const std::size_t trials : {1U, 8U, 30U, 64U, 1000U}) {
        CAPTURE(trials);
        sweep.space =
            ps::search::Space({ps::search::Parameter::real("x", 0, 1), ps::search::Parameter::real("y", 0, 1),
                               ps::search::Parameter::real("z", 0, 1), ps::search::Parameter::constant("c", 1)});
        sweep.trials = trials;
        ps::search::AnySearcher<> grid = any(ps::search::SweepMethod::grid);
        std::size_t points = 0;
        while (grid.ask()) ++points;
        const double levels = std::cbrt(static_cast<double>(points));
        CHECK(points >= 8);
        CHECK((points <= trials || points == 8));
        CHECK(std::pow(std::round(levels) + 1, 3) > static_cast<double>(trials));
    }
}

/// The least loss after so many trials.
template <class S>
double best_after(S searcher, std::size_t trials) {
    double best = 1e9;
    for (std::size_t i = 0; i < trials; ++i) {
        const std::optional<ps::search::SearchPoint> point = searcher.ask();
        if (!point) break;
        const double loss = loss_of(searcher.space(), *point);
        best = std::min(best, loss);
        searcher.tell(*point, {{loss}});
    }
    return best;
}

TEST_CASE("Bayes comes far nearer to the best point of a mixed space than chance") {
    double bayes = 0, random = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        bayes += best_after(ps::search::Bayes(spaces::mixed(), {.seed = seed}), 24);
        random += best_after(ps::search::RandomSearch(spaces::mixed(), seed), 24);
    }
    INFO(bayes, " ", random);
    CHECK(bayes < 0.5 * random);
}

TEST_CASE("points proposed at once are apart, and a batch is worth about its trials") {
    const ps::search::Space space({ps::search::Parameter::real("x", 0, 1), ps::search::Parameter::real("y", 0, 1)});
    ps::search::Bayes<> bayes(space, {.seed = 4});
    double best = 1e9;
    for (int round = 0; round < 6; ++round) {
        std::vector<ps::search::SearchPoint> batch;
        for (int i = 0; i < 4; ++i) batch.push_back(bayes.ask().value());
        for (ps::search::SearchPoint const& point : batch) {
            best = std::min(best, loss_of(space, point));
            bayes.tell(point, outcome_of(space, point));
        }
    }
    CHECK(best < 1e-3);
}

TEST_CASE("a constraint that is learned is kept by most of the later proposals, and by the best") {
    const ps::search::Space space({ps::search::Parameter::real("x", 0, 1), ps::search::Parameter::real("y", 0, 1)});
    // The best point without the constraint, (0.2, 0.4), is ruled out: x + y >= 1; the best with it is (0.4, 0.6).
    ps::search::Bayes<> bayes(space, {.constraints = 1, .seed = 1});
    double best = 1e9;
    int kept = 0;
    for (int i = 0; i < 30; ++i) {
        const ps::search::SearchPoint point = bayes.ask().value();
        const std::vector<double> at = space.shares_of(point);
        const ps::search::Outcome outcome{{loss_of(space, point)}, {1 - at[0] - at[1]}};
        if (outcome.feasible()) best = std::min(best, outcome.objectives[0]);
        if (i >= 15 && outcome.constraints[0] <= 1e-3) ++kept;
        bayes.tell(point, outcome);
    }
    CHECK(best < 0.08 * 1.1);
    CHECK(kept >= 8);
}

TEST_CASE("a front is found with fewer trials where one objective is known") {
    const ps::search::Space space({ps::search::Parameter::real("x", 0, 1), ps::search::Parameter::real("y", 0, 1)});
    const auto objectives_of = [&](ps::search::SearchPoint const& point) {
        const std::vector<double> at = space.shares_of(point);
        return ps::search::Pair{(1 - at[0]) * (1 - at[0]) + at[1], at[0]};
    };
    const auto area_after = [&](auto searcher) {
        std::vector<ps::search::Pair> tried;
        for (int i = 0; i < 20; ++i) {
            const ps::search::SearchPoint point = searcher.ask().value();
            tried.push_back(objectives_of(point));
            searcher.tell(point, {{tried.back().first, tried.back().second}});
        }
        return ps::search::hypervolume(ps::search::front_of(tried), {1, 1});
    };
    // The area under the front (1 - x)^2 over x is 1/3.
    const double random = area_after(ps::search::RandomSearch(space, 1));
    const double learned = area_after(ps::search::Bayes(space, {.objectives = 2, .seed = 1}));
    const double known = area_after(ps::search::Bayes(space, {.objectives = 2, .seed = 1}, KnownShare{space}));
    INFO(random, " ", learned, " ", known);
    CHECK(learned > random);
    CHECK(known > random);
    CHECK(known > 0.9 * 2 / 3);
}

TEST_CASE("an outcome of another kind is refused") {
    CHECK(error_of([] { (void)ps::search::Bayes(spaces::small(), {.objectives = 3}); }) ==
          "Bayes: one or two objectives, not 3");
    ps::search::Bayes<> bayes(spaces::small());
    CHECK(error_of([&] {
              bayes.tell(bayes.ask().value(), {{1, 2}});
          }) == "Bayes: an outcome of 2 objectives and 0 constraints, not of 1 and 0");
    CHECK(error_of([] { (void)ps::search::Grid(spaces::small(), 1); }) == "a grid needs at least two levels, not 1");
}

}  // namespace
}  // namespace searcher_laws
