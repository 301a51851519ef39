// The ranges of a network's tensors, from images like those that it will see.
#pragma once

#include <primsel/engine/detail/least_divergence.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/ranges.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The values that a tensor's bytes reach: all that were seen; all but 0.01 % at either end; those for which bytes
/// differ least from the values, in the sum of squares; or those within the magnitude for which the distribution of
/// bytes diverges least from that of the values (Kullback-Leibler).
enum class RangeMethod { min_max, percentile, mse, kl };

[[nodiscard]] constexpr std::string_view to_string_view(RangeMethod method) {
    constexpr std::string_view names[] = {"min-max", "percentile", "mse", "kl"};
    return names[static_cast<std::size_t>(method)];
}

namespace engine::detail {

/// The values of a tensor: first their bounds, then how often they lie in each of some equal parts between those.
class ValueHistogram {
public:
    void widen(std::span<const float> values) {
        for (const float value : values) {
            low_ = std::min(low_, value), high_ = std::max(high_, value);
            finite_ = finite_ && std::abs(value) <= std::numeric_limits<float>::max();
        }
    }
    [[nodiscard]] bool known() const { return finite_ && low_ <= high_; }

    void count(std::span<const float> values) {
        const double scale = high_ > low_ ? parts / (static_cast<double>(high_) - static_cast<double>(low_)) : 0;
        for (const float value : values) {
            const double part = (static_cast<double>(value) - static_cast<double>(low_)) * scale;
            ++counts_[std::min(static_cast<std::size_t>(part), parts - 1)];
        }
        const double to_bin = largest() > 0 ? static_cast<double>(bins) / largest() : 0;
        for (const float value : values) {
            const double bin = std::abs(static_cast<double>(value)) * to_bin;
            ++magnitudes_[std::min(static_cast<std::size_t>(bin), bins - 1)];
        }
    }
    /// The lowest and the highest value that bytes should reach.
    [[nodiscard]] std::pair<float, float> bounds(RangeMethod method) const {
        if (method == RangeMethod::percentile) return percentiles(1e-4);
        if (method == RangeMethod::mse) return least_error();
        if (method == RangeMethod::kl) return within_magnitude();
        return {low_, high_};
    }

private:
    static constexpr std::size_t parts = 4096, bins = 2048;

    [[nodiscard]] double largest() const {
        return std::max(std::abs(static_cast<double>(low_)), std::abs(static_cast<double>(high_)));
    }
    /// Bytes of one sign have 256 levels, of both half of them.
    [[nodiscard]] std::pair<float, float> within_magnitude() const {
        const std::size_t levels = low_ < 0 && high_ > 0 ? 128 : 256, reach = least_divergence(magnitudes_, levels);
        const auto bound = static_cast<float>(largest() * static_cast<double>(reach) / static_cast<double>(bins));
        return {std::max(low_, -bound), std::min(high_, bound)};
    }

    [[nodiscard]] float border(std::size_t part) const {
        const double share = static_cast<double>(part) / parts;
        return static_cast<float>(static_cast<double>(low_) * (1 - share) + static_cast<double>(high_) * share);
    }
    /// The borders beyond which no more than this share of the values lie, at either end.
    [[nodiscard]] std::pair<float, float> percentiles(double share) const {
        const auto all = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
        const double most = share * static_cast<double>(all);
        std::size_t first = 0, last = parts;
        for (double below = static_cast<double>(counts_[0]); below <= most;
             below += static_cast<double>(counts_[first]))
            ++first;
        for (double above = static_cast<double>(counts_[last - 1]); above <= most;
             above += static_cast<double>(counts_[last - 1])) {
            --last;
        }
        return {border(first), border(last)};
    }
    /// Returns the bounds times 1, 0.95, ... or 0.3, whichever has the least sum of squared differences.
    [[nodiscard]] std::pair<float, float> least_error() const {
        std::pair<float, float> best{low_, high_};
        double least = std::numeric_limits<double>::infinity();
        for (int share = 20; share >= 6; --share) {
            const float factor = static_cast<float>(share) / 20;
            const TensorRange range = range_of(factor * low_, factor * high_);
            const double scale = static_cast<double>(range.scale), low = -range.zero_point * scale,
                         high = (255 - range.zero_point) * scale;
            double error = 0;
            for (std::size_t part = 0; part < parts; ++part) {
                const double value = 0.5 * (static_cast<double>(border(part)) + static_cast<double>(border(part + 1))),
                             beyond = value - std::clamp(value, low, high);
                // Rounding to steps of the scale differs by scale^2 / 12 on average.
                error += static_cast<double>(counts_[part]) * (beyond != 0 ? beyond * beyond : scale * scale / 12);
            }
            if (error < least) least = error, best = {factor * low_, factor * high_};
        }
        return best;
    }

