#pragma once

#include <primsel/prune/ranking.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <numeric>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The loss when the first `gone` groups of a ranking are removed: 0 for none, and not decreasing in `gone`. The losses
/// of several rankings are added.
///
/// A minimal model:
///     struct ShareGone {
///         double operator()(primsel::prune::Ranking const& ranking, std::size_t gone) const {
///             return static_cast<double>(gone) / static_cast<double>(ranking.count);
///         }
///     };
template <class L>
concept PruningLoss = requires(L const& loss, Ranking const& ranking, std::size_t gone) {
    { loss(ranking, gone) } -> std::convertible_to<double>;
};

/// layers * ln(all / left), where all and left are the sums of the ranking's scores before and after. It grows without
/// bound as little is left, so no layer loses nearly all of its filters.
struct LogarithmicLoss {
    [[nodiscard]] double operator()(Ranking const& ranking, std::size_t gone) const {
        const auto kept = ranking.scores.begin() + static_cast<std::ptrdiff_t>(gone);
        const double all = std::accumulate(ranking.scores.begin(), ranking.scores.end(), 0.0);
        if (!(all > 0)) return static_cast<double>(gone);
        const double left = std::max(std::accumulate(kept, ranking.scores.end(), 0.0), 1e-9 * all);
        return static_cast<double>(ranking.layers.size()) * std::log(all / left);
    }
};
static_assert(PruningLoss<LogarithmicLoss>);

}  // namespace primsel::inline PRIMSEL_ABI::prune
