#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/work.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/op/op_args.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/kernel_view.hpp>
#include <primsel/tensor/range.hpp>
#include <primsel/tensor/shape.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// A primitive compiled for one Arch, behind function pointers, as planning and execution use it.
struct PrimitiveEntry {
    std::string_view id;
    Family family;
    /// The positions of its layouts in the list of layouts.
    std::size_t in_layout, out_layout;
    Pass pass;
    bool whole_batch;
    bool fuses_epilogue, bounds_summand, strided_output, by_rows;
    bool packs_for_any_size;
    bool mixes_pixels;
    Precision precision;
    double error_bound;
    Support (*supports)(ConvShape const&);
    // Null if supports refuses every shape.
    /// Returns the bytes of scratch; `images` is the number that run is given at once, 1 unless whole_batch.
    std::size_t (*scratch_bytes)(ConvShape const&, std::size_t workers, int images) = nullptr;
    std::size_t (*packed_bytes)(ConvShape const&) = nullptr;
    void (*pack)(ConvShape const&, const float* kernel, float* dst) = nullptr;
    /// Packs trainable weights, or a rotated kernel.
    void (*repack)(ConvShape const&, KernelView, float* dst, ExecutorRef) = nullptr;
    /// Computes one image, or all images if whole_batch.
    void (*run)(ConvShape const&, ConvArgs const&) noexcept = nullptr;
    /// Returns the work of a run on so many threads.
    Work (*work)(ConvShape const&, int images, int threads) = nullptr;
};

/// An op compiled for one Arch and layout, behind function pointers. run is null if the layer has no op (an input, a
/// constant, a convolution), if the op does not run in this layout, or if it is not compiled. pack is null if the op
/// has no weights.
struct OpEntry {
    bool in_place = false;
    /// Returns the work for one image; null if run is.
    OpCounts (*work)(AnyLayer const&, std::span<const Shape>, Shape) = nullptr;
    void (*run)(AnyLayer const&, OpArgs const&) noexcept = nullptr;
    std::size_t (*packed_bytes)(AnyLayer const&, Shape) = nullptr;
    void (*pack)(AnyLayer const&, Shape, OpWeights const&, float*) = nullptr;
    /// Returns a shape that is equal for inputs for which pack writes the same; null: the input's own.
    Shape (*packed_for)(AnyLayer const&, Shape) = nullptr;
    /// The number of outputs that form a part of the packed weights independent of the others; 0 if there are no such
    /// parts.
    std::size_t outputs_apart = 0;
    /// Bytes of OpArgs::scratch; null: none.
    std::size_t (*scratch_bytes)(AnyLayer const&, std::span<const Shape>, std::size_t workers) = nullptr;
    /// The name in a plan of an op of which the weights or products alone have elements like the layout's, and the
    /// layout of its inputs and result. Empty for other ops.
    std::string_view id{}, tensors{};
    Precision precision = Precision::float32;
    double error_bound = 0;

    /// Whether products alone are of bytes: it rounds its inputs, whose ranges must be known.
    [[nodiscard]] constexpr bool rounds_inputs() const {
        return !tensors.empty() && pack == nullptr && precision == Precision::int8;
    }
};

/// One entry for each alternative of AnyLayer, in its order.
using OpTable = std::array<OpEntry, std::variant_size_v<AnyLayer>>;

/// A layout and the ops that run in it.
struct LayoutEntry {
    std::string_view name;
    std::size_t element_bytes;
    /// Returns the number of elements of an image, padding included.
    std::size_t (*size)(Shape);
    OpTable const& (*ops)();
    /// Stores values that are given in chw order.
    void (*from_chw)(Shape, const float* src, float* dst, ExecutorRef, TensorRange const&) noexcept;
    /// The pass after a convolution that fuses nothing; null in a layout whose elements are not floats.
    void (*epilogue)(Shape, int batch, float* data, const float* bias, const float* residual, Clamp summand, Clamp,
                     ExecutorRef) noexcept;

    /// is_dense of a strided layout; true for other layouts.
    bool (*dense)(Shape);
    /// Whether only tensors of known ranges may be in this layout.
    bool needs_range = false;
    /// The type that PlanOptions::precision must allow.
    Precision precision = Precision::float32;

