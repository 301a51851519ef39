#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The name and dimensions of a weight that a graph needs.
struct WeightSpec {
    std::string name;
    std::vector<std::int64_t> dims;
    WeightValues values = WeightValues::finite;
};

namespace network {

/// The name of a layer's weight in the network.
[[nodiscard]] inline std::string weight_name(std::string const& layer, std::string_view weight) {
    return weight.empty() ? layer : layer + '.' + std::string(weight);
}

}  // namespace network

/// The name of a constant's weight.
[[nodiscard]] inline std::string constant_weight(Node const& node) {
    return network::weight_name(node.name, std::get<ConstantParams>(node.layer).weight_name());
}

/// The weights that a node of the graph needs, by name and in PyTorch's dimensions, with whatever simplify folded into
/// the node or trimmed.
[[nodiscard]] inline std::vector<WeightSpec> weight_specs(Graph const& graph, Node const& node) {
    std::vector<WeightSpec> specs;
    const auto add_weights_of = [&](std::string const& name, Shape const& input, auto const& layer) {
        const auto add = [&](std::string_view weight, WeightDims dims, WeightValues values) {
            specs.push_back({network::weight_name(name, weight), dims, values});
        };
        if constexpr (requires { layer.each_weight(input, add); }) layer.each_weight(input, add);
    };
    const Shape input = node.inputs.empty() ? Shape{} : graph[node.inputs[0]].shape;
    if (node.epilogue.kernel != KernelPart{}) {
        ConvParams conv = std::get<ConvParams>(node.layer);
        conv.kernel = node.epilogue.kernel.whole;
        add_weights_of(node.name, input, conv);
    } else {
        core::visit([&](auto const& layer) { add_weights_of(node.name, input, layer); }, node.layer);
    }
    for (Folded const& folded : node.epilogue.folded) {
        Shape shape = node.shape;
        shape.c /= folded.repeat;
        core::visit([&](auto const& layer) { add_weights_of(folded.name, shape, layer); }, folded.layer);
    }
    return specs;
}

/// Those of all its nodes.
[[nodiscard]] inline std::vector<WeightSpec> weight_specs(Graph const& graph) {
    std::vector<WeightSpec> specs;
    for (Node const& node : graph.nodes()) {
        for (WeightSpec& spec : weight_specs(graph, node)) specs.push_back(std::move(spec));
    }
    return specs;
}

/// The owner of a shared weight's values: an earlier weight of the graph.
struct WeightOwner {
    std::string name;
    /// Whether the weight is the transpose of the owner's matrix.
    bool transposed = false;
};
/// The weights that share what another one owns, by name. The owner is the first of its group in the graph.
[[nodiscard]] inline std::map<std::string, WeightOwner, std::less<>> weight_owners(Graph const& graph) {
    std::map<std::string, WeightOwner, std::less<>> owners;
    if (graph.shared().empty()) return owners;
    std::map<std::string_view, std::pair<std::string, bool>> first;  // of each group
    for (WeightSpec const& spec : weight_specs(graph)) {
        const auto shared = graph.shared().find(spec.name);
        if (shared == graph.shared().end()) continue;
        auto const& [group, transposed] = shared->second;
        const auto [owner, is_new] = first.try_emplace(group, spec.name, transposed);
        if (!is_new) owners.emplace(spec.name, WeightOwner{owner->second.first, owner->second.second != transposed});
    }
    return owners;
}
/// The weights that own their values: each weight of the network once.
[[nodiscard]] inline std::vector<WeightSpec> own_weight_specs(Graph const& graph) {
    std::vector<WeightSpec> specs = weight_specs(graph);
    const auto owners = weight_owners(graph);
    std::erase_if(specs, [&](WeightSpec const& spec) { return owners.contains(spec.name); });
    return specs;
}

/// Whether training may change a node's weight: not running statistics, constants, the constant half of a scale, nor
/// weights of a layer of the user's own.
[[nodiscard]] inline bool is_trainable(Node const& node, std::string_view weight) {
    if (std::holds_alternative<OwnLayerParams>(node.layer)) return false;
    if (weight.ends_with(".running_mean") || weight.ends_with(".running_var")) return false;
    if (const auto* constant = std::get_if<ConstantParams>(&node.layer)) return constant->parameter;
    const auto* scale = std::get_if<ScaleParams>(&node.layer);
    return scale == nullptr || (weight.ends_with(".bias") ? scale->trains_bias : scale->trains_weight);
}

