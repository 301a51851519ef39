#pragma once

#include <primsel/layer/gradient.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/pool_gradient.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Gradients of overlapping windows are added in the windows' order, row by row.
template <>
struct Op<PoolGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(PoolGradientParams const& params, std::span<const Shape> inputs, Shape output) {
        const PoolParams& pool = params.pool;
        const double each = pool.kind == PoolKind::max ? 3 : 1;
        return op::element_counts<L>(each * pool.window.h * pool.window.w * static_cast<double>(inputs.back().size()),
                                     inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(PoolGradientParams const& params, OpArgs const& args) noexcept {
        const Strides in = L::strides(params.input), out = L::strides(args.src_shape.back());
        if (params.pool.kind == PoolKind::max) {
            gradient<Arch, true>(params.pool, args, in, out);
        } else {
            gradient<Arch, false>(params.pool, args, in, out);
        }
    }

private:
    template <class Arch, bool max>
    static void gradient(PoolParams const& pool, OpArgs const& args, Strides in, Strides out) noexcept {
        const Shape input = args.dst_shape, output = args.src_shape.back();
        const float *x = max ? args.src[0] : nullptr, *y = max ? args.src[1] : nullptr, *dy = args.src.back();
        float* dx = args.dst;
        const op::detail::PoolPlane all{
            .x = x,
            .y = y,
            .dy = dy,
            .dx = dx,
            .in_row = in.h,
            .in_pixel = in.w,
            .out_row = out.h,
            .out_pixel = out.w,
            .out_h = output.h,
            .out_w = output.w,
            .down = {input.h, pool.window.h, pool.stride.h, pool.dilation.h, pool.padding.top, pool.padding.bottom},
            .across = {input.w, pool.window.w, pool.stride.w, pool.dilation.w, pool.padding.left, pool.padding.right},
            .count_pad = pool.count_include_pad};
        const auto channels = static_cast<std::size_t>(input.c), images = static_cast<std::size_t>(args.batch);
        const bool columns = in.w == 1 && out.w == 1, neighbours = !columns && in.c == 1 && out.c == 1;
        const std::size_t together = neighbours ? 128 : 1;  // channels: their rows stay in L2
        const std::size_t groups = (channels + together - 1) / together;
        op::detail::for_ranges(
            args.executor, images * groups, together * input.pixels(), [=](std::size_t first, std::size_t last) {
                for (std::size_t item = first; item < last; ++item) {
                    const std::size_t image = item / groups, c = item % groups * together;
                    const std::size_t from = image * input.size() + c * in.c, to = image * output.size() + c * out.c;
                    op::detail::PoolPlane plane = all;
                    if constexpr (max) plane.x += from, plane.y += to;
                    plane.dx += from, plane.dy += to;
                    if (!columns) {
                        op::detail::pool_gradient_pixels<Arch, max>(plane, std::min(together, channels - c));
                    } else if (plane.across.step == 1) {
                        op::detail::pool_gradient_columns<Arch, max, 1>(plane);
                    } else if (plane.across.step == 2) {
                        op::detail::pool_gradient_columns<Arch, max, 2>(plane);
                    } else {
                        op::detail::pool_gradient_columns<Arch, max, 0>(plane);
                    }
                }
            });
    }
};

template <>
struct Op<GlobalPoolGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(GlobalPoolGradientParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(static_cast<double>(output.size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(GlobalPoolGradientParams const& params, OpArgs const& args) noexcept {
        if (params.kind == PoolKind::average) {
            average<Arch>(op::detail::channel_view<L>(args.dst_shape, 1), args);
        } else {
            maximum<Arch>(L::strides(args.dst_shape), args);
        }
    }

private:
    template <class Arch>
    static void average(op::detail::AxisView image, OpArgs const& args) noexcept {
        using V = Floats<Arch>;
        const V share(1.0F / static_cast<float>(image.outer * image.inner));
        for (std::size_t n = 0; n < static_cast<std::size_t>(args.batch); ++n) {
            op::detail::for_channel_elements<Arch, 1>(args.executor, image, args.src[0] + n * image.count,
                                                      [share, dst = args.dst + n * args.dst_shape.size()](
                                                          std::size_t at, std::size_t count, const V* of_channel) {
                                                          op::detail::store_up_to<Arch>(dst + at, *of_channel * share,
                                                                                        count);
                                                      });
        }
    }

    /// Gives the gradient to the first maximum, row by row; to the first element if the maximum is NaN.
    template <class Arch>
    static void maximum(Strides strides, OpArgs const& args) noexcept {
        const Shape shape = args.dst_shape;
        const auto channels = static_cast<std::size_t>(shape.c), images = static_cast<std::size_t>(args.batch);
        const bool columns = strides.w == 1;
        const bool by_pixel = !columns && strides == hwc::strides(shape);
        const std::size_t together = by_pixel ? 32 : 1, groups = (channels + together - 1) / together;
        const float *x = args.src[0], *y = args.src[1], *dy = args.src[2];
        float* dx = args.dst;
        op::detail::for_ranges(
            args.executor, images * groups, together * shape.pixels(), [=](std::size_t first, std::size_t last) {
                for (std::size_t item = first; item < last; ++item) {
                    const std::size_t image = item / groups, c = item % groups * together, n = image * channels + c;
                    const std::size_t from = image * shape.size() + c * strides.c;
                    if (columns) {
                        one_channel(shape, strides.h, x + from, y[n], dy[n], dx + from);
                    } else if (by_pixel) {
                        pixels<Arch>(shape.pixels(), channels, std::min(together, channels - c), x + from, y + n,
                                     dy + n, dx + from);
                    } else {
                        one_channel_anywhere(shape, strides, x + from, y[n], dy[n], dx + from);
                    }
                }
            });
    }
    /// Handles one channel, whose columns are contiguous.
    static void one_channel(Shape shape, std::size_t row, const float* x, float y, float dy, float* dx) noexcept {
        bool found = false;
        for (std::size_t h = 0; h < static_cast<std::size_t>(shape.h); ++h, x += row, dx += row) {
            std::fill_n(dx, shape.w, 0.0F);
            if (found) continue;
            const float* at = std::find_if(x, x + shape.w, [y](float value) { return !(value < y); });
            found = at != x + shape.w;
            if (found) dx[at - x] = dy;
        }
    }
    static void one_channel_anywhere(Shape shape, Strides strides, const float* x, float y, float dy,
                                     float* dx) noexcept {
        for (std::size_t h = 0; h < static_cast<std::size_t>(shape.h); ++h) {
            for (std::size_t w = 0; w < static_cast<std::size_t>(shape.w); ++w) {
                const std::size_t at = h * strides.h + w * strides.w;
                const bool less = x[at] < y;
                dx[at] = less ? 0.0F : dy;
                if (!less) dy = 0;
            }
        }
    }
    /// Handles up to a group of contiguous channels.
    template <class Arch>
    static void pixels(std::size_t count, std::size_t pixel, std::size_t channels, const float* x, const float* y,
                       const float* dy, float* dx) noexcept {
        using V = Floats<Arch>;
        for (std::size_t c = 0; c < channels; c += lanes<Arch>) {
            const std::size_t n = channels - c;
            const V largest = op::detail::load_up_to<Arch>(y + c, n);
            V left = op::detail::load_up_to<Arch>(dy + c, n);
            for (std::size_t i = 0; i < count; ++i) {
                const auto less = op::detail::load_up_to<Arch>(x + i * pixel + c, n) < largest;
                op::detail::store_up_to<Arch>(dx + i * pixel + c, xsimd::select(less, V(0.0F), left), n);
                left = xsimd::select(less, left, V(0.0F));
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
