#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/core/normal.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weight_specs.hpp>
#include <primsel/network/weights.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace network {
using AffineLayer = decltype(Folded::layer);

/// Whether no float is NaN or infinite: in one pass that compilers vectorise, for at start-up it reads all weights.
[[nodiscard]] inline bool all_finite(std::span<const std::byte> floats) {
    constexpr std::size_t lanes = 16;
    constexpr std::uint32_t magnitude = 0x7fffffff, infinite = 0x7f800000;
    std::array<std::uint32_t, lanes> largest{}, bits{};
    const std::size_t count = floats.size() / sizeof(float), whole = count / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        std::memcpy(bits.data(), floats.data() + i * sizeof(float), sizeof(bits));
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            largest[lane] = std::max(largest[lane], bits[lane] & magnitude);
        }
    }
    for (std::size_t i = whole; i < count; ++i) {
        std::memcpy(bits.data(), floats.data() + i * sizeof(float), sizeof(float));
        largest[0] = std::max(largest[0], bits[0] & magnitude);
    }
    return *std::max_element(largest.begin(), largest.end()) < infinite;
}

/// The same for `count` values from `first` on.
[[nodiscard]] inline bool all_finite(StoredFloats const& values, std::size_t first, std::size_t count) {
    bool finite = true;
    values.each_part(first, count, [&](std::span<const std::byte> part) { finite = all_finite(part) && finite; });
    return finite;
}

/// The fault of a value; "" where there is none.
[[nodiscard]] inline std::string_view fault_of(float const& value, WeightValues values) {
    if (values == WeightValues::any) return "";
    if (is_nan(value)) return "not a number";
    if (values == WeightValues::not_nan) return "";
    if (is_infinite(value)) return "not finite";
    if (values == WeightValues::not_negative && value < 0.0F) return "negative variance";
    if (values == WeightValues::positive && value <= 0.0F) return "variance without epsilon that is not positive";
    return "";
}

/// "[3, 0, 1, 2]": the place of a value of so many dimensions.
[[nodiscard]] inline std::string place_of(std::size_t at, std::vector<std::int64_t> const& dims) {
    std::string text;
    for (std::size_t i = dims.size(); i-- > 0;) {
        const auto dim = static_cast<std::size_t>(dims[i]);
        text.insert(0, (i == 0 ? "" : ", ") + std::to_string(at % dim));
        at /= dim;
    }
    return '[' + text + ']';
}

/// A line about the first value that the weight may not have, or nothing.
[[nodiscard]] inline std::string value_fault(WeightSpec const& spec, StoredFloats const& values) {
    const bool variance = spec.values == WeightValues::not_negative || spec.values == WeightValues::positive;
    if (spec.values == WeightValues::any || (!variance && all_finite(values, 0, values.size()))) return "";
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string_view fault = fault_of(values[i], spec.values);
        if (!fault.empty()) return join("\n  ", fault, ": ", spec.name, place_of(i, spec.dims), " is ", values[i]);
    }
    return "";
}

}  // namespace network

namespace network {
/// Whether a weight has the dimensions that are needed. A constant's c x h x w may lack ones at the end, as PyTorch's
/// parameters of a value a channel do.
[[nodiscard]] inline bool same_extents(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    if (b.size() != 3) return std::ranges::equal(a, b);
    while (!a.empty() && a.back() == 1) a = a.first(a.size() - 1);
    while (!b.empty() && b.back() == 1) b = b.first(b.size() - 1);
    return std::ranges::equal(a, b);
}
}  // namespace network

/// The properties that check_weights checks: names and dimensions, or values, too.
enum class WeightCheck { shapes, values };

