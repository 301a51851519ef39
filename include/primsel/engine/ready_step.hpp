// Steps of a run as plain values: functions, shapes and positions of tensors. They need no graph and no plan, so that a
// program may also have them as constants.
#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/flush_subnormals.hpp>
#include <primsel/engine/strips.hpp>
#include <primsel/op/op_args.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/kernel_view.hpp>
#include <primsel/primitive/rows_of.hpp>
#include <primsel/tensor/range.hpp>
#include <primsel/tensor/shape.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// The number of no tensor. Tensors are known by their positions in the Schedule.
inline constexpr std::size_t no_tensor = std::numeric_limits<std::size_t>::max();

/// The part of each pixel of its tensor that a step writes, in floats; with a stride of 0 it writes the whole tensor.
struct WrittenChannels {
    std::size_t offset = 0;  ///< of the part
    std::size_t stride = 0;  ///< from pixel to pixel
};

namespace engine {

/// Where the tensors and the packed weights of a run lie.
struct RunMemory {
    float* const* tensors = nullptr;
    /// Bytes from image to image of each tensor; 0 of those that hold what belongs to one image or to all.
    const std::size_t* image_bytes = nullptr;
    const float* const* weights = nullptr;
    /// Room for the addresses of all inputs of all ops.
    const float** op_srcs = nullptr;
    /// The number of its first image within the run.
    std::size_t first_image = 0;

    /// Returns where the data of an image begins.
    [[nodiscard]] float* at(std::size_t tensor, std::size_t image) const noexcept {
        return further(tensors[tensor], image * image_bytes[tensor]);
    }
    [[nodiscard]] float* at_if_any(std::size_t tensor, std::size_t image) const noexcept {
        return tensor == no_tensor ? nullptr : at(tensor, image);
    }
    /// Where a tensor begins that all images share; null for none.
    [[nodiscard]] float* begin_if_any(std::size_t tensor) const noexcept {
        return tensor == no_tensor ? nullptr : tensors[tensor];
    }
    [[nodiscard]] const float* weights_if_any(std::size_t position) const noexcept {
        return position == no_tensor ? nullptr : weights[position];
    }
    /// Returns the address `bytes` bytes after data. Kernels take pointers to floats for every type of element.
    [[nodiscard]] static float* further(float* data, std::size_t bytes) noexcept {
        return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(data) + bytes);
    }
};

// In the steps, src, dst, residual, scratch and packed are positions of tensors; weights and bias are positions among
// the packed weights. Each has run(memory, first, images, executor), which computes the step for `images` images from
// `first` on.

/// A convolution.
struct ReadyConv {
    void (*kernel)(ConvShape const&, ConvArgs const&) noexcept = nullptr;
    ConvShape shape{};
    bool whole_batch = false;
    std::size_t src = no_tensor, gradient = no_tensor, residual = no_tensor, dst = no_tensor, scratch = no_tensor;
    WrittenChannels written{};
    std::size_t weights = no_tensor, bias = no_tensor;
    Clamp summand{}, clamp{};
    TensorRange src_range{}, dst_range{}, residual_range{};
    /// The function that packs the kernel at each run, into the tensor `packed`; null if the kernel never changes.
    void (*repack)(ConvShape const&, KernelView, float*, ExecutorRef) = nullptr;
    bool rotated = false;
    std::size_t packed = no_tensor;

    void run(RunMemory const& memory, std::size_t first, int images, ExecutorRef executor) const noexcept {
        const std::size_t end = first + static_cast<std::size_t>(images),
                          at_once = whole_batch ? static_cast<std::size_t>(images) : 1;
        const float* values = memory.weights_if_any(weights);
        if (repack != nullptr) {
            repack(shape, {values, rotated}, memory.tensors[packed], executor);
            values = memory.tensors[packed];
        }
        for (std::size_t image = first; image < end; image += at_once) {
            kernel(shape, {.src = memory.at(src, image),
                           .gradient = memory.at_if_any(gradient, image),
                           .images = static_cast<int>(at_once),
                           .weights = values,
                           .bias = memory.weights_if_any(bias),
                           .residual = memory.at_if_any(residual, image),
                           .summand = summand,
                           .clamp = clamp,
                           .dst = memory.at(dst, image) + written.offset,
                           .dst_stride = written.stride,
                           .scratch = memory.begin_if_any(scratch),
                           .executor = executor,
                           .src_range = src_range,
                           .dst_range = dst_range,
                           .residual_range = residual_range});
        }
    }
};

