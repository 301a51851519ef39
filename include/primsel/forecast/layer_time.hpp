#pragma once

#include <primsel/core/error.hpp>
#include <primsel/forecast/network_correction.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// The costs of LayerTime, each in seconds for one unit. All are positive.
enum class LayerCost : std::uint8_t {
    constant,           ///< a run
    launch,             ///< a kernel
    conv_launch,        ///< a kernel of a convolution
    parameter_launch,   ///< the update of a tensor of parameters
    traffic,            ///< 1e9 bytes, layer by layer
    conv_traffic,       ///< the same, of convolutions,
    depthwise_traffic,  ///< of depthwise ones,
    norm_traffic,       ///< of batch norms,
    pool_traffic,       ///< of the windows of pooling,
    weight_traffic,     ///< of weights
    arithmetic,         ///< 1e12 multiply-adds
    uneven_arithmetic,  ///< the same, where channels are not a multiple of 4
    depthwise_arithmetic,
    norm_plane,  ///< 1e9 bytes of one channel, which cannot be shared out
    depthwise_plane,
    conv_plane
};
inline constexpr std::size_t layer_costs = 16;

namespace detail {

/// The amounts of a layer, each with its cost.
struct LayerAmounts {
    std::array<double, 3> amount{};
    std::array<std::uint8_t, 3> cost{};
    double weights = 0;
};
/// The amounts of a network.
struct NetworkAmounts {
    std::array<double, 4> launches{};  // the first four costs
    std::vector<LayerAmounts> layers;
};

/// Returns the filters as tiles of so many compute them: a tile that is partly empty takes as long as a full one.
[[nodiscard]] inline double whole_tiles(int filters, int tile) {
    return static_cast<double>((filters + tile - 1) / tile * tile) / filters;
}

/// Returns the amounts of a network on a device that multiplies tiles of so many filters.
[[nodiscard]] inline NetworkAmounts amounts_of(std::span<const LayerWork> layers, double batch, bool training,
                                               int tile) {
    using Kind = LayerWork::Kind;
    constexpr double giga = 1e-9 * sizeof(float), tera = 1e-12;
    NetworkAmounts result;
    result.launches[0] = 1;
    const double passes = training ? 3 : 1;  // forward, gradient of the input, gradient of the weights
    for (LayerWork const& layer : layers) {
        const double in = giga * batch * layer.in, out = giga * batch * layer.out;
        if (layer.in_place && layer.kind == Kind::other) continue;  // a view
        const auto cost = [](LayerCost of) { return static_cast<std::uint8_t>(of); };
        LayerAmounts of;
        of.cost = {cost(LayerCost::traffic), cost(LayerCost::arithmetic), cost(LayerCost::conv_plane)};
        of.weights = giga * layer.weights * (training ? 8 : 1);
        bool convolves = false;
        switch (layer.kind) {
            case Kind::convolution:
            case Kind::dense:
            case Kind::depthwise: {
                const bool depthwise = layer.kind == Kind::depthwise,
                           even = layer.in_channels % 4 == 0 && layer.out_channels % 4 == 0;
                convolves = true;
                const double filled = depthwise ? 1 : whole_tiles(layer.out_channels, tile);
                of.amount = {passes * (in + out), passes * tera * batch * layer.multiply_adds * filled,
                             passes * giga * batch * layer.plane};
                of.cost = {cost(depthwise ? LayerCost::depthwise_traffic : LayerCost::conv_traffic),
                           cost(depthwise ? LayerCost::depthwise_arithmetic
                                : even    ? LayerCost::arithmetic
                                          : LayerCost::uneven_arithmetic),
                           cost(depthwise ? LayerCost::depthwise_plane : LayerCost::conv_plane)};
                break;
            }
            case Kind::normalization:
                of.amount = {(training ? 8 : 2) * in, 0, (training ? 8 : 2) * giga * batch * layer.plane};
                of.cost[0] = cost(LayerCost::norm_traffic), of.cost[2] = cost(LayerCost::norm_plane);
                break;
            case Kind::pool:
                of.amount[0] = passes * giga * batch * layer.multiply_adds;
                of.cost[0] = cost(LayerCost::pool_traffic);
                break;
            case Kind::activation:
                of.amount[0] = (training ? 5 : 2) * out;
                break;
            case Kind::add:
                of.amount[0] = 3 * out;
                break;
            default:
                of.amount[0] = (training ? 2 : 1) * (in + out);
                break;
        }
        // In training a batch norm counts its batches, by a kernel of its own.
        const double others = !training ? 1 : layer.kind == Kind::normalization ? 3 : 2;
        result.launches[convolves ? 2 : 1] += convolves ? passes : others;
        if (training) result.launches[3] += layer.tensors;
        result.layers.push_back(of);
    }
    return result;
}

/// The (a^4 + b^4 + ...)^(1/4) of amounts that overlap, and what it changes by each; their sum where they do not.
template <std::size_t n>
[[nodiscard]] double together(std::array<double, n> const& parts, bool overlap, std::array<double, n>& slopes) {
    double sum = 0, most = 0;
    for (const double part : parts) sum += part, most = std::max(most, part);
    slopes.fill(1);
    if (!overlap || !(most > 0)) return sum;
    double fourth = 0;
    for (const double part : parts) fourth += (part / most) * (part / most) * (part / most) * (part / most);
    const double value = most * std::sqrt(std::sqrt(fourth));
    for (std::size_t i = 0; i < n; ++i) slopes[i] = (parts[i] / value) * (parts[i] / value) * (parts[i] / value);
    return value;
}

using LayerCosts = std::array<double, layer_costs>;

/// The time of a network, and its derivatives.
[[nodiscard]] inline double seconds_of(NetworkAmounts const& network, LayerCosts const& costs, bool overlap,
                                       LayerCosts& slopes) {
    slopes.fill(0);
    double device = 0;
    std::array<double, 3> by{};
    const auto weights = static_cast<std::size_t>(LayerCost::weight_traffic);
    for (LayerAmounts const& layer : network.layers) {
        std::array<double, 3> parts{};
        for (std::size_t i = 0; i < 3; ++i) parts[i] = layer.amount[i] * costs[layer.cost[i]];
        parts[0] += layer.weights * costs[weights];
        device += together(parts, overlap, by);
        for (std::size_t i = 0; i < 3; ++i) slopes[layer.cost[i]] += by[i] * layer.amount[i];
        slopes[weights] += by[0] * layer.weights;
    }
    double launches = 0;
    for (std::size_t i = 0; i < network.launches.size(); ++i) launches += network.launches[i] * costs[i];
    std::array<double, 2> of{};
    const double seconds = together(std::array{device, launches}, overlap, of);
    for (double& slope : slopes) slope *= of[0];
    for (std::size_t i = 0; i < network.launches.size(); ++i) slopes[i] = of[1] * network.launches[i];
    return seconds;
}

/// Solves a x = b for a positive definite a; both are overwritten.
template <std::size_t n>
void solve_positive(std::array<std::array<double, n>, n>& a, std::array<double, n>& b) {
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = k + 1; i < n; ++i) {
            const double factor = a[i][k] / a[k][k];
            for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (std::size_t k = n; k-- > 0;) {
        for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
}

/// Learns the logarithms of the costs by Levenberg and Marquardt's method: the least sum of errors of the logarithm,
/// small ones squared and large ones as they are, and of how far costs of a kind are from each other, weighted by
/// `alike`, so that a cost that no measurement tells is that of its like.
class CostFit {
public:
    CostFit(std::span<const NetworkAmounts> networks, std::span<const double> values, bool overlap, double alike)
        : networks_(networks), values_(values), overlap_(overlap), alike_(alike) {
        for (std::size_t i = 0; i < layer_costs; ++i)
            at_[i] = std::log(i == 0 ? 1e-4 : i < 4 ? 1e-5 : i < 10 ? 3e-4 : i < 13 ? 5e-3 : 1e-2);
        std::vector<double> off;
        for (std::size_t i = 0; i < values_.size(); ++i) off.push_back(std::log(values_[i] / seconds(i, at_)));
        std::ranges::nth_element(off, off.begin() + std::ssize(off) / 2);
        for (double& each : at_) each += off[off.size() / 2];
        start_ = at_, loss_ = loss_of(at_);
    }

    /// The loss so far.
    [[nodiscard]] double loss() const { return loss_; }
    /// Goes on for at most so many steps.
    void improve(int steps) {
        for (bool done = false; steps > 0 && !done; --steps) {
            linearise(at_);
            LayerCosts next{};
            double then = loss_;
            for (; damping_ < 1e6; damping_ *= 4) {
                auto matrix = matrix_;
                LayerCosts move = gradient_;
                for (std::size_t i = 0; i < layer_costs; ++i) matrix[i][i] += damping_;
                solve_positive(matrix, move);
                for (std::size_t i = 0; i < layer_costs; ++i) next[i] = at_[i] - std::clamp(move[i], -1.0, 1.0);
                then = loss_of(next);
                if (then < loss_) break;
            }
            if (!(then < loss_)) break;
            done = loss_ - then < 1e-7 * loss_;
            at_ = next, loss_ = then, damping_ = std::max(damping_ / 4, 1e-8);
        }
    }
    [[nodiscard]] LayerCosts costs() const {
        LayerCosts costs{};
        for (std::size_t i = 0; i < layer_costs; ++i) costs[i] = std::exp(at_[i]);
        return costs;
    }

private:
    static constexpr double scale = 0.1, from_start = 0.02;
    /// The cost that each is like; itself where there is none.
    static constexpr std::array<std::size_t, layer_costs> like{0, 1, 1, 1, 4, 4, 4, 4, 4, 4, 10, 10, 10, 13, 13, 13};

    [[nodiscard]] double seconds(std::size_t i, LayerCosts const& logarithms) {
        LayerCosts costs{};
        for (std::size_t j = 0; j < layer_costs; ++j) costs[j] = std::exp(logarithms[j]);
        return seconds_of(networks_[i], costs, overlap_, slopes_);
    }
    /// How far a cost is from the one that it is like, or from the start, weighted.
    [[nodiscard]] double apart(std::size_t i, LayerCosts const& at) const {
        return like[i] == i ? from_start * (at[i] - start_[i]) : alike_ * (at[i] - at[like[i]]);
    }
    [[nodiscard]] double loss_of(LayerCosts const& at) {
        double sum = 0;
        for (std::size_t i = 0; i < values_.size(); ++i) {
            const double off = std::log(seconds(i, at) / values_[i]) / scale;
            sum += 2 * scale * scale * (std::sqrt(1 + off * off) - 1);
        }
        for (std::size_t i = 0; i < layer_costs; ++i) sum += apart(i, at) * apart(i, at);
        return sum;
    }
    void linearise(LayerCosts const& at) {
        for (auto& row : matrix_) row.fill(0);
        gradient_.fill(0);
        const auto add = [&](LayerCosts const& slopes, double off, double weight) {
            for (std::size_t i = 0; i < layer_costs; ++i) {
                gradient_[i] += weight * slopes[i] * off;
                for (std::size_t j = 0; j < layer_costs; ++j) matrix_[i][j] += weight * slopes[i] * slopes[j];
            }
        };
        for (std::size_t i = 0; i < values_.size(); ++i) {
            const double value = seconds(i, at), off = std::log(value / values_[i]);
            LayerCosts slopes{};
            for (std::size_t j = 0; j < layer_costs; ++j) slopes[j] = slopes_[j] * std::exp(at[j]) / value;
            add(slopes, off, 1 / std::sqrt(1 + (off / scale) * (off / scale)));
        }
        for (std::size_t i = 0; i < layer_costs; ++i) {
            LayerCosts slopes{};
            slopes[i] = like[i] == i ? from_start : alike_;
            if (like[i] != i) slopes[like[i]] = -alike_;
            add(slopes, apart(i, at), 1);
        }
    }

    std::span<const NetworkAmounts> networks_;
    std::span<const double> values_;
    bool overlap_;
    double alike_, loss_ = 0, damping_ = 1e-2;
    LayerCosts start_{}, at_{}, slopes_{}, gradient_{};
    std::array<std::array<double, layer_costs>, layer_costs> matrix_{};
};

}  // namespace detail

/// The time of a network as a sum over all of its layers: launches, and of each layer its memory traffic, its
/// arithmetic and its work along one channel, each at a cost that is learned; then a NetworkCorrection. All costs are
/// positive, and a time never falls with the batch.
///
/// `overlap`: launches (made by the processor) and the device's work, and the parts of a layer, go on at once, so that
/// the larger counts. `tied`: costs of like things, as of the traffic of two kinds of layers, are held close together.
template <bool overlap, bool tied>
class LayerTime {
public:
    static constexpr std::string_view kind = overlap ? tied ? "layers, at once" : "layers, at once, costs apart"
                                             : tied  ? "layers, in turn"
                                                     : "layers, in turn, costs apart";

