#pragma once

#include <primsel/core/error.hpp>
#include <primsel/prune/loss.hpp>
#include <primsel/prune/ranking.hpp>
#include <primsel/prune/sensitivity.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The logarithm of the accuracy that is lost, as sensitivity() measured it for each ranking: ln(accuracy of the whole
/// network / accuracy). Between points it is linear and never falls; beyond the last point it continues with the last
/// slope. Without retraining, a layer whose loss others make up for seems worthless at first, so a part of
/// LogarithmicLoss is added.
class MeasuredLoss {
public:
    /// `importance` is the factor of LogarithmicLoss. Throws error if the points have no whole network, or its accuracy
    /// is 0.
    explicit MeasuredLoss(std::span<const SensitivityPoint> points, double importance = 0.2) : importance_(importance) {
        const auto* whole = prune::find_point(points, "", 0);
        if (whole == nullptr) fail("sensitivity: nothing is known of the whole network");
        if (!(whole->accuracy > 0)) fail("sensitivity: the whole network has no accuracy to lose");
        for (SensitivityPoint const& point : points) {
            if (point.layer.empty() || point.left >= point.channels) continue;
            const double gone = 1 - static_cast<double>(point.left) / static_cast<double>(point.channels);
            // Accuracies below a thousandth of the whole network's count as that, since 0 has no logarithm.
            const double loss = std::log(whole->accuracy / std::max(point.accuracy, 1e-3 * whole->accuracy));
            curves_.try_emplace(point.layer, Curve{{0.0, 0.0}}).first->second.emplace_back(gone, loss);
        }
        for (auto& [layer, curve] : curves_) {
            std::ranges::sort(curve);
            const auto same = [](auto const& a, auto const& b) { return a.first == b.first; };
            curve.erase(std::unique(curve.begin(), curve.end(), same), curve.end());
            for (std::size_t i = 1; i < curve.size(); ++i)
                curve[i].second = std::max(curve[i].second, curve[i - 1].second);
        }
    }

    /// Throws error, naming the layer, if there is no point of the ranking.
    [[nodiscard]] double operator()(Ranking const& ranking, std::size_t gone) const {
        const auto found = curves_.find(ranking.layers.at(0));
        if (found == curves_.end()) fail("sensitivity: nothing is known of layer ", ranking.layers.at(0));
        Curve const& curve = found->second;
        const double share = static_cast<double>(gone) / static_cast<double>(ranking.count);
        const auto behind = std::ranges::lower_bound(curve, share, {}, &Curve::value_type::first);
        const auto to = behind == curve.begin() ? behind + 1
                        : behind == curve.end() ? behind - 1
                                                : behind,
                   from = to - 1;
        const double slope = (to->second - from->second) / (to->first - from->first);
        return from->second + slope * (share - from->first) + importance_ * LogarithmicLoss{}(ranking, gone);
    }

private:
    using Curve = std::vector<std::pair<double, double>>;  // share that is gone, loss
    std::map<std::string, Curve, std::less<>> curves_;
    double importance_;
};
static_assert(PruningLoss<MeasuredLoss>);

}  // namespace primsel::inline PRIMSEL_ABI::prune