/// Convolutions that read each other, some rows at a time. weights, bias and residual are those of each of them.
struct ReadyStrips {
    Strips strips{};
    std::size_t src = no_tensor, dst = no_tensor, scratch = no_tensor;
    WrittenChannels written{};
    std::array<std::size_t, most_strip_layers> weights{}, bias{}, residual{};

    /// Returns the convolutions with the addresses of what they read.
    [[nodiscard]] Strips bound(RunMemory const& memory, std::size_t image) const noexcept {
        Strips result = strips;
        for (std::size_t i = 0; i < strips.count; ++i) {
            result.parts[i].weights = memory.weights_if_any(weights[i]);
            result.parts[i].bias = memory.weights_if_any(bias[i]);
            result.parts[i].residual = memory.at_if_any(residual[i], image);
        }
        return result;
    }
    void run(RunMemory const& memory, std::size_t first, int images, ExecutorRef executor) const noexcept {
        const std::size_t end = first + static_cast<std::size_t>(images);
        for (std::size_t image = first; image < end; ++image) {
            bound(memory, image)
                .run(memory.at(src, image), memory.at(dst, image) + written.offset, written.stride,
                     memory.tensors[scratch], executor);
        }
    }
};

/// Adds bias and residual and applies the activation, in place, after a primitive that does not fuse them.
struct ReadyEpilogue {
    void (*epilogue)(Shape, int batch, float* data, const float* bias, const float* residual, Clamp summand, Clamp,
                     ExecutorRef) noexcept = nullptr;
    Shape shape{};
    std::size_t dst = no_tensor, residual = no_tensor, bias = no_tensor;
    Clamp summand{}, clamp{};

    void run(RunMemory const& memory, std::size_t first, int images, ExecutorRef executor) const noexcept {
        epilogue(shape, images, memory.at(dst, first), memory.weights_if_any(bias), memory.at_if_any(residual, first),
                 summand, clamp, executor);
    }
};

/// Changes a layout.
struct ReadyTransform {
    void (*transform)(Shape, const float* src, float* dst, ExecutorRef, TensorRange const&) noexcept = nullptr;
    Shape shape{};
    std::size_t src = no_tensor, dst = no_tensor;
    TensorRange range{};

    void run(RunMemory const& memory, std::size_t first, int images, ExecutorRef executor) const noexcept {
        const std::size_t end = first + static_cast<std::size_t>(images);
        for (std::size_t image = first; image < end; ++image) {
            transform(shape, memory.at(src, image), memory.at(dst, image), executor, range);
        }
    }
};

/// A layer that is no convolution.
struct ReadyOp {
    void (*op)(const void* layer, OpArgs const&) noexcept = nullptr;
    /// The first argument of op.
    const void* layer = nullptr;
    std::span<const std::size_t> src{};
    std::span<const Shape> src_shapes{};
    std::span<const TensorRange> src_ranges{};
    /// Where the addresses of its inputs are in RunMemory::op_srcs.
    std::size_t op_src = 0;
    std::size_t dst = no_tensor, scratch = no_tensor;
    Shape dst_shape{};
    TensorRange dst_range{};
    std::size_t weights = no_tensor;
    Clamp clamp{};

    void run(RunMemory const& memory, std::size_t first, int images, ExecutorRef executor) const noexcept {
        const float** const srcs = memory.op_srcs + op_src;
        for (std::size_t i = 0; i < src.size(); ++i) srcs[i] = memory.at(src[i], first);
        op(layer, {.src = {srcs, src.size()},
                   .src_shape = src_shapes,
                   .dst = memory.at(dst, first),
                   .dst_shape = dst_shape,
                   .batch = images,
                   .first_image = memory.first_image + first,
                   .weights = memory.weights_if_any(weights),
                   .clamp = clamp,
                   .scratch = memory.begin_if_any(scratch),
                   .executor = executor,
                   .src_range = src_ranges,
                   .dst_range = dst_range});
    }
};

