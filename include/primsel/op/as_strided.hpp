#pragma once

#include <primsel/layer/reshape.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/walk.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

/// Copies rows of neighbours. If the input's neighbours lie along another axis than the last, the two axes are
/// transposed.
template <>
struct Op<AsStridedParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    [[nodiscard]] static OpCounts work(AsStridedParams const& params, std::span<const Shape> inputs, Shape output) {
        Axes axes;
        for (std::size_t i = 0; i < params.dims.rank(); ++i) {
            axes.add(static_cast<std::size_t>(params.dims[i]), {params.strides[i]});
        }
        const std::ptrdiff_t step = axes.row_step()[0];
        const std::size_t length = axes.row_floats();
        const auto size = static_cast<double>(output.size());
        // A cache line of the input has 16 floats.
        const double read = std::min(static_cast<double>(inputs[0].size()),
                                     size * static_cast<double>(std::clamp<std::ptrdiff_t>(step, 1, 16)));
        OpCounts counts = op::detail::row_counts<Arch>(axes.rows(), length, 1);
        counts.bytes = 4 * (size + read);
        if (step == 0 || step == 1) return counts;
        for (std::size_t axis = 0; step > 1 && axis + 1 < axes.rank(); ++axis) {
            if (axes.step(axis)[0] != 1) continue;
            const std::size_t columns = axes.extent(axis), matrices = output.size() / (length * columns);
            std::size_t dst_step = 1;
            for (std::size_t inner = axes.rank() - 1; inner > axis; --inner) dst_step *= axes.extent(inner);
            if ((columns == 2 && step == 2) || (length == 2 && dst_step == 2)) {
                counts = op::detail::row_counts<Arch>(matrices, length * columns, 1);
                counts.form = "pairs";
                return counts;
            }
            return transpose_counts(matrices, length, columns, dst_step, {"transposed", "aliased", "far"});
        }
        counts.form = "dealt";
        if (step == 2 || step == 3) return counts;
        counts.scalars = size, counts.operations = 0;
        counts.form = "scalar";
        return counts;
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(AsStridedParams const& params, OpArgs const& args) noexcept {
        Axes axes;
        axes.add(static_cast<std::size_t>(args.batch), {static_cast<std::ptrdiff_t>(args.src_shape[0].size())});
        for (std::size_t i = 0; i < params.dims.rank(); ++i) {
            axes.add(static_cast<std::size_t>(params.dims[i]), {params.strides[i]});
        }
        const float* src = args.src[0] + params.offset;
        const std::ptrdiff_t step = axes.row_step()[0];
        if (step > 1) {
            for (std::size_t axis = 0; axis + 1 < axes.rank(); ++axis) {
                if (axes.step(axis)[0] == 1) return transposed<Arch>(axes, axis, src, args.dst, args.executor);
            }
        }
        const std::size_t floats = axes.row_floats();
        axes.for_each_row(args.executor,
                          [=, dst = args.dst](std::size_t row, Axes::Offsets const& at, op::detail::Part part) {
                              const float* from = src + at[0];
                              float* to = dst + row * floats;
                              if (step == 1) return op::detail::copy_part<Arch>(from, to, floats, part);
                              const auto [first, last] = part.of(floats);
                              from += static_cast<std::ptrdiff_t>(first) * step;
                              copy_every<Arch>(from, step, to + first, last - first);
                          });
    }

private:
    static constexpr std::size_t max_rank = Dims::max_rank + 1;
    using Axes = op::detail::Walk<1, max_rank>;

