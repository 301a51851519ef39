// Laws of refining a plan by measurements.
#include <primsel/measure/refine.hpp>

#include "../plan/fakes.hpp"
#include "../plan/random_graphs.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/reprice.hpp>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace ps = primsel;
using fakes::chw, fakes::hwc;

namespace {

const std::vector<ps::PrimitiveEntry> primitives{fakes::primitive("here", chw, chw, {.family = ps::Family::direct}),
                                                 fakes::primitive("also-here", chw, chw, {.family = ps::Family::im2}),
                                                 fakes::primitive("there", hwc, hwc, {.family = ps::Family::kn2}),
                                                 fakes::primitive("also-there", hwc, hwc, {.family = ps::Family::im2}),
                                                 fakes::primitive("across", chw, hwc, {.family = ps::Family::mec}),
                                                 fakes::primitive("back", hwc, chw, {.family = ps::Family::mec})};
const ps::Kernels fake_kernels = fakes::kernels(primitives);

/// Costs that another machine has: a factor, and for one primitive a factor of its own; changes of layout are the same.
struct Elsewhere {
    static constexpr std::string_view name = "elsewhere";
    fakes::HashedCosts costs;
    double factor = 1, of_there = 1;

    void predict(ps::Kernels const& with, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        costs.predict(with, queries, seconds);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] *= factor * (with.primitives[queries[i].primitive].id == "there" ? of_there : 1);
        }
    }
    void predict(ps::Kernels const& with, auto queries, std::span<double> seconds) const {
        costs.predict(with, queries, seconds);
    }
};

struct Outcome {
    ps::measure::Refinement refinement;
    double first, last, best;  // seconds of the first plan, the last and the best, as measured
    std::size_t measured, measured_twice;
};

Outcome refine(ps::Graph const& graph, fakes::HashedCosts costs, Elsewhere truth,
               ps::measure::RefineOptions const& options) {
    ps::measure::Corrected model(fake_kernels, costs);
    std::set<std::string> seen;
    Outcome outcome{};
    outcome.refinement = ps::measure::refine(
        graph, fake_kernels, model, ps::ExactPbqp{},
        [&](ps::ConvQuery const& query) {
            CHECK(query.run.batch == 1);
            ++outcome.measured;
            if (!seen.insert(ps::join(query.shape, ' ', query.primitive)).second) ++outcome.measured_twice;
            double seconds = 0;
            truth.predict(fake_kernels, std::span<const ps::ConvQuery>(&query, 1), std::span(&seconds, 1));
            return ps::measure::Measurement{seconds, seconds};
        },
        options);
    const ps::Plan first = ps::make_plan(graph, fake_kernels, costs, ps::ExactPbqp{});
    outcome.first = ps::reprice(first, graph, fake_kernels, truth);
    outcome.last = ps::reprice(outcome.refinement.plan, graph, fake_kernels, truth);
    outcome.best = ps::make_plan(graph, fake_kernels, truth, ps::ExactPbqp{}).total_seconds;
    return outcome;
}

constexpr double forever = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("without time or measurements the plan is the model's own") {
    const ps::Graph graph = ps::simplify(random_graphs::Maker(3).make(8, 1, true));
    fakes::HashedCosts costs(3);
    const ps::Plan plan = ps::make_plan(graph, fake_kernels, costs, ps::ExactPbqp{});
    for (const ps::measure::RefineOptions& options :
         {ps::measure::RefineOptions{.seconds = 0}, ps::measure::RefineOptions{.most = 0}}) {
        const Outcome outcome = refine(graph, costs, {costs, 1, 0.1}, options);
        CHECK(outcome.measured == 0);
        CHECK(outcome.refinement.plan.layers == plan.layers);
        CHECK(outcome.refinement.steps.size() == 1);
        CHECK_FALSE(outcome.refinement.settled);
    }
}

