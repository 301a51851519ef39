#pragma once

#include <primsel/layer/reshape.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/rows.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/transform.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// A vector in chw order, whatever the layout of the image.
template <>
struct Op<FlattenParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(FlattenParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(FlattenParams const&, OpArgs const& args) noexcept {
        const Shape shape = args.src_shape[0];
        for (std::size_t image = 0; image < static_cast<std::size_t>(args.batch); ++image) {
            const std::size_t at = image * shape.size();
            transform<L, chw>(shape, args.src[0] + at, args.dst + at, args.executor);
        }
    }
};

/// Does nothing in place.
template <>
struct Op<DropoutParams> {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(DropoutParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(DropoutParams const&, OpArgs const& args) noexcept {
        copy<Arch>(args);
    }

private:
    template <class Arch>
    static void copy(OpArgs const& args) noexcept {
        const float* src = args.src[0];
        float* dst = args.dst;
        if (src == dst) return;
        const std::size_t floats = args.dst_shape.size() * static_cast<std::size_t>(args.batch);
        detail::for_ranges(args.executor, floats, 1, [=](std::size_t first, std::size_t last) {
            detail::copy_floats<Arch>(src + first, dst + first, last - first);
        });
    }
};

template <>
struct Op<PadParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(PadParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(PadParams const& params, OpArgs const& args) noexcept {
        pad<Arch>(params, args, L::strides(args.src_shape[0]), L::strides(args.dst_shape));
    }

private:
    template <class Arch>
    static void pad(PadParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        const std::size_t floats = static_cast<std::size_t>(in.w) * from.w;
        const std::size_t before = static_cast<std::size_t>(params.padding.left) * to.w;
        detail::for_rows(args.executor, args.batch, out, to, [&, from, to](detail::RowRange const& range) {
            for (int i = 0; i < range.count; ++i) {
                const auto c = static_cast<std::size_t>(range[i].c), h = static_cast<std::size_t>(range[i].h);
                float* dst = args.dst + range.image * out.size() + c * to.c + h * to.h;
                float* const end = dst + static_cast<std::size_t>(out.w) * to.w;
                const int row = range[i].h - params.padding.top;
                if (row >= 0 && row < in.h) {
                    const float* src = args.src[0] + range.image * in.size() + c * from.c;
                    dst = std::fill_n(dst, before, params.value);
                    detail::copy_floats<Arch>(src + static_cast<std::size_t>(row) * from.h, dst, floats);
                    dst += floats;
                }
                std::fill(dst, end, params.value);
            }
        });
    }
};

template <>
struct Op<ChannelShuffleParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ChannelShuffleParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(ChannelShuffleParams const& params, OpArgs const& args) noexcept {
        shuffle<Arch>(static_cast<std::size_t>(params.groups), detail::channel_view<L>(args.dst_shape, args.batch),
                      args);
    }

private:
    template <class Arch>
    static void shuffle(std::size_t groups, detail::ChannelView view, OpArgs const& args) noexcept {
        const std::size_t inner = view.inner, row = view.c * inner, rest = view.c / groups;
        const float* src = args.src[0];
        float* dst = args.dst;
        detail::for_ranges(args.executor, view.outer * groups, rest * inner, [=](std::size_t first, std::size_t last) {
            std::size_t at = first / groups * row, group = first % groups;
            for (std::size_t item = first; item < last; ++item) {
                const float* from = src + at + group * rest * inner;
                float* to = dst + at + group * inner;
                for (std::size_t i = 0; i < rest; ++i, from += inner, to += groups * inner) {
                    if (inner == 1) {
                        *to = *from;
                    } else {
                        detail::copy_floats<Arch>(from, to, inner);
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

    [[nodiscard]] static double operations(SliceParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(SliceParams const& params, OpArgs const& args) noexcept {
        slice<Arch>(static_cast<std::size_t>(params.first), detail::channel_view<L>(args.src_shape[0], args.batch),
                    args);
    }

private:
    template <class Arch>
    static void slice(std::size_t first, detail::ChannelView view, OpArgs const& args) noexcept {
        const std::size_t from = view.c * view.inner, to = static_cast<std::size_t>(args.dst_shape.c) * view.inner;
        const float* src = args.src[0] + first * view.inner;
        float* dst = args.dst;
        detail::for_row_parts(args.executor, view.outer, to, [=](std::size_t row, detail::Part part) {
            detail::copy_part<Arch>(src + row * from, dst + row * to, to, part);
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
