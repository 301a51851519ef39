// Translates nodes of the user's own operators.
#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/onnx/detail/call.hpp>
#include <primsel/onnx/own_operator.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

inline std::int64_t OnnxNode::integer(std::string_view name, std::int64_t otherwise) const {
    return call_->integer(name, otherwise);
}
inline float OnnxNode::real(std::string_view name, float otherwise) const { return call_->real(name, otherwise); }
inline std::string_view OnnxNode::text(std::string_view name, std::string_view otherwise) const {
    return call_->text(name, otherwise);
}
inline std::vector<std::int64_t> OnnxNode::integers(std::string_view name, std::vector<std::int64_t> otherwise) const {
    return call_->integers(name, std::move(otherwise));
}
inline std::span<const float> OnnxNode::reals(std::string_view name) const { return call_->reals(name); }

namespace onnx {

/// Null where the node's operator is none of these, or none that can be imported.
[[nodiscard]] inline const OnnxOwnOperator* find_own(std::span<const OnnxOwnOperator> operators,
                                                     NodeProto const& node) {
    for (OnnxOwnOperator const& entry : operators) {
        const bool same_domain =
            entry.domain == node.domain || (is_own_domain(entry.domain) && is_own_domain(node.domain));
        if (entry.layer != nullptr && same_domain && entry.name == node.op) return &entry;
    }
    return nullptr;
}

namespace detail {
/// The extents of one image of a result: as many axes as the first input has, if the shape has no more.
[[nodiscard]] inline Sizes image_sizes(Shape shape, std::size_t rank) {
    if (rank <= 1 && shape.pixels() == 1) return {shape.c};
    if (rank <= 2 && shape.h == 1) return {shape.c, shape.w};
    return {shape.c, shape.h, shape.w};
}
}  // namespace detail

inline void translate_own(Call const& call, OnnxOwnOperator const& own) {
    for (std::size_t i = 1; i < call.output_count(); ++i) {
        if (call.wants(i)) fail("an operator of the user's own has one output; output ", i, " is read");
    }
    std::vector<std::size_t> inputs, constants;
    std::vector<Shape> shapes;
    std::size_t rank = 0;
    for (std::size_t i = 0; i < call.input_count(); ++i) {
        if (call.known(i) != nullptr) {
            constants.push_back(i);
            continue;
        }
        if (!constants.empty()) fail("its input ", call.input(i).name, " comes after constants");
        Operand operand = call.operand(i);
        if (call.build.is_whole()) {
            if (operand.dims.empty() || operand.dims[0] != 1)
                fail("the first axis of ", call.input(i).name, " is not that of the images");
            operand.dims.erase(operand.dims.begin());
        }
        if (operand.dims.empty() || operand.dims.size() > 3) {
            fail(call.input(i).name, " has ", call.rank(i),
                 " dimensions; images x channels x height x width, or fewer, "
                 "are supported");
        }
        if (inputs.empty()) rank = operand.dims.size();
        inputs.push_back(*operand.node);
        shapes.push_back(call.build.graph()[inputs.back()].shape);
    }
    if (inputs.empty()) fail("none of its inputs is computed at run time");

    const AnyLayer layer = own.layer(OnnxNode(call, shapes));
    const std::size_t node = call.build.emit(layer, inputs);
    std::size_t weights = 0;
    const auto add_weight = [&](std::string_view weight, WeightDims dims, WeightValues) {
        if (weights++ >= constants.size()) return;
        OnnxTensor const& tensor = call.floats(constants[weights - 1], weight);
        const Sizes wanted(dims);
        if (tensor.dims != wanted)
            fail("its ", weight, " is ", to_string(tensor.dims), ", the layer needs ", to_string(wanted));
        call.build.add_weight(node, weight.empty() ? "" : join('.', weight), wanted, tensor);
    };
    core::visit(
        [&]<class Params>(Params const& params) {
            if constexpr (requires { params.each_weight(shapes[0], add_weight); }) {
                params.each_weight(shapes[0], add_weight);
            }
        },
        layer);
    if (weights != constants.size()) fail("it has ", constants.size(), " constants, its layer ", weights, " weights");
    const Sizes image = detail::image_sizes(call.build.graph()[node].shape, rank);
    Sizes dims = image;
    if (call.build.is_whole()) dims.insert(dims.begin(), 1);
    call.give(call.build.operand(node, std::move(dims)));
}

}  // namespace onnx

}  // namespace primsel::inline PRIMSEL_ABI