    [[nodiscard]] std::size_t image_bytes(Shape shape) const { return size(shape) * element_bytes; }
    /// Throws error if a layer's result is not dense in this layout, on which the ops rely.
    void check_strides(Shape shape, std::string_view layer) const {
        if (!dense(shape)) {
            fail("plan: the strides of layout ", name, " leave gaps in ", shape, ", the result of layer ", layer,
                 ", or order its axes otherwise than those of 2x3x5; see docs/tensor/layout.md");
        }
    }
};

/// A transform from one layout to another.
struct TransformEntry {
    /// The range is the tensor's, for layouts that need it.
    void (*run)(Shape, const float* src, float* dst, ExecutorRef, TensorRange const&) noexcept;
    /// Returns whether both layouts place every element of the shape alike, so that no transform need run.
    bool (*same_placement)(Shape);
    OpCounts (*work)(Shape);
};

namespace kernels::detail {
template <class Entry>
[[nodiscard]] std::optional<std::size_t> position_of(std::span<const Entry> entries, std::string_view Entry::*key,
                                                     std::string_view wanted) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].*key == wanted) return i;
    }
    return std::nullopt;
}
template <class Entry>
[[noreturn]] void fail_to_find(std::string_view what, std::string_view wanted, std::span<const Entry> entries,
                               std::string_view Entry::*key) {
    std::string known;
    for (Entry const& entry : entries) known += (known.empty() ? "" : ", ") + std::string(entry.*key);
    fail("kernels: no ", what, " is named ", wanted, "; there are ", known);
}
}  // namespace kernels::detail

/// All that a plan may choose from, compiled for one Arch. Primitives, layouts and pairs of layouts are identified by
/// their positions.
struct Kernels {
    std::span<const PrimitiveEntry> primitives;
    std::span<const LayoutEntry> layouts;
    std::span<const TransformEntry> transforms;
    std::string_view arch;
    /// Returns the speeds of the machine with that Arch for a run on so many threads, measured at the first call: those
    /// of several threads together at the first that names several.
    Machine const& (*machine)(int threads) = nullptr;

    /// Returns the position of a primitive. Throws error, listing the ids, if there is none of that id.
    [[nodiscard]] std::size_t find(std::string_view id) const {
        if (const auto found = find_if_any(id)) return *found;
        kernels::detail::fail_to_find("primitive", id, primitives, &PrimitiveEntry::id);
    }
    [[nodiscard]] std::optional<std::size_t> find_if_any(std::string_view id) const {
        return kernels::detail::position_of(primitives, &PrimitiveEntry::id, id);
    }
    /// Returns the position of a layout. Throws error, listing the names, if there is none of that name.
    [[nodiscard]] std::size_t find_layout(std::string_view name) const {
        if (const auto found = find_layout_if_any(name)) return *found;
        kernels::detail::fail_to_find("layout", name, layouts, &LayoutEntry::name);
    }
    [[nodiscard]] std::optional<std::size_t> find_layout_if_any(std::string_view name) const {
        return kernels::detail::position_of(layouts, &LayoutEntry::name, name);
    }

    [[nodiscard]] TransformEntry const& transform(std::size_t from, std::size_t to) const {
        return transforms[from * layouts.size() + to];
    }
    [[nodiscard]] bool same_placement(Shape shape, std::size_t from, std::size_t to) const {
        return transform(from, to).same_placement(shape);
    }
    /// Returns the op of a layer in a layout.
    [[nodiscard]] OpEntry const& op(AnyLayer const& layer, std::size_t layout) const {
        if (const auto* own = std::get_if<OwnLayerParams>(&layer)) return own->op(layouts[layout].name);
        return layouts[layout].ops()[layer.index()];
    }
    /// Returns the layout of the inputs and the result of the op of a layer in a layout.
    [[nodiscard]] std::optional<std::size_t> op_tensors(AnyLayer const& layer, std::size_t layout) const {
        std::string_view const& tensors = op(layer, layout).tensors;
        return tensors.empty() ? layout : find_layout_if_any(tensors);
    }
    /// Returns the layout of the op that a plan calls `id`, with tensors in the layout given.
    [[nodiscard]] std::optional<std::size_t> find_op(AnyLayer const& layer, std::string_view id,
                                                     std::size_t tensors) const {
        for (std::size_t layout = 0; layout < layouts.size(); ++layout) {
            if (op(layer, layout).id == id && op_tensors(layer, layout) == tensors) return layout;
        }
        return std::nullopt;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