/// One of these steps, wherever it is kept.
struct ReadyStep {
    void (*run)(const void* step, RunMemory const&, std::size_t first, int images, ExecutorRef) noexcept = nullptr;
    const void* step = nullptr;
};
template <class Step>
[[nodiscard]] constexpr ReadyStep ready(Step const& step) {
    return {[](const void* at, RunMemory const& memory, std::size_t first, int images, ExecutorRef executor) noexcept {
                static_cast<Step const*>(at)->run(memory, first, images, executor);
            },
            &step};
}

/// All steps of a run. The first `single` take one image after another, from the first of them to the last; the others
/// take all images each.
struct ReadyRun {
    std::span<const ReadyStep> steps;
    /// Positions of the steps, in the order in which they run.
    std::span<const std::size_t> order;
    /// Where each part of the run that is computed by one worker begins in the order, and where the last one ends;
    /// empty where each step is shared by all workers.
    std::span<const std::size_t> lanes;
    std::size_t single = 0;
    std::size_t images = 1;
    RunMemory memory{};
    /// Where the tensors of each part of a batch lie, if each part is computed by one worker. `images` are those of a
    /// part then.
    std::span<const RunMemory> apart{};

    void run(ExecutorRef executor) const noexcept {
        const RunScope scope(executor);
        const FlushSubnormals flushing;
        if (apart.empty()) return run_from(0, executor);
        each_part(executor, [](ReadyRun const& part, ExecutorRef here) { part.run_from(0, here); });
    }

    /// Steps of a run that take one image, of all images.
    [[nodiscard]] std::size_t singles() const { return single * images; }
    /// The number of steps of a run. A step that takes one image counts once for each image.
    [[nodiscard]] std::size_t count() const { return steps.size() + single * (images - 1); }
    [[nodiscard]] std::size_t position(std::size_t step) const {
        return order[step < singles() ? step % single : step - singles() + single];
    }
    /// Returns the step from which on all images have gone through the first `ordered` of the ordered steps, and
    /// through all steps that take one image.
    [[nodiscard]] std::size_t first_whole_step(std::size_t ordered) const {
        return singles() + (ordered > single ? ordered - single : 0);
    }
    void run_from(std::size_t step, ExecutorRef executor) const noexcept {
        if (lanes.empty()) return run_steps(step, count(), executor);
        run_steps(step, lanes.front(), executor);
        executor.parallel_for(lanes.size() - 1, [this](std::size_t lane, std::size_t) {
            Sequential here;
            run_steps(lanes[lane], lanes[lane + 1], here);
        });
        run_steps(lanes.back(), count(), executor);
    }
    void run_steps(std::size_t first, std::size_t last, ExecutorRef executor) const noexcept {
        for (std::size_t step = first; step < last; ++step) run_step(step, executor);
    }
    /// Runs one step alone.
    void run_step(std::size_t step, ExecutorRef executor) const noexcept {
        if (!apart.empty()) {
            return each_part(executor, [step](ReadyRun const& part, ExecutorRef here) { part.run_step(step, here); });
        }
        Sequential here;
        if (!lanes.empty() && lanes.front() <= step && step < lanes.back()) executor = here;
        const bool one_image = step < singles();
        ReadyStep const& at = steps[position(step)];
        at.run(at.step, memory, one_image ? step / single : 0, one_image ? 1 : static_cast<int>(images), executor);
    }

private:
    template <class Part>
    void each_part(ExecutorRef executor, Part const& run_part) const noexcept {
        executor.parallel_for(apart.size(), [this, &run_part](std::size_t part, std::size_t) {
            Sequential here;
            ReadyRun own = *this;
            own.memory = apart[part], own.apart = {};
            run_part(own, here);
        });
    }
};

}  // namespace engine

}  // namespace primsel::inline PRIMSEL_ABI