    [[nodiscard]] static LayerTime fit(std::span<const NetworkLoad> loads, std::span<const double> values) {
        detail::check_samples(loads, values);
        LayerTime model;
        std::array<std::vector<detail::NetworkAmounts>, tiles.size()> amounts;
        std::vector<detail::CostFit> fits;
        for (std::size_t i = 0; i < tiles.size(); ++i) {
            for (NetworkLoad const& load : loads)
                amounts[i].push_back(detail::amounts_of(load.layers, load.batch, load.training, tiles[i]));
            fits.emplace_back(amounts[i], values, overlap, tied ? 0.3 : 0.05).improve(12);
        }
        const auto best = std::ranges::min_element(fits, {}, &detail::CostFit::loss);
        best->improve(60);
        model.costs_ = best->costs(), model.tile_ = tiles[static_cast<std::size_t>(best - fits.begin())];
        std::vector<double> base;
        for (NetworkLoad const& load : loads) base.push_back(model.base(load, load.batch));
        model.correction_ = NetworkCorrection::fit(loads, base, values);
        return model;
    }

    [[nodiscard]] Estimate predict(NetworkLoad const& load) const {
        return correction_(load, [&](double batch) { return base(load, batch); });
    }
    [[nodiscard]] double cost(LayerCost of) const { return costs_[static_cast<std::size_t>(of)]; }
    /// The filters that the device multiplies together, by the samples: one of `tiles`.
    [[nodiscard]] int tile() const { return tile_; }
    static constexpr std::array<int, 4> tiles{1, 32, 64, 128};

    void archive(Archive& archive) {
        archive(costs_, tile_, correction_);
        for (const double each : costs_) archive.require(each > 0, "a cost that is not positive");
        archive.require(std::ranges::find(tiles, tile_) != tiles.end(), "tiles of ", tile_, " filters");
    }

private:
    [[nodiscard]] double base(NetworkLoad const& load, double batch) const {
        detail::LayerCosts slopes;
        return detail::seconds_of(detail::amounts_of(load.layers, batch, load.training, tile_), costs_, overlap,
                                  slopes);
    }

    detail::LayerCosts costs_{};
    int tile_ = 1;
    NetworkCorrection correction_;
};

static_assert(NetworkModel<LayerTime<true, true>>);

}  // namespace primsel::inline PRIMSEL_ABI::forecast
