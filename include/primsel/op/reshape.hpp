#pragma once

#include <primsel/layer/reshape.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/transform.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// Flattens to a vector in chw order, whatever the layout of the image.
template <>
struct Op<FlattenParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(FlattenParams const&, std::span<const Shape> inputs, Shape) {
        const Shape in = inputs[0];
        if (same_placement<L, chw>(in)) return {.operations = static_cast<double>(in.size()), .form = "copy"};
        if constexpr (tensor::moves_rows<L, chw>) {
            return op::detail::row_counts<Arch>(static_cast<std::size_t>(in.c) * static_cast<std::size_t>(in.h),
                                                static_cast<std::size_t>(in.w), 1);
        }
        return transpose_counts(1, in.pixels(), static_cast<std::size_t>(in.c), in.pixels(), {"", "aliased", "far"});
    }

    template <class Arch, StridedLayout L>
    static void run(FlattenParams const&, OpArgs const& args) noexcept {
        const Shape shape = args.src_shape[0];
        for (std::size_t image = 0; image < static_cast<std::size_t>(args.batch); ++image) {
            const std::size_t at = image * shape.size();
            transform<L, chw>(shape, args.src[0] + at, args.dst + at, args.executor);
        }
    }
};

namespace op::detail {
/// Copies elements in their order; does nothing if the op runs in place.
template <class Arch>
void copy_all(OpArgs const& args) noexcept {
    const float* src = args.src[0];
    float* dst = args.dst;
    if (src == dst) return;
    const std::size_t floats = args.dst_shape.size() * static_cast<std::size_t>(args.batch);
    for_ranges(args.executor, floats, 1,
               [=](std::size_t first, std::size_t last) { copy_floats<Arch>(src + first, dst + first, last - first); });
}
}  // namespace op::detail

template <>
struct Op<ReshapeParams> {
    static constexpr bool in_place = true;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ReshapeParams const&, std::span<const Shape>, Shape) {
        return {};
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(ReshapeParams const&, OpArgs const& args) noexcept {
        op::detail::copy_all<Arch>(args);
    }
};

template <>
struct Op<DropoutParams> {
    static constexpr bool in_place = true;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(DropoutParams const&, std::span<const Shape>, Shape) {
        return {};
    }

    template <class Arch, StridedLayout L>
    static void run(DropoutParams const&, OpArgs const& args) noexcept {
        op::detail::copy_all<Arch>(args);
    }
};

template <>
struct Op<ChannelShuffleParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ChannelShuffleParams const& params, std::span<const Shape>, Shape output) {
        const auto [outer, count, inner] = op::detail::channel_view<L>(output, 1);
        if (inner == 1) {
            return {.scalars = static_cast<double>(output.size()),
                    .rows = static_cast<double>(outer * static_cast<std::size_t>(params.groups)),
                    .form = "scalar"};
        }
        return op::detail::row_counts<Arch>(outer * count, inner, 1);
    }

    template <class Arch, StridedLayout L>
    static void run(ChannelShuffleParams const& params, OpArgs const& args) noexcept {
        shuffle<Arch>(static_cast<std::size_t>(params.groups), op::detail::channel_view<L>(args.dst_shape, args.batch),
                      args);
    }

private:
    template <class Arch>
    static void shuffle(std::size_t groups, op::detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t inner = view.inner, row = view.count * inner, rest = view.count / groups;
        const float* src = args.src[0];
        float* dst = args.dst;
        op::detail::for_ranges(args.executor, view.outer * groups, rest * inner,
                               [=](std::size_t first, std::size_t last) {
                                   std::size_t at = first / groups * row, group = first % groups;
                                   for (std::size_t item = first; item < last; ++item) {
                                       const float* from = src + at + group * rest * inner;
                                       float* to = dst + at + group * inner;
                                       for (std::size_t i = 0; i < rest; ++i, from += inner, to += groups * inner) {
                                           if (inner == 1) {
                                               *to = *from;
                                           } else {
                                               op::detail::copy_floats<Arch>(from, to, inner);
                                           }
                                       }
                                       if (++group == groups) group = 0, at += row;
                                   }
                               });
    }
};

template <>
struct Op<SliceParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(SliceParams const& params, std::span<const Shape>, Shape output) {
        const auto [outer, count, inner] = op::detail::axis_view<L>(output, 1, params.axis);
        OpCounts counts = op::detail::row_counts<Arch>(outer, count * inner, 1);
        counts.bytes = 8.0 * static_cast<double>(output.size());  // of the input, the part that is taken
        return counts;
    }

    template <class Arch, StridedLayout L>
    static void run(SliceParams const& params, OpArgs const& args) noexcept {
        slice<Arch>(static_cast<std::size_t>(params.first), static_cast<std::size_t>(params.last - params.first),
                    op::detail::axis_view<L>(args.src_shape[0], args.batch, params.axis), args);
    }

private:
    template <class Arch>
    static void slice(std::size_t first, std::size_t count, op::detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t from = view.count * view.inner, to = count * view.inner;
        const float* src = args.src[0] + first * view.inner;
        float* dst = args.dst;
        op::detail::for_row_parts(args.executor, view.outer, to, [=](std::size_t row, op::detail::Part part) {
            op::detail::copy_part<Arch>(src + row * from, dst + row * to, to, part);
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