/// Throws error when a weight is missing or misshapen, when one of its values would make every result NaN or infinite
/// (see WeightValues), when shared weights differ, or when a weight is not in the graph. One message lists all faults
/// and names the weights' source.
inline void check_weights(Graph const& graph, Weights const& weights, WeightCheck check = WeightCheck::values) {
    std::string faults;
    std::size_t known = 0;
    std::map<std::string, bool> names;
    for (WeightSpec const& spec : weight_specs(graph)) {
        names.emplace(spec.name, true);
        const WeightTensor* tensor = weights.find(spec.name);
        if (tensor == nullptr) {
            const auto unread = weights.unread().find(spec.name);
            faults += join("\n  missing: ", spec.name, " (", to_string(spec.dims), ")");
            if (unread != weights.unread().end()) faults += join("; the file has it as ", unread->second);
            continue;
        }
        std::string fault;
        if (!network::same_extents(tensor->dims, spec.dims)) {
            fault = "\n  wrong shape: " + spec.name + " is " + to_string(tensor->dims) + ", the layer needs " +
                    to_string(spec.dims);
        } else if (check == WeightCheck::values) {
            fault = network::value_fault(spec, tensor->values);
        }
        known += fault.empty() ? 1 : 0;
        faults += fault;
    }
    for (auto const& [name, owner] : weight_owners(graph)) {
        const WeightTensor *tensor = weights.find(name), *owned = weights.find(owner.name);
        if (tensor == nullptr || owned == nullptr || network::same_values(*owned, *tensor, owner.transposed)) continue;
        faults += join("\n  differ though they are one weight", owner.transposed ? ", transposed" : "", ": ",
                       owner.name, " and ", name);
    }
    for (auto const& [name, tensor] : weights) {
        if (!names.contains(name))
            faults += "\n  not in the network: " + printable(name) + " (" + to_string(tensor.dims) + ")";
    }
    for (auto const& [name, description] : weights.unread()) {
        if (!names.contains(name)) faults += join("\n  not in the network: ", printable(name), " (", description, ")");
    }
    if (!faults.empty()) fail(weights.source(), ": ", known, " of ", names.size(), " weights fit the network", faults);
}

/// Checks the values of one node's weights, except the weight named `but_for`. Names and dimensions must have been
/// checked before. Throws the error of check_weights.
inline void check_values(Graph const& graph, Node const& node, Weights const& weights, std::string_view but_for = "") {
    for (WeightSpec const& spec : weight_specs(graph, node)) {
        if (spec.name != but_for && !network::value_fault(spec, weights.at(spec.name).values).empty())
            check_weights(graph, weights);
    }
}

/// The kernel and bias of a layer: whatever simplify folded into it is multiplied in, and taps that it trimmed are left
/// out. bias is empty when there is none. Where nothing changes the layer's weights they are not copied, and must live
/// as long.
class PreparedWeights {
public:
    std::span<const float> kernel, bias;

    PreparedWeights(std::span<const float> the_kernel, std::span<const float> the_bias)
        : kernel(the_kernel), bias(the_bias) {}
    PreparedWeights(std::unique_ptr<float[]> the_kernel, std::size_t size, std::vector<float> the_bias)
        : kernel(the_kernel.get(), size), kernel_(std::move(the_kernel)), bias_(std::move(the_bias)) {
        bias = bias_;
    }
    PreparedWeights(PreparedWeights&&) = default;
    PreparedWeights& operator=(PreparedWeights&&) = default;

private:
    std::unique_ptr<float[]> kernel_;
    std::vector<float> bias_;
};

