// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/search/bayes.hpp>
#include <primsel/search/grid.hpp>
#include <primsel/search/random_search.hpp>
#include <primsel/search/searcher.hpp>
#include <primsel/search/sweep.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI::search {

/// The searcher that a sweep names.
template <class Known = NothingKnown>
class AnySearcher {
public:
    /// Takes from `options` what the sweep does not set; `known` is as for Bayes. A grid has as many levels as the
    /// budget of trials allows. Throws error as the searchers do.
    explicit AnySearcher(Sweep const& sweep, BayesOptions options = {}, Known known = {})
        : searcher_(made(sweep, options, std::move(known))) {}

    [[nodiscard]] Space const& space() const {
        return core::visit([](auto const& searcher) -> Space const& { return searcher.space(); }, searcher_);
    }
    [[nodiscard]] std::optional<SearchPoint> ask() {
        return core::visit([](auto& searcher) { return searcher.ask(); }, searcher_);
    }
    void tell(SearchPoint const& point, Outcome const& outcome) {
        core::visit([&](auto& searcher) { searcher.tell(point, outcome); }, searcher_);
    }
    /// Replaces the outcome that was told of the point, if the searcher learns from it.
    void correct(SearchPoint const& point, Outcome const& outcome) {
        const auto correct = [&](auto& searcher) {
            if constexpr (requires { searcher.correct(point, outcome); }) searcher.correct(point, outcome);
        };
        core::visit(correct, searcher_);
    }

private:
    using Any = std::variant<Grid, RandomSearch, Bayes<Known>>;

    [[nodiscard]] static Any made(Sweep const& sweep, BayesOptions options, Known known) {
        if (sweep.method == SweepMethod::grid) return Grid(sweep.space, levels_of(sweep));
        if (sweep.method == SweepMethod::random) return RandomSearch(sweep.space, sweep.seed);
        options.objectives = sweep.goals.size();
        options.constraints = constraints_of(sweep);
        options.seed = sweep.seed;
        return Bayes<Known>(sweep.space, options, std::move(known));
    }
    /// The most levels whose combinations are within the budget, from 2 to 100.
    [[nodiscard]] static std::size_t levels_of(Sweep const& sweep) {
        std::size_t levels = 2;
        for (; levels < 100; ++levels) {
            double points = 1;
            for (Parameter const& parameter : sweep.space.parameters()) {
                const std::size_t count = parameter.count();
                points *= static_cast<double>(count != 0 && count < levels + 1 ? count : levels + 1);
            }
            if (points > static_cast<double>(sweep.trials)) break;
        }
        return levels;
    }

    Any searcher_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
