// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/learn/process_posterior.hpp>
#include <primsel/search/detail/acquire.hpp>
#include <primsel/search/detail/draw.hpp>
#include <primsel/search/random_search.hpp>
#include <primsel/search/searcher.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// Options of Bayes.
struct BayesOptions {
    /// The number of objectives: one, or two, whose Pareto front is searched for.
    std::size_t objectives = 1;
    std::size_t constraints = 0;
    /// The number of evenly spread points before the first that is learned from; 0: the number of features plus 3, at
    /// most 12.
    std::size_t first = 0;
    /// The number of points that are scored for each proposal before the best of them are improved. Known is called for
    /// each.
    std::size_t candidates = 512;
    std::size_t rounds = 24;
    std::uint64_t seed = 1;
};

/// Nothing is computed: all objectives and constraints are learned.
struct NothingKnown {
    [[nodiscard]] Outcome operator()(SearchPoint const&) const { return {}; }
};

/// Bayesian optimisation (Jones et al. 1998). A Gaussian process learns each objective and constraint. The next point
/// maximises the expected improvement, or for two objectives the expected hypervolume improvement, times the
/// probability that the point is feasible (Gardner et al. 2014). Trials under way are taken to come out as expected
/// (Ginsbourger et al. 2010).
///
/// known(point) returns an Outcome with the values that can be computed, and NaN (or no element) for those that must be
/// learned. For the same points it must be the same ones, and they may change between two proposals only.
/// known.deviations(point), if there is such a function, returns their standard deviations.
template <class Known = NothingKnown>
class Bayes {
public:
    /// Throws error unless there are one or two objectives.
    explicit Bayes(Space space, BayesOptions const& options = {}, Known known = {})
        : seen_(std::move(space)), options_(options), known_(std::move(known)), features_(seen_.space()) {
        if (options_.objectives < 1 || options_.objectives > 2) {
            fail("Bayes: one or two objectives, not ", options_.objectives);
        }
        if (options_.first == 0) options_.first = std::min<std::size_t>(features_.count() + 3, 12);
    }

    [[nodiscard]] Space const& space() const { return seen_.space(); }

    [[nodiscard]] std::optional<SearchPoint> ask() {
        if (seen_.all()) return std::nullopt;
        detail::Draw draw(options_.seed, seen_.size());
        std::optional<SearchPoint> point;
        if (seen_.size() < options_.first) point = first_point();
        if (!point) point = best_point(draw);
        if (!point) point = detail::draw_unseen(seen_, draw);
        if (!point) return std::nullopt;
        return seen_.wait_for(std::move(*point));
    }
    /// Throws error if the outcome has another number of objectives or constraints.
    void tell(SearchPoint const& point, Outcome const& outcome) {
        if (outcome.objectives.size() != options_.objectives || outcome.constraints.size() != options_.constraints) {
            fail("Bayes: an outcome of ", outcome.objectives.size(), " objectives and ", outcome.constraints.size(),
                 " constraints, not of ", options_.objectives, " and ", options_.constraints);
        }
        seen_.tell(point, outcome);
    }
    /// Replaces the outcome that was told of the point.
    void correct(SearchPoint const& point, Outcome const& outcome) { seen_.correct(point, outcome); }

private:
    [[nodiscard]] std::optional<SearchPoint> first_point() const {
        detail::Draw draw(options_.seed, 0);
        const detail::EvenPoints even(space().parameters().size(), draw);
        SearchPoint point = space().at(even.at(seen_.size()));
        return seen_.contains(point) ? std::nullopt : std::optional(std::move(point));
    }
    [[nodiscard]] std::optional<SearchPoint> best_point(detail::Draw& draw) const {
        const bool any = std::ranges::any_of(seen_.told(), [](auto const& told) { return !told.second.failed(); });
        if (!any) return std::nullopt;
        const detail::Prospects prospects(seen_, features_, options_.objectives, options_.constraints, known_);
        return detail::Acquire(seen_, prospects, draw).best({options_.candidates, options_.rounds});
    }

    SeenPoints seen_;
    BayesOptions options_;
    Known known_;
    PointFeatures features_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
