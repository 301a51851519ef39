#pragma once

#include <primsel/layer/combine.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// Adds the inputs in their order.
template <>
struct Op<AddParams> {
    static constexpr bool in_place = true;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(AddParams const&, std::span<const Shape> inputs, Shape output) {
        return {.operations = static_cast<double>(inputs.size() - 1) * static_cast<double>(output.size())};
    }

    template <class Arch, StridedLayout L>
    static void run(AddParams const&, OpArgs const& args) noexcept {
        add<Arch>(args);
    }

private:
    template <class Arch>
    static void add(OpArgs const& args) noexcept {
        using V = Floats<Arch>;
        const std::size_t count = args.dst_shape.size() * static_cast<std::size_t>(args.batch);
        const float *first = args.src[0], *second = args.src[1];
        float* dst = args.dst;
        const V low(args.clamp.low), high(args.clamp.high);
        op::detail::for_elements<Arch>(
            args.executor, count, [=, rest = args.src.subspan(2)](std::size_t at, std::size_t n) {
                V sum = op::detail::load_up_to<Arch>(first + at, n) + op::detail::load_up_to<Arch>(second + at, n);
                for (const float* src : rest) sum += op::detail::load_up_to<Arch>(src + at, n);
                op::detail::store_up_to<Arch>(dst + at, clamp<Arch>(sum, low, high), n);
            });
    }
};

template <>
struct Op<ConcatParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ConcatParams const& params, std::span<const Shape> inputs, Shape output) {
        const auto [outer, count, inner] = op::detail::axis_view<L>(output, 1, params.axis);
        OpCounts counts;
        for (Shape const& shape : inputs) {
            const OpCounts of_one =
                op::detail::row_counts<Arch>(outer, static_cast<std::size_t>(extent(shape, params.axis)) * inner, 1);
            counts.operations += of_one.operations, counts.rows += of_one.rows;
        }
        if (is_short<Arch>(count * inner)) counts.form = "short";
        return counts;
    }

    template <class Arch, StridedLayout L>
    static void run(ConcatParams const& params, OpArgs const& args) noexcept {
        concat<Arch>(params.axis, op::detail::axis_view<L>(args.dst_shape, args.batch, params.axis), args);
    }

private:
    template <class Arch>
    static constexpr bool is_short(std::size_t row) {
        return row <= 4 * lanes<Arch>;
    }

    template <class Arch>
    static void concat(Axis axis, op::detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t row = view.count * view.inner;
        const auto floats_of = [&args, axis, view](std::size_t input) {
            return static_cast<std::size_t>(extent(args.src_shape[input], axis)) * view.inner;
        };
        // Takes short rows input by input, so that values common to all rows of an input are computed once.
        if (is_short<Arch>(row)) {
            op::detail::for_ranges(args.executor, view.outer, row, [&](std::size_t first, std::size_t last) {
                float* dst = args.dst + first * row;
                for (std::size_t input = 0; input < args.src.size(); ++input) {
                    const std::size_t floats = floats_of(input);
                    op::detail::copy_rows<Arch>(args.src[input] + first * floats, floats, dst, row, last - first);
                    dst += floats;
                }
            });
            return;
        }
        op::detail::for_row_parts(args.executor, view.outer, row, [&](std::size_t i, op::detail::Part part) {
            float* dst = args.dst + i * row;
            for (std::size_t input = 0; input < args.src.size(); ++input) {
                const std::size_t floats = floats_of(input);
                op::detail::copy_part<Arch>(args.src[input] + i * floats, dst, floats, part);
                dst += floats;
            }
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
