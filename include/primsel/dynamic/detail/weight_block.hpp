#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/weights.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// The part of a weight that a sub-network has: some rows, and some columns of each.
struct WeightBlock {
    std::string name;
    /// The dimensions of the whole weight, and of the part.
    std::vector<std::int64_t> whole, dims;
    std::vector<std::size_t> rows, columns;

    [[nodiscard]] bool is_whole() const { return whole == dims; }
    [[nodiscard]] std::size_t count() const { return rows.size() * columns.size() * depth(); }
    /// Calls visit(position) with each position in the whole weight, in the order of the part's values.
    void each(auto const& visit) const {
        const std::size_t width = extent(1), inner = depth();
        for (const std::size_t row : rows) {
            for (const std::size_t column : columns) {
                for (std::size_t i = 0; i < inner; ++i) visit((row * width + column) * inner + i);
            }
        }
    }
    /// Throws error unless `tensor` has the dimensions of the whole weight.
    void check(WeightTensor const& tensor) const {
        if (network::same_extents(tensor.dims, whole)) return;
        fail("configuration: weight ", name, " is ", to_string(tensor.dims), ", not ", to_string(whole));
    }

private:
    [[nodiscard]] std::size_t extent(std::size_t dim) const {
        return dim < whole.size() ? static_cast<std::size_t>(whole[dim]) : 1;
    }
    [[nodiscard]] std::size_t depth() const {
        std::size_t product = 1;
        for (std::size_t dim = 2; dim < whole.size(); ++dim) product *= extent(dim);
        return product;
    }
};

/// Calls visit(name, dims) for each weight of a layer.
void each_weight_of(Graph const& graph, std::size_t i, auto const& visit) {
    Node const& node = graph[i];
    const Shape input = node.inputs.empty() ? Shape{} : graph[node.inputs[0]].shape;
    const auto add = [&](std::string_view weight, WeightDims dims, WeightValues) {
        visit(network::weight_name(node.name, weight), std::vector<std::int64_t>(dims));
    };
    core::visit(
        [&](auto const& layer) {
            if constexpr (requires { layer.each_weight(input, add); }) layer.each_weight(input, add);
        },
        node.layer);
}

/// The columns of a weight that layer i of the sub-network `part` has. Throws error, naming the layer, if that cannot
/// be told.
template <class Configuration>
[[nodiscard]] std::vector<std::size_t> columns_of(Graph const& whole, Configuration const& part, std::size_t i,
                                                  std::vector<std::int64_t> const& dims, std::string const& weight) {
    Node const& node = part.graph[i];
    const auto* conv = std::get_if<ConvParams>(&node.layer);
    if (dims.size() == 1 || (conv != nullptr && dims[1] == 1)) return {0};
    if (std::holds_alternative<ConstantParams>(node.layer)) {
        std::vector<std::size_t> columns;
        for (std::int64_t i = 0; i < dims[1]; ++i) columns.push_back(static_cast<std::size_t>(i));
        return columns;
    }
    const bool dense = std::holds_alternative<DenseParams>(node.layer);
    if (!dense && (conv == nullptr || conv->groups != 1)) {
        fail("configuration: layer ", node.name, " (", layer_kind(node.layer), ") has not all of weight ", weight,
             ", and it cannot be told what of it");
    }
    const std::size_t input = whole[whole.find(node.name)].inputs[0];
    const std::size_t pixels = dense ? whole[input].shape.pixels() : 1;
    std::vector<std::size_t> columns;
    for (const std::size_t channel : part.channels[node.inputs[0]]) {
        for (std::size_t pixel = 0; pixel < pixels; ++pixel) columns.push_back(channel * pixels + pixel);
    }
    return columns;
}

/// Calls visit(block) for each weight of the sub-network `part`.
template <class Configuration>
void each_block(Graph const& whole, Configuration const& part, auto const& visit) {
    const auto all = [](std::int64_t count) {
        std::vector<std::size_t> each;
        for (std::int64_t i = 0; i < count; ++i) each.push_back(static_cast<std::size_t>(i));
        return each;
    };
    for (std::size_t i = 0; i < part.graph.size(); ++i) {
        std::vector<std::vector<std::int64_t>> whole_dims;
        each_weight_of(whole, whole.find(part.graph[i].name),
                       [&](std::string const&, std::vector<std::int64_t> dims) { whole_dims.push_back(dims); });
        std::size_t number = 0;
        each_weight_of(part.graph, i, [&](std::string const& name, std::vector<std::int64_t> dims) {
            WeightBlock block{name, whole_dims.at(number++), std::move(dims), {}, {}};
            if (block.is_whole()) {
                block.rows = all(block.dims.empty() ? 1 : block.dims[0]);
                block.columns = all(block.dims.size() > 1 ? block.dims[1] : 1);
            } else {
                block.rows = part.channels[i];
                block.columns = columns_of(whole, part, i, block.dims, name);
            }
            visit(std::as_const(block));
        });
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
