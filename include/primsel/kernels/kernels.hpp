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
#include <primsel/tensor/shape.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// A primitive compiled for one Arch, behind function pointers: what planning and execution know of it.
struct PrimitiveEntry {
    std::string_view id;
    Family family;
    /// Positions in the list of layouts.
    std::size_t in_layout, out_layout;
    Pass pass;
    bool whole_batch;
    bool fuses_epilogue, strided_output, by_rows;
    bool mixes_pixels;
    double error_bound;
    Support (*supports)(ConvShape const&);
    // Null where supports says no to every shape.
    /// images: that run is given at once, 1 unless whole_batch.
    std::size_t (*scratch_bytes)(ConvShape const&, std::size_t workers, int images) = nullptr;
    std::size_t (*packed_bytes)(ConvShape const&) = nullptr;
    void (*pack)(ConvShape const&, const float* kernel, float* dst) = nullptr;
    /// The same for weights that change, and for a turned kernel.
    void (*repack)(ConvShape const&, KernelView, float* dst, ExecutorRef) = nullptr;
    /// One image, unless whole_batch.
    void (*run)(ConvShape const&, ConvArgs const&) noexcept = nullptr;
    Work (*work)(ConvShape const&, int images) = nullptr;
};

/// An op compiled for one Arch and layout, behind function pointers. Null pointers: run where there is no such op (an
/// input, a constant, a convolution), not in this layout or not compiled, and pack where it has no weights.
struct OpEntry {
    bool in_place = false;
    double (*operations)(AnyLayer const&, std::span<const Shape>, Shape) = nullptr;
    void (*run)(AnyLayer const&, OpArgs const&) noexcept = nullptr;
    std::size_t (*packed_bytes)(AnyLayer const&, Shape) = nullptr;
    void (*pack)(AnyLayer const&, Shape, OpWeights const&, float*) = nullptr;
    /// The number of outputs that are packed independently of others, one part after the other; 0: only all together.
    std::size_t outputs_apart = 0;
    /// Bytes that an image moves; null, or 0: each input and the output once.
    double (*bytes)(AnyLayer const&, std::span<const Shape>) = nullptr;
    /// Bytes of OpArgs::scratch; null: none.
    std::size_t (*scratch_bytes)(AnyLayer const&, std::span<const Shape>, std::size_t workers) = nullptr;
};

/// One entry for each alternative of AnyLayer, in its order.
using OpTable = std::array<OpEntry, std::variant_size_v<AnyLayer>>;

/// A layout and what runs in it.
struct LayoutEntry {
    std::string_view name;
    std::size_t element_bytes;
    /// Elements of an image, padding included.
    std::size_t (*size)(Shape);
    OpTable const& (*ops)();
    /// Stores values that come in chw order.
    void (*from_chw)(Shape, const float* src, float* dst, ExecutorRef) noexcept;
    /// The pass after a convolution that fuses nothing; null in a layout of other elements than floats.
    void (*epilogue)(Shape, int batch, float* data, const float* bias, const float* residual, Clamp,
                     ExecutorRef) noexcept;

    /// is_dense of a strided layout; true of any other.
    bool (*dense)(Shape);

    [[nodiscard]] std::size_t image_bytes(Shape shape) const { return size(shape) * element_bytes; }
    /// Throws error where the ops could not go by the strides of a layer's result.
    void check_strides(Shape shape, std::string_view layer) const {
        if (!dense(shape)) {
            fail("plan: the strides of layout ", name, " leave gaps in ", shape, ", the result of layer ", layer,
                 ", or order its axes otherwise than those of 2x3x5; see docs/tensor/layout.md");
        }
    }
};

/// The change from one layout to another.
struct TransformEntry {
    void (*run)(Shape, const float* src, float* dst, ExecutorRef) noexcept;
    /// Whether both place every element of the shape alike, so that nothing need run.
    bool (*same_placement)(Shape);
    Work (*work)(Shape);
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

/// Everything that a plan may choose from, compiled for one Arch. Primitives, layouts and layout pairs are known by
/// their positions.
struct Kernels {
    std::span<const PrimitiveEntry> primitives;
    std::span<const LayoutEntry> layouts;
    std::span<const TransformEntry> transforms;
    std::string_view arch;
    /// The speeds of the machine with that Arch, measured at the first call.
    Machine const& (*machine)() = nullptr;

    /// The position of a primitive. Throws error, saying which there are, where there is none of that id.
    [[nodiscard]] std::size_t find(std::string_view id) const {
        if (const auto found = find_if_any(id)) return *found;
        kernels::detail::fail_to_find("primitive", id, primitives, &PrimitiveEntry::id);
    }
    [[nodiscard]] std::optional<std::size_t> find_if_any(std::string_view id) const {
        return kernels::detail::position_of(primitives, &PrimitiveEntry::id, id);
    }
    /// The position of a layout. Throws error, saying which there are, where there is none of that name.
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
    /// The op of a layer in a layout.
    [[nodiscard]] OpEntry const& op(AnyLayer const& layer, std::size_t layout) const {
        if (const auto* own = std::get_if<OwnLayerParams>(&layer)) return own->op(layouts[layout].name);
        return layouts[layout].ops()[layer.index()];
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
