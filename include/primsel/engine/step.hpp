#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/engine/arena.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// One call of a kernel, or of several in strips. Tensors are known by their positions in the Schedule.
struct Step {
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    enum class Kind { conv, epilogue, op, transform, strips };

    Kind kind = Kind::op;
    /// The node whose result it computes, or changes the layout of.
    std::size_t node = 0;
    ConvShape shape{};  // of one image
    PrimitiveEntry const* primitive = nullptr;
    /// For a convolution: the weight that is its kernel, whether it is rotated first, and, where it changes between
    /// runs, where each run packs it.
    std::string kernel{};
    bool rotated = false;
    std::size_t packed = none;
    LayoutEntry const* layout = nullptr;
    OpEntry const* op = nullptr;
    TransformEntry const* transform = nullptr;
    AnyLayer layer{};
    std::vector<std::size_t> src{};
    std::vector<Shape> src_shapes{};
    Shape dst_shape{};
    std::size_t dst = none, residual = none, scratch = none;
    std::size_t dst_image = 0;  // bytes from image to image
    // In floats: where a part of a concatenation begins, and from pixel to pixel of it; 0: all of dst.
    std::size_t dst_offset = 0, dst_stride = 0;
    bool bias = false;
    Clamp clamp{};
    /// For strips: the convolutions, of whose tensors only the first one's image, the residuals and the last one's
    /// result are whole, and the rows of the result that a strip makes.
    std::vector<Step> parts{};
    int rows = 0;
};

/// A constant of the network in the layout in which it is read.
struct StoredConstant {
    std::size_t tensor, node, layout;
};

/// A tensor that lies where whoever trains keeps it.
struct SharedParameter {
    std::size_t tensor, node;
};

/// A plan as steps in a row. The first tensors are the caller's: the images, then the results; those after them have a
/// lifetime each, constants one of no bytes.
///
/// With a batch, the first `single` steps take one image after another, from the first of them to the last; the other
/// steps take all images each.
struct Schedule {
    std::size_t inputs = 0, outputs = 0, single = 0;
    std::vector<Step> steps;
    std::vector<Lifetime> lifetimes;
    /// Bytes from image to image of each tensor; 0 of those that hold what belongs to one image or to all.
    std::vector<std::size_t> image_bytes;
    std::vector<StoredConstant> constants;
    std::vector<SharedParameter> parameters;

    [[nodiscard]] std::size_t callers() const { return inputs + outputs; }
    [[nodiscard]] std::size_t tensors() const { return callers() + lifetimes.size(); }
};

}  // namespace primsel::inline PRIMSEL_ABI