TEST_CASE("refining settles, measures nothing twice and ends nearer to the best plan") {
    double first = 0, last = 0, best = 0;
    int convolutional = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        const ps::Graph graph = ps::simplify(random_graphs::Maker(seed).make(8, 1, true));
        fakes::HashedCosts costs(seed, 0.3);
        // One primitive is a third of what the model says, all else three times that.
        const Outcome outcome = refine(graph, costs, {costs, 3, 1.0 / 9}, {.seconds = forever});
        CHECK(outcome.refinement.settled);
        CHECK(outcome.measured_twice == 0);
        CHECK(outcome.refinement.steps.back().measurements == outcome.measured);
        CHECK(outcome.last >= outcome.best * (1 - 1e-12));
        if (outcome.measured > 0) ++convolutional;
        first += outcome.first, last += outcome.last, best += outcome.best;
    }
    CHECK(convolutional > 30);
    CHECK(first > 1.05 * best);
    CHECK(last - best < 0.25 * (first - best));
}

TEST_CASE("no more is measured than allowed") {
    const ps::Graph graph = ps::simplify(random_graphs::Maker(5).make(12, 1, true));
    fakes::HashedCosts costs(5);
    const Outcome outcome = refine(graph, costs, {costs, 2, 0.2}, {.seconds = forever, .most = 5});
    CHECK(outcome.measured == 5);
}

TEST_CASE("what the cheaper of two saves is that of many draws") {
    for (const double second : {0.6, 1.0, 1.7}) {
        for (const double deviation : {0.1, 0.5}) {
            // The first is 1 for sure; the second log-normal with that mean, by its quantiles, and now and then an
            // outlier.
            double sum = 0, far = 0;
            const auto saving = [&](double normal, double spread) {
                return std::max(0.0, 1 - second * std::exp(spread * normal - 0.5 * spread * spread));
            };
            constexpr int draws = 20'000;
            for (int i = 0; i < draws; ++i) {
                double low = -8, high = 8;  // the normal quantile, by bisection
                const double share = (i + 0.5) / draws;
                for (int step = 0; step < 50; ++step) {
                    const double middle = 0.5 * (low + high);
                    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < share ? low : high) = middle;
                }
                sum += saving(low, deviation), far += saving(low, ps::measure::BeliefTails::outlying * deviation);
            }
            const double usual = 1 - ps::measure::BeliefTails::outliers;
            CHECK(ps::measure::detail::expected_saving(1, second, deviation) ==
                  doctest::Approx((usual * sum + ps::measure::BeliefTails::outliers * far) / draws).epsilon(2e-3));
        }
    }
    CHECK(ps::measure::detail::expected_saving(3, 2, 0) == 1);
    CHECK(ps::measure::detail::expected_saving(2, 3, 0) == 0);
}

TEST_CASE("of what is believed, 95 % lies within as many deviations as it says") {
    const auto beyond = [](double deviations) { return std::erfc(deviations / std::sqrt(2.0)); };
    const double all = (1 - ps::measure::BeliefTails::outliers) * beyond(ps::measure::BeliefTails::within_95) +
                       ps::measure::BeliefTails::outliers *
                           beyond(ps::measure::BeliefTails::within_95 / ps::measure::BeliefTails::outlying);
    CHECK(all == doctest::Approx(0.05).epsilon(0.01));
}

TEST_CASE("what is measured makes all beliefs surer, and what lies far from all belief makes them less sure") {
    const auto query = [](int im, std::size_t primitive) {
        return ps::ConvQuery{{.c = 32,
                              .k = 32,
                              .h = im,
                              .w = im,
                              .fh = 3,
                              .fw = 3,
                              .pad_top = 1,
                              .pad_bottom = 1,
                              .pad_left = 1,
                              .pad_right = 1},
                             primitive};
    };
    fakes::HashedCosts costs(3, 0.3);
    const auto doubt_after = [&](double spread) {
        ps::measure::Corrected model(fake_kernels, costs);
        const double before = model.deviation(fake_kernels, query(20, 1));
        CHECK(before > 0);
        for (const int im : {7, 14, 28, 56, 112}) {
            double predicted = 0;
            const ps::ConvQuery one = query(im, 0);
            costs.predict(fake_kernels, std::span(&one, 1), std::span(&predicted, 1));
            model.learn(fake_kernels, one, predicted * std::exp(im == 14 || im == 56 ? spread : -spread));
            model.update();
            CHECK(model.measured(fake_kernels, one));
            CHECK(model.deviation(fake_kernels, one) == 0);
        }
        return model.deviation(fake_kernels, query(20, 1)) / before;
    };
    const double near = doubt_after(0.01), far = doubt_after(2);
    CHECK(near < 0.9);
    CHECK(far > 1.5 * near);
}