namespace network::detail {

/// The factor and shift of each channel of a batch norm or scale.
inline void affine(std::string const& name, AffineLayer const& layer, std::size_t c, Weights const& weights,
                   std::vector<double>& factor, std::vector<double>& shift) {
    const auto* batch_norm = std::get_if<BatchNormParams>(&layer);
    const auto* known = std::get_if<ScaleParams>(&layer);
    if (known != nullptr && known->known) {
        factor.assign(c, static_cast<double>(known->factor));
        shift.assign(c, static_cast<double>(known->shift));
        return;
    }
    const auto scale = weights.at(name + ".weight").values, bias = weights.at(name + ".bias").values;
    factor.assign(scale.begin(), scale.end());
    shift.assign(bias.begin(), bias.end());
    if (batch_norm == nullptr) return;
    const auto mean = weights.at(name + ".running_mean").values, variance = weights.at(name + ".running_var").values;
    for (std::size_t i = 0; i < factor.size(); ++i) {
        factor[i] /= std::sqrt(static_cast<double>(variance[i]) + static_cast<double>(batch_norm->epsilon));
        shift[i] -= static_cast<double>(mean[i]) * factor[i];
    }
}
/// Applies folded layers to c factors and shifts.
inline void apply_folded(std::vector<Folded> const& all, std::size_t c, Weights const& weights,
                         std::vector<double>& factors, std::vector<double>& shifts) {
    std::vector<double> factor, shift;
    for (Folded const& folded : all) {
        const auto repeat = static_cast<std::size_t>(folded.repeat);
        affine(folded.name, folded.layer, c / repeat, weights, factor, shift);
        for (std::size_t i = 0; i < c; ++i) {
            factors[i] *= factor[i / repeat];
            shifts[i] = shifts[i] * factor[i / repeat] + shift[i / repeat];
        }
    }
}

/// The part of each kernel of the given size.
[[nodiscard]] inline PreparedWeights part_of(PreparedWeights const& all, KernelPart const& part, Extent kernel) {
    const auto size = [](Extent extent) {
        return static_cast<std::size_t>(extent.h) * static_cast<std::size_t>(extent.w);
    };
    const std::size_t whole = size(part.whole), count = all.kernel.size() / whole, taps = size(kernel),
                      width = static_cast<std::size_t>(kernel.w), step = static_cast<std::size_t>(part.whole.w);
    auto kept = std::make_unique_for_overwrite<float[]>(count * taps);
    float* dst = kept.get();
    const float* src =
        all.kernel.data() + static_cast<std::size_t>(part.first.h) * step + static_cast<std::size_t>(part.first.w);
    for (std::size_t i = 0; i < count; ++i, src += whole) {
        for (int row = 0; row < kernel.h; ++row, dst += width) {
            std::copy_n(src + static_cast<std::size_t>(row) * step, width, dst);
        }
    }
    return {std::move(kept), count * taps, std::vector<float>(all.bias.begin(), all.bias.end())};
}

}  // namespace network::detail