    float low_ = std::numeric_limits<float>::infinity(), high_ = -std::numeric_limits<float>::infinity();
    bool finite_ = true;
    /// By value between the bounds, and by magnitude.
    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(parts, 0),
                               magnitudes_ = std::vector<std::uint64_t>(bins, 0);
};

}  // namespace engine::detail

/// The values that the tensors of a network have for some images.
class TensorStatistics {
public:
    /// Runs the network in floats, twice: for bounds and for what lies between. images: one after another, as many as a
    /// batch or a multiple. Throws error if the graph has not one input, and as Engine does.
    TensorStatistics(Graph const& graph, Weights const& weights, std::span<const float> images)
        : graph_(graph), values_(graph.size()) {
        const std::size_t input = graph_.input();
        std::vector<std::size_t> outputs;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (!graph_[i].inputs.empty()) outputs.push_back(i);
        }
        Graph observed = graph_;
        observed.set_outputs(outputs);
        Engine<Graph> engine(observed, weights, PlanOptions{.strips = false, .keep_candidates = false});
        const std::size_t batch = engine.program().in_floats();
        if (images.empty() || images.size() % batch != 0) {
            fail("ranges: ", images.size(), " values are no images of ", engine.in_shape(), " in batches of ",
                 engine.batch());
        }
        std::vector<std::vector<float>> results;
        std::vector<std::span<float>> dsts;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            dsts.emplace_back(results.emplace_back(engine.program().out_floats(i)));
        }
        for (const auto use : {&engine::detail::ValueHistogram::widen, &engine::detail::ValueHistogram::count}) {
            for (std::size_t at = 0; at < images.size(); at += batch) {
                const std::span<const float> src = images.subspan(at, batch);
                engine.run(std::span(&src, 1), dsts);
                const auto use_values = [use](engine::detail::ValueHistogram& of, std::span<const float> values) {
                    if (use == &engine::detail::ValueHistogram::widen || of.known()) (of.*use)(values);
                };
                use_values(values_[input], src);
                for (std::size_t i = 0; i < outputs.size(); ++i) use_values(values_[outputs[i]], results[i]);
            }
        }
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (!std::holds_alternative<ConstantParams>(graph_[i].layer)) continue;
            const PreparedWeights constant = prepare_weights(graph_[i], weights);
            values_[i].widen(constant.kernel);
            if (values_[i].known()) values_[i].count(constant.kernel);
        }
    }

    /// Returns the range of each tensor whose values were all finite. Layers that only select values share their
    /// input's range. The inputs of a concatenation share its result's, for then they are rounded once; but an input
    /// that other layers read, too, keeps its own if that has steps of less than half the width.
    [[nodiscard]] TensorRanges ranges(RangeMethod method) const {
        std::vector<std::size_t> group(graph_.size());  // the first tensor of those that share a range
        std::iota(group.begin(), group.end(), std::size_t{0});
        std::vector<std::pair<float, float>> bounds(graph_.size(), {0.0F, 0.0F});
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (values_[i].known()) bounds[i] = values_[i].bounds(method);
        }
        const auto share = [&](std::size_t a, std::size_t b) {
            const std::size_t from = group[a], to = group[b];
            if (from == to) return;
            bounds[to].first = std::min(bounds[to].first, bounds[from].first);
            bounds[to].second = std::max(bounds[to].second, bounds[from].second);
            std::ranges::replace(group, from, to);
        };
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (keeps_range(graph_[i].layer)) share(i, graph_[i].inputs[0]);
        }
        const auto range = [&](std::size_t i) { return range_of(bounds[group[i]].first, bounds[group[i]].second); };
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (!std::holds_alternative<ConcatParams>(graph_[i].layer)) continue;
            for (const std::size_t input : graph_[i].inputs) {
                if (2 * range(input).scale >= range(i).scale || !has_other_readers(group, group[input], i)) {
                    share(input, i);
                }
            }
        }
        TensorRanges ranges;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (values_[i].known()) ranges[graph_[i].name] = range(i);
        }
        return ranges;
    }

private:
    /// Whether a layer other than `reader` reads tensors of the group and is none of it.
    [[nodiscard]] bool has_other_readers(std::vector<std::size_t> const& group, std::size_t of,
                                         std::size_t reader) const {
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            const auto reads = [&](std::size_t input) { return group[input] == of; };
            if (i != reader && group[i] != of && std::ranges::any_of(graph_[i].inputs, reads)) return true;
        }
        return false;
    }

    Graph graph_;
    std::vector<engine::detail::ValueHistogram> values_;
};

/// Returns the ranges of a network's tensors for such images (TensorStatistics), for with_ranges.
[[nodiscard]] inline TensorRanges calibrate_ranges(Graph const& graph, Weights const& weights,
                                                   std::span<const float> images,
                                                   RangeMethod method = RangeMethod::min_max) {
    return TensorStatistics(graph, weights, images).ranges(method);
}

}  // namespace primsel::inline PRIMSEL_ABI
