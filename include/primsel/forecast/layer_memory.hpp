#pragma once

#include <primsel/forecast/network_correction.hpp>
#include <primsel/learn/non_negative.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// The memory of a network that can be computed, in bytes.
struct ComputedMemory {
    /// Weights and images; for training, gradients, momentum, and the most that the backward pass holds at once: what
    /// is kept for the layers to come, the gradients of a layer's results, and of the weights behind it. For a run, the
    /// most that live at once.
    double tensors = 0;
    /// Copies of the inputs of clips, which PyTorch keeps where they work in place.
    double copies = 0;
    /// The input and result of the largest convolution: what a workspace is likely to grow with.
    double workspace = 0;
};

/// Returns the memory in floats; that of stochastic gradient descent with momentum where the load is of training.
[[nodiscard]] inline ComputedMemory computed_memory(NetworkLoad const& load, double batch) {
    constexpr double bytes = sizeof(float);
    ComputedMemory result;
    if (load.layers.empty()) return result;
    double weights = 0, kept = 0, most = 0, gradients = 0;
    for (LayerWork const& layer : load.layers) {
        weights += bytes * layer.weights, kept += layer.kept * batch;
        if (load.training) result.copies += batch * layer.copied;
        if (layer.kind == LayerWork::Kind::convolution)
            result.workspace = std::max(result.workspace, bytes * batch * (layer.in + layer.out));
    }
    for (auto i = load.layers.rbegin(); i != load.layers.rend(); ++i) {
        LayerWork const& layer = *i;
        const double here = bytes * batch * (layer.in_place ? layer.out : layer.in + layer.out);
        if (load.training) {
            gradients += bytes * layer.weights;
            most = std::max(most, kept + here + (layer.in_place ? here : 0) + gradients);
            kept -= layer.kept * batch;
        } else {
            const bool indexed = layer.kind == LayerWork::Kind::pool && layer.kept > 0;
            most = std::max(most, here + bytes * batch * (layer.live + (indexed ? 2 * layer.out : 0)));
        }
    }
    result.tensors = (load.training ? 2 : 1) * weights + bytes * batch * load.layers.front().in + most;
    return result;
}

/// The memory of a network: the computed one with factors that are learned, near 1 where nothing is known, and a
/// constant, up to what the device has; then a NetworkCorrection. All factors are at least 0.
class LayerMemory {
public:
    static constexpr std::string_view kind = "computed memory";

    [[nodiscard]] static LayerMemory fit(std::span<const NetworkLoad> loads, std::span<const double> values) {
        detail::check_samples(loads, values);
        LayerMemory model;
        model.most_ = device_limit(loads, values);
        std::vector<double> rows, targets, base, free_values;
        std::vector<NetworkLoad> free;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            if (values[i] >= near_limit * model.most_) continue;  // cut short
            for (const double term : terms_of(loads[i], loads[i].batch)) rows.push_back(term / values[i]);
            targets.push_back(1), free.push_back(loads[i]), free_values.push_back(values[i]);
        }
        // Pulls each factor but the constant towards what is known of it.
        const double pull = 0.01 * std::sqrt(static_cast<double>(loads.size()));
        for (std::size_t i = 1; i < factors; ++i) {
            for (std::size_t j = 0; j < factors; ++j) rows.push_back(i == j ? pull : 0);
            targets.push_back(pull * expected[i]);
        }
        const std::vector<double> found = learn::non_negative_least_squares(rows, factors, targets);
        std::ranges::copy(found, model.factors_.begin());
        for (NetworkLoad const& load : free) base.push_back(model.base(load, load.batch));
        model.correction_ = NetworkCorrection::fit(free, base, free_values);
        return model;
    }

    [[nodiscard]] Estimate predict(NetworkLoad const& load) const {
        Estimate of = correction_(load, [&](double batch) { return base(load, batch); });
        of.value = std::min(of.value, most_);
        return of;
    }
    /// The factors of a constant of 100 MB, tensors, copies and workspace.
    [[nodiscard]] std::span<const double> factor() const { return factors_; }

    void archive(Archive& archive) {
        archive(factors_, most_, correction_);
        archive.require(most_ > 0, "a limit that is not positive");
        for (const double factor : factors_) archive.require(factor >= 0, "a negative factor");
    }

private:
    static constexpr std::size_t factors = 4;
    static constexpr std::array<double, factors> expected{0, 1, 1, 0};
    static constexpr double near_limit = 0.97;

    [[nodiscard]] static std::array<double, factors> terms_of(NetworkLoad const& load, double batch) {
        const ComputedMemory of = computed_memory(load, batch);
        return {1e8, of.tensors, of.copies, of.workspace};
    }
    /// Returns the memory of the device: the largest value, if networks of unlike needs come near it.
    [[nodiscard]] static double device_limit(std::span<const NetworkLoad> loads, std::span<const double> values) {
        const double most = std::ranges::max(values);
        double least_need = std::numeric_limits<double>::max(), most_need = 0;
        std::size_t near = 0;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            if (values[i] < near_limit * most) continue;
            const double need = computed_memory(loads[i], loads[i].batch).tensors;
            least_need = std::min(least_need, need), most_need = std::max(most_need, need), ++near;
        }
        const bool limited = near > 2 && near < loads.size() && most_need > 1.2 * least_need;
        return limited ? most : std::numeric_limits<double>::max();
    }
    [[nodiscard]] double base(NetworkLoad const& load, double batch) const {
        const auto terms = terms_of(load, batch);
        double sum = 0;
        for (std::size_t i = 0; i < factors; ++i) sum += factors_[i] * terms[i];
        return std::max(sum, 1.0);
    }

    std::array<double, factors> factors_{};
    double most_ = std::numeric_limits<double>::max();
    NetworkCorrection correction_;
};

static_assert(NetworkModel<LayerMemory>);

}  // namespace primsel::inline PRIMSEL_ABI::forecast