/// Prepares the weights of one node; check_weights must have found no fault in them. For a convolution or dense layer,
/// but not one on rows, only those of the outputs [first, first + count).
[[nodiscard]] inline PreparedWeights prepare_weights(Node const& node, Weights const& weights, std::size_t first = 0,
                                                     std::size_t count = std::numeric_limits<std::size_t>::max()) {
    if (node.epilogue.kernel != KernelPart{}) {
        Node whole = node;
        whole.epilogue.kernel = {};
        return network::detail::part_of(prepare_weights(whole, weights, first, count), node.epilogue.kernel,
                                        std::get<ConvParams>(node.layer).kernel);
    }
    std::vector<double> factor, shift;
    const auto k = static_cast<std::size_t>(node.shape.c);
    const auto channel_values = [&] {
        auto factors = std::make_unique_for_overwrite<float[]>(k);
        for (std::size_t i = 0; i < k; ++i) factors[i] = static_cast<float>(factor[i]);
        return PreparedWeights{std::move(factors), k, std::vector<float>(shift.begin(), shift.end())};
    };
    const auto alone = [&](network::AffineLayer const& layer) {
        network::detail::affine(node.name, layer, k, weights, factor, shift);
        return channel_values();
    };
    if (std::holds_alternative<StandardizeParams>(node.layer)) {
        factor.assign(k, 1.0), shift.assign(k, 0.0);
        network::detail::apply_folded(node.epilogue.folded, k, weights, factor, shift);
        return channel_values();
    }
    if (const auto* batch_norm = std::get_if<BatchNormParams>(&node.layer)) return alone(*batch_norm);
    if (const auto* scale = std::get_if<ScaleParams>(&node.layer)) return alone(*scale);
    const auto copy_of = [](StoredFloats const& values, std::size_t from, std::size_t size) {
        auto copied = std::make_unique_for_overwrite<float[]>(size);
        values.read(from, {copied.get(), size});
        return copied;
    };
    if (std::holds_alternative<ConstantParams>(node.layer)) {
        StoredFloats const& values = weights.at(constant_weight(node)).values;
        if (values.is_ready()) return {std::span<const float>(values), std::span<const float>()};
        return {copy_of(values, 0, values.size()), values.size(), {}};
    }
    StoredFloats const& kernel = weights.at(node.name + ".weight").values;
    if (std::holds_alternative<DenseRowsParams>(node.layer) || std::holds_alternative<RecurrentParams>(node.layer)) {
        std::span<const float> its_bias;
        if (const WeightTensor* bias = weights.find(node.name + ".bias")) its_bias = bias->values;
        if (kernel.is_ready()) return {std::span<const float>(kernel), its_bias};
        return {copy_of(kernel, 0, kernel.size()), kernel.size(), {its_bias.begin(), its_bias.end()}};
    }
    const std::size_t depth = kernel.size() / k;
    count = std::min(count, k - first);
    const WeightTensor* own_bias = weights.find(node.name + ".bias");
    std::span<const float> bias;
    if (own_bias != nullptr) bias = own_bias->values;
    const std::span<const float> part_of_bias = bias.empty() ? bias : bias.subspan(first, count);
    if (node.epilogue.folded.empty() && kernel.is_ready()) {
        return {std::span<const float>(kernel).subspan(first * depth, count * depth), part_of_bias};
    }
    const std::size_t size = count * depth;
    auto scaled = copy_of(kernel, first * depth, size);
    if (node.epilogue.folded.empty()) {
        return {std::move(scaled), size, std::vector<float>(part_of_bias.begin(), part_of_bias.end())};
    }
    std::vector<double> factors(k, 1.0), shifts(bias.begin(), bias.end());
    shifts.resize(k, 0.0);
    network::detail::apply_folded(node.epilogue.folded, k, weights, factors, shifts);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = i * depth; j < (i + 1) * depth; ++j) {
            scaled[j] = static_cast<float>(static_cast<double>(scaled[j]) * factors[first + i]);
        }
    }
    const double* const begin = shifts.data() + first;
    return {std::move(scaled), size, std::vector<float>(begin, begin + count)};
}

/// Seeded weights for every layer of the graph: normal kernels that keep the variance of their input (He et al. 2015),
/// small biases, batch-norm statistics near 0 and 1. The same on every machine.
[[nodiscard]] inline Weights random_weights(Graph const& graph, std::uint32_t seed = 1) {
    std::mt19937 bits(seed);
    core::Normal normal;
    Weights weights;
    for (WeightSpec const& spec : own_weight_specs(graph)) {
        std::size_t size = 1, depth = 1;
        for (std::size_t i = 0; i < spec.dims.size(); ++i) {
            size *= static_cast<std::size_t>(spec.dims[i]);
            if (i > 0) depth *= static_cast<std::size_t>(spec.dims[i]);
        }
        const bool kernel = spec.dims.size() > 1, variance = spec.name.ends_with(".running_var");
        const bool around_one = variance || (!kernel && spec.name.ends_with(".weight"));
        const float scale = kernel ? std::sqrt(2.0F / static_cast<float>(depth)) : 0.1F;
        std::vector<float> values(size);
        for (float& value : values) {
            // In double, in which the product is exact, fused or not.
            value = static_cast<float>(static_cast<double>(normal(bits)) * static_cast<double>(scale) +
                                       (around_one ? 1.0 : 0.0));
            if (variance) value = std::max(value, 0.5F);
        }
        weights.add(spec.name, spec.dims, std::move(values));
    }
    return with_shared(graph, std::move(weights));
}

}  // namespace primsel::inline PRIMSEL_ABI