    /// Copies floats that are `step` apart.
    template <class Arch>
    static PRIMSEL_INLINE void copy_every(const float* src, std::ptrdiff_t step, float* dst, std::size_t floats) {
        constexpr std::size_t width = lanes<Arch>;
        std::size_t i = 0;
        if (step == 0) return void(std::fill_n(dst, floats, *src));
        if (step == 2) {
            for (; i < floats; i += width) {
                // The last float that is read is the last one wanted: the tensor may end there.
                const std::size_t n = 2 * (floats - i) - 1;
                Floats<Arch> even = op::detail::load_up_to<Arch>(src + 2 * i, n);
                Floats<Arch> odd =
                    op::detail::load_up_to<Arch>(src + 2 * i + std::min(n, width), n - std::min(n, width));
                op::detail::split_even_odd<Arch>(even, odd);
                op::detail::store_up_to<Arch>(dst + i, even, floats - i);
            }
            return;
        }
        if (step == 3) {
            for (; i + width < floats; i += width) {
                Floats<Arch> phases[3];
                op::detail::deal<Arch>(src + 3 * i, phases);
                store<Arch>(dst + i, phases[0]);
            }
        }
        for (; i < floats; ++i) dst[i] = src[static_cast<std::ptrdiff_t>(i) * step];
    }
    /// Copies pairs to two rows.
    template <class Arch>
    static PRIMSEL_INLINE void separate_pairs(const float* src, float* even_row, float* odd_row, std::size_t pairs) {
        constexpr std::size_t width = lanes<Arch>;
        for (std::size_t i = 0; i < pairs; i += width) {
            const std::size_t n = 2 * (pairs - i), first = std::min(n, width);
            Floats<Arch> even = op::detail::load_up_to<Arch>(src + 2 * i, n);
            Floats<Arch> odd = op::detail::load_up_to<Arch>(src + 2 * i + first, n - first);
            op::detail::split_even_odd<Arch>(even, odd);
            op::detail::store_up_to<Arch>(even_row + i, even, pairs - i);
            op::detail::store_up_to<Arch>(odd_row + i, odd, pairs - i);
        }
    }
    /// Copies two rows to pairs.
    template <class Arch>
    static PRIMSEL_INLINE void join_pairs(const float* even_row, const float* odd_row, float* dst, std::size_t pairs) {
        constexpr std::size_t width = lanes<Arch>;
        for (std::size_t i = 0; i < pairs; i += width) {
            const std::size_t n = 2 * (pairs - i), first = std::min(n, width);
            Floats<Arch> even = op::detail::load_up_to<Arch>(even_row + i, pairs - i);
            Floats<Arch> odd = op::detail::load_up_to<Arch>(odd_row + i, pairs - i);
            op::detail::join_even_odd<Arch>(even, odd);
            op::detail::store_up_to<Arch>(dst + 2 * i, even, n);
            op::detail::store_up_to<Arch>(dst + 2 * i + first, odd, n - first);
        }
    }

    /// Transposes: the input's neighbours lie along axis `columns`, the result's along the last axis.
    template <class Arch>
    static void transposed(Axes const& axes, std::size_t columns, const float* src, float* dst,
                           ExecutorRef executor) noexcept {
        const std::size_t last = axes.rank() - 1, rows = axes.extent(last);
        std::array<std::size_t, max_rank> dst_step;
        dst_step[last] = 1;
        for (std::size_t axis = last; axis-- > 0;) dst_step[axis] = dst_step[axis + 1] * axes.extent(axis + 1);
        op::detail::Walk<2, max_rank> walk;
        const auto add = [&](std::size_t axis) {
            walk.add(axes.extent(axis), {axes.step(axis)[0], static_cast<std::ptrdiff_t>(dst_step[axis])});
        };
        for (std::size_t axis = 0; axis < last; ++axis) {
            if (axis != columns) add(axis);
        }
        add(columns);
        const std::size_t count = walk.row_floats(), src_step = static_cast<std::size_t>(axes.step(last)[0]);
        walk.for_each_row(
            executor,
            [=, step = dst_step[columns]](std::size_t, auto const& at, op::detail::Part part) {
                // Parts of fewer columns than a cache line would each read all of the input, so they divide the rows.
                const bool few = part.count > 1 && count < 16 * part.count;
                const auto [begin, end] = part.of(few ? rows : count);
                const std::size_t first = few ? begin : 0, some = few ? end - begin : rows;
                if (count == 2 && src_step == 2) {
                    float* const to = dst + at[1] + first;
                    return separate_pairs<Arch>(src + at[0] + 2 * first, to, to + step, some);
                }
                if (rows == 2 && step == 2 && !few) {
                    const float* const from = src + at[0] + begin;
                    return join_pairs<Arch>(from, from + src_step, dst + at[1] + 2 * begin, end - begin);
                }
                transpose_columns(src + at[0] + first * src_step, src_step, dst + at[1] + first, step, some,
                                  few ? 0 : begin, few ? count : end);
            },
            rows);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
