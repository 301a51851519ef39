#pragma once

#include <primsel/core/work.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::plan::detail {

/// The bytes that a run of a network reads, and the operations that it computes, before it reads the same weights
/// again.
class RunSize {
public:
    RunSize() = default;
    /// Nothing where the images go together.
    RunSize(Graph const& graph, Kernels const& kernels) {
        if (goes_layer_by_layer(graph)) return;
        double weights = 0, images = 0;
        for (std::size_t i = 0; i < graph.size(); ++i) {
            Node const& node = graph[i];
            const std::vector<Shape> inputs = graph.input_shapes(i);
            std::size_t floats = node.shape.size();
            for (Shape const& shape : inputs) floats += shape.size();
            images = std::max(images, 4.0 * graph.batch() * static_cast<double>(floats));
            if (const auto task = conv_task(graph, i)) {
                weights += kernel_bytes(task->shape), kernels_ += kernel_bytes(task->shape);
                alike_[key(task->shape)] += kernel_bytes(task->shape);
                operations_ += graph.batch() * task->shape.operations();
            } else if (const auto bytes = kernels.op(node.layer, 0).packed_bytes) {
                weights += static_cast<double>(bytes(node.layer, inputs[0]));
            }
        }
        stored_ = weights + images;
    }

    /// All weights as they are stored, and the images that the largest layer reads and writes.
    [[nodiscard]] double stored() const { return stored_; }
    /// Operations of all convolutions.
    [[nodiscard]] double operations() const { return operations_; }
    /// RunContext::weight_reuse_bytes where this convolution's kernel is packed into so many bytes: kernels of the same
    /// extents and strides are then taken to grow as it does, and in a lower precision all kernels to shrink as it
    /// does.
    [[nodiscard]] double packed(ConvShape const& shape, std::size_t bytes, Precision precision) const {
        const double growth = static_cast<double>(bytes) / kernel_bytes(shape) - 1;
        if (precision != Precision::float32 && growth < 0) return stored_ + growth * kernels_;
        const auto alike = alike_.find(key(shape));
        return alike == alike_.end() ? stored_ : stored_ + alike->second * std::max(0.0, growth);
    }

private:
    using Key = std::tuple<int, int, int, int>;

    [[nodiscard]] static Key key(ConvShape const& s) { return {s.fh, s.fw, s.stride_h, s.stride_w}; }
    [[nodiscard]] static double kernel_bytes(ConvShape const& s) { return 4.0 * static_cast<double>(s.kernel_size()); }

    double stored_ = 0, kernels_ = 0, operations_ = 0;
    std::map<Key, double> alike_;
};

}  // namespace primsel::inline PRIMSEL_ABI::plan::detail