/// The number of values in all weights except running statistics; shared weights count once. Constants count too,
/// though they are not trainable.
[[nodiscard]] inline double parameter_count(Graph const& graph) {
    double count = 0;
    for (WeightSpec const& spec : own_weight_specs(graph)) {
        if (spec.name.ends_with(".running_mean") || spec.name.ends_with(".running_var")) continue;
        double values = 1;
        for (const std::int64_t dim : spec.dims) values *= static_cast<double>(dim);
        count += values;
    }
    return count;
}

namespace network {

/// Copies a matrix of rows x columns as one of columns x rows.
inline void transpose_into(const float* src, std::size_t rows, std::size_t columns, float* dst) noexcept {
    constexpr std::size_t block = 16;  // a line of floats
    for (std::size_t first_row = 0; first_row < rows; first_row += block) {
        for (std::size_t first_column = 0; first_column < columns; first_column += block) {
            for (std::size_t row = first_row; row < std::min(first_row + block, rows); ++row) {
                for (std::size_t column = first_column; column < std::min(first_column + block, columns); ++column) {
                    dst[column * rows + row] = src[row * columns + column];
                }
            }
        }
    }
}

/// The rows of a weight that is a matrix: as dense layers have it, or one channel of a parameter.
[[nodiscard]] inline std::size_t matrix_rows(std::vector<std::int64_t> const& dims) {
    const std::int64_t rows = dims.size() == 3 ? dims[0] * dims[1] : dims.at(0);
    return static_cast<std::size_t>(std::max<std::int64_t>(rows, 1));
}

/// The tensor of these dimensions that shares the owner's values: in the same storage unless it is transposed.
[[nodiscard]] inline WeightTensor shared_tensor(WeightTensor const& owner, std::vector<std::int64_t> dims,
                                                bool transposed) {
    if (!transposed || dims.empty()) return {std::move(dims), owner.values, owner.owner};
    const std::size_t columns = matrix_rows(dims), rows = owner.values.size() / columns;
    std::vector<float> values(owner.values.size());
    owner.values.read(0, values);
    auto rotated = std::make_shared<std::vector<float>>(values.size());
    transpose_into(values.data(), rows, columns, rotated->data());
    const std::span<const float> view(*rotated);
    return {std::move(dims), view, std::move(rotated)};
}

/// Whether two weights have the same values, or one those of the other transposed.
[[nodiscard]] inline bool same_values(WeightTensor const& owner, WeightTensor const& other, bool transposed) {
    const StoredFloats &a = owner.values, &b = other.values;
    if (a.size() != b.size()) return false;
    if (a.empty() || (!transposed && a.place() == b.place())) return true;
    const std::size_t rows = transposed ? matrix_rows(owner.dims) : 1, columns = a.size() / rows;
    std::vector<float> left(columns), right(columns);
    for (std::size_t row = 0; row < rows; ++row) {
        a.read(row * columns, left);
        if (transposed)
            for (std::size_t column = 0; column < columns; ++column) right[column] = b[column * rows + row];
        else
            b.read(0, right);
        if (std::memcmp(left.data(), right.data(), columns * sizeof(float)) != 0) return false;
    }
    return true;
}

}  // namespace network

/// Adds the shared weights of the graph that are missing, with the values of others of their group.
[[nodiscard]] inline Weights with_shared(Graph const& graph, Weights weights) {
    const auto owners = weight_owners(graph);
    if (owners.empty()) return weights;
    std::map<std::string, WeightSpec, std::less<>> specs;
    for (WeightSpec& spec : weight_specs(graph)) specs.emplace(spec.name, std::move(spec));
    const auto copy = [&](std::string const& from, std::string const& to, bool transposed) {
        if (weights.find(to) != nullptr || weights.find(from) == nullptr) return;
        weights.add(to, network::shared_tensor(weights.at(from), specs.at(to).dims, transposed));
    };
    for (auto const& [name, owner] : owners) copy(name, owner.name, owner.transposed);
    for (auto const& [name, owner] : owners) copy(owner.name, name, owner.transposed);
    return weights;
}

}  // namespace primsel::inline PRIMSEL_ABI
