#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/engine/arena.hpp>
#include <primsel/engine/ready_step.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A convolution by the primitive that the plan chose.
struct ScheduledConv {
    std::size_t node = 0;
    PrimitiveEntry const* primitive = nullptr;
    ConvShape shape{};  ///< for one image
    /// The weight that is its kernel, and whether the kernel is rotated before it is packed.
    std::string kernel{};
    bool rotated = false;
    bool bias = false;
    Clamp clamp{};
    std::size_t residual = no_tensor;  ///< added to the result
    Clamp summand{};                   ///< the result's bounds before that
};

/// Computes a convolution.
struct ConvStep {
    ScheduledConv conv;
    WrittenChannels written{};
    std::size_t scratch = no_tensor;
    /// The tensor into which each run packs the kernel, if the kernel changes between runs.
    std::size_t packed = no_tensor;
};

/// Computes convolutions that read each other, some rows at a time. Only the image of the first, the residuals and the
/// result of the last are tensors of the Schedule.
struct StripsStep {
    std::vector<ScheduledConv> convs;
    int rows = 0;  ///< of the result, in each strip
    WrittenChannels written{};
    std::size_t scratch = no_tensor;
};

/// Adds bias and residual and applies the activation, in place, after a primitive that does not fuse them.
struct EpilogueStep {
    LayoutEntry const* layout = nullptr;
    bool bias = false;
    Clamp clamp{};
    std::size_t residual = no_tensor;
    Clamp summand{};
};

/// Computes a layer that is no convolution.
struct OpStep {
    OpEntry const* op = nullptr;
    AnyLayer layer{};
    Clamp clamp{};
    std::size_t scratch = no_tensor;
};

/// Changes a layout.
struct TransformStep {
    TransformEntry const* transform = nullptr;
};

/// One step of a run: tensors in, one tensor out, and the work between them.
struct ScheduledStep {
    /// The node whose result it computes, or changes the layout of.
    std::size_t node = 0;
    std::vector<std::size_t> src{};  ///< without the residual of a ConvStep or EpilogueStep
    std::vector<Shape> src_shapes{};
    std::size_t dst = no_tensor;
    Shape dst_shape{};
    std::variant<OpStep, ConvStep, EpilogueStep, TransformStep, StripsStep> work{};

    template <class Work>
    [[nodiscard]] bool is() const {
        return std::holds_alternative<Work>(work);
    }
    /// The tensor that a convolution or epilogue adds to its result, or no_tensor.
    [[nodiscard]] std::size_t residual() const {
        if (const auto* conv = std::get_if<ConvStep>(&work)) return conv->conv.residual;
        const auto* epilogue = std::get_if<EpilogueStep>(&work);
        return epilogue == nullptr ? no_tensor : epilogue->residual;
    }
    /// The tensor that it uses as scratch, or no_tensor.
    [[nodiscard]] std::size_t scratch() const {
        if (const auto* conv = std::get_if<ConvStep>(&work)) return conv->scratch;
        if (const auto* op = std::get_if<OpStep>(&work)) return op->scratch;
        const auto* strips = std::get_if<StripsStep>(&work);
        return strips == nullptr ? no_tensor : strips->scratch;
    }
    /// The tensor into which each run packs a kernel, or no_tensor.
    [[nodiscard]] std::size_t packed() const {
        const auto* conv = std::get_if<ConvStep>(&work);
        return conv == nullptr ? no_tensor : conv->packed;
    }
    [[nodiscard]] WrittenChannels written() const {
        if (const auto* conv = std::get_if<ConvStep>(&work)) return conv->written;
        const auto* strips = std::get_if<StripsStep>(&work);
        return strips == nullptr ? WrittenChannels{} : strips->written;
    }
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
/// steps take all images each. If each worker runs images of its own, these are the steps for a part of the batch, of
/// which there are `parts`.
struct Schedule {
    std::size_t inputs = 0, outputs = 0, single = 0, parts = 1;
    std::vector<ScheduledStep> steps;
    std::vector<Lifetime> lifetimes;
    /// Bytes from image to image of each tensor; 0 of those that hold what belongs to one image or to all.
    std::vector<std::size_t> image_bytes;
    std::vector<StoredConstant> constants;
    std::vector<SharedParameter> parameters;

    [[nodiscard]] std::size_t callers() const { return inputs + outputs; }
    [[nodiscard]] std::size_t tensors() const { return callers() + lifetimes.size(); }
};

}  // namespace primsel::inline PRIMSEL_ABI
