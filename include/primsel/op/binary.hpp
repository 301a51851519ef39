#pragma once

#include <primsel/layer/combine.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/detail/walk.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <array>
#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

/// Works by rows in which each input has contiguous elements or one element for the whole row. Equal shapes form one
/// row. If the other input has one element for each channel, each channel is a row.
template <>
struct Op<BinaryParams> {
    static constexpr bool in_place = true;

    /// A call of the C library takes about as long as 12 scalar operations.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(BinaryParams const& params, std::span<const Shape> inputs, Shape output) {
        const bool is_scalar = params.kind == BinaryKind::power || params.kind == BinaryKind::modulo ||
                               params.kind == BinaryKind::remainder;
        const op::detail::AxisView image = op::detail::channel_view<L>(output, 1);
        OpCounts counts;
        if (!is_scalar && takes_few_channels<Arch>(params.kind, image, inputs[0], inputs[1], output) != nothing) {
            counts = op::detail::channel_counts<Arch>(image, 1);
        } else {
            const Axes of =
                axes(1, inputs[0], inputs[1], output, axis_order<L>(), L::strides(inputs[0]), L::strides(inputs[1]));
            counts = op::detail::row_counts<Arch>(of.rows(), of.row_floats(), 1);
        }
        if (is_scalar) counts.operations = 0, counts.scalars = 12 * static_cast<double>(output.size());
        return counts;
    }

    template <class Arch, StridedLayout L>
    static void run(BinaryParams const& params, OpArgs const& args) noexcept {
        binary<Arch>(params.kind, args,
                     axes(args.batch, args.src_shape[0], args.src_shape[1], args.dst_shape, axis_order<L>(),
                          L::strides(args.src_shape[0]), L::strides(args.src_shape[1])),
                     op::detail::channel_view<L>(args.dst_shape, 1));
    }

private:
    template <class Params, class L>
    friend struct OpIn;
    using Axes = op::detail::Walk<2, 4>;

    static Axes axes(int batch, Shape of_a, Shape of_b, Shape output, std::array<Axis, 3> const& order,
                     Strides const& a, Strides const& b) {
        Axes result;
        const auto add = [&result](int extent, std::size_t a_step, std::size_t b_step) {
            result.add(static_cast<std::size_t>(extent),
                       {static_cast<std::ptrdiff_t>(a_step), static_cast<std::ptrdiff_t>(b_step)});
        };
        add(batch, of_a.size(), of_b.size());
        for (const Axis axis : order) {
            const auto step = [axis](Shape const& shape, Strides const& strides) {
                return extent(shape, axis) == 1 ? 0 : stride(strides, axis);
            };
            add(extent(output, axis), step(of_a, a), step(of_b, b));
        }
        return result;
    }

    template <class Arch>
    static void binary(BinaryKind kind, OpArgs const& args, Axes const& axes, op::detail::AxisView image) noexcept {
        const op::detail::FloatElements<Arch> floats{};
        with_function<Arch>(
            kind, [&](auto const& f) { any<Arch>(kind, args, axes, image, f); },
            [&](auto const& f) { rows(floats, args, axes, f); });
    }

    /// Calls frequent(f) or rare(f) with the function of two vectors.
    template <class Arch, class Frequent, class Rare>
    static void with_function(BinaryKind kind, Frequent const& frequent, Rare const& rare) noexcept {
        using V = Floats<Arch>;
        switch (kind) {
            case BinaryKind::add:
                return frequent([](V const& a, V const& b) { return a + b; });
            case BinaryKind::subtract:
                return frequent([](V const& a, V const& b) { return a - b; });
            case BinaryKind::multiply:
                return frequent([](V const& a, V const& b) { return a * b; });
            case BinaryKind::divide:
                return frequent([](V const& a, V const& b) { return quotient<Arch>(a, b); });
            case BinaryKind::prelu:
                return frequent([](V const& a, V const& b) { return xsimd::select(a >= V(0.0F), a, a * b); });
            case BinaryKind::minimum:
                return rare([](V const& a, V const& b) { return -op::detail::max_or_nan<Arch>(-a, -b); });
            case BinaryKind::maximum:
                return rare([](V const& a, V const& b) { return op::detail::max_or_nan<Arch>(a, b); });
            case BinaryKind::equal:
                return rare([](V const& a, V const& b) { return truth<Arch>(a == b); });
            case BinaryKind::greater:
                return rare([](V const& a, V const& b) { return truth<Arch>(a > b); });
            case BinaryKind::greater_or_equal:
                return rare([](V const& a, V const& b) { return truth<Arch>(a >= b); });
            case BinaryKind::keep:
                return rare([](V const& a, V const& b) { return xsimd::select(a == V(0.0F), V(0.0F), b); });
            case BinaryKind::power:
            case BinaryKind::modulo:
            case BinaryKind::remainder:
                return rare([function = scalar(kind)](V const& a, V const& b) {
                    return op::detail::lane_by_lane<Arch>(a, b, function);
                });
        }
    }

    template <class Arch, class Mask>
    static Floats<Arch> truth(Mask const& mask) {
        return xsimd::select(mask, Floats<Arch>(1.0F), Floats<Arch>(0.0F));
    }

    using Scalar = float (*)(float, float);
    static Scalar scalar(BinaryKind kind) noexcept {
        if (kind == BinaryKind::power) return [](float a, float b) { return std::pow(a, b); };
        if (kind == BinaryKind::remainder) return [](float a, float b) { return std::fmod(a, b); };
        return [](float a, float b) {
            const float rest = std::fmod(a, b);
            return rest != 0.0F && (rest < 0.0F) != (b < 0.0F) ? rest + b : rest;
        };
    }

    template <class Arch, class F>
    static void any(BinaryKind kind, OpArgs const& args, Axes const& axes, op::detail::AxisView image,
                    F const& f) noexcept {
        const FewChannels of =
            takes_few_channels<Arch>(kind, image, args.src_shape[0], args.src_shape[1], args.dst_shape);
        if (of == second) {
            few_channels<Arch>(args, image, args.src[0], args.src[1], f);
        } else if (of == first) {
            few_channels<Arch>(args, image, args.src[1], args.src[0], f);
        } else {
            rows(op::detail::FloatElements<Arch>{}, args, axes, f);
        }
    }

    /// The input that has one element for each of few contiguous channels.
    enum FewChannels { nothing, first, second };
    template <class Arch>
    static FewChannels takes_few_channels(BinaryKind kind, op::detail::AxisView image, Shape a, Shape b,
                                          Shape output) noexcept {
        const bool commutes = kind == BinaryKind::add || kind == BinaryKind::multiply,
                   any = commutes || kind == BinaryKind::subtract || kind == BinaryKind::divide ||
                         kind == BinaryKind::prelu;
        const Shape of_channels{output.c, 1, 1};
        const bool few = image.inner == 1 && image.count > 1 && image.count < 32 && image.outer >= lanes<Arch>;
        if (!few || !any) return nothing;
        if (a == output && b == of_channels) return second;
        return commutes && b == output && a == of_channels ? first : nothing;
    }

    /// One element for each channel, where the channels of a pixel are contiguous but too few to be a row each.
    template <class Arch, class F>
    static void few_channels(OpArgs const& args, op::detail::AxisView image, const float* src, const float* of_channels,
                             F const& f) noexcept {
        float* dst = args.dst;
        for (int n = 0; n < args.batch; ++n) {
            op::detail::for_channel_elements<Arch, 1>(
                args.executor, image, of_channels,
                [=](std::size_t at, std::size_t count, const Floats<Arch>* of_channel) {
                    op::detail::store_up_to<Arch>(dst + at,
                                                  f(op::detail::load_up_to<Arch>(src + at, count), *of_channel), count);
                });
            src += args.dst_shape.size(), dst += args.dst_shape.size(), of_channels += image.count;
        }
    }

    template <class Elements, class F, class Element = typename Elements::element>
    static void rows(Elements const& all, OpArgs const& args, Axes const& axes, F const& f) noexcept {
        const std::size_t length = axes.row_floats();
        const bool one_a = axes.row_step()[0] == 0, one_b = axes.row_step()[1] == 0;
        const auto *src_a = reinterpret_cast<const Element*>(args.src[0]),
                   *src_b = reinterpret_cast<const Element*>(args.src[1]);
        axes.for_each_row(args.executor, [=, dst = reinterpret_cast<Element*>(args.dst)](
                                             std::size_t row, Axes::Offsets const& at, op::detail::Part part) {
            const Elements elements = all;  // a local copy stays in registers, although dst might alias it
            const std::size_t first = part.of(length).first, n = part.of(length).last - first;
            const Element* a = src_a + at[0] + (one_a ? 0 : first);
            const Element* b = src_b + at[1] + (one_b ? 0 : first);
            Element* to = dst + row * length + first;
            if (one_a) {
                const auto one = elements.broadcast(0, a);
                op::detail::store_row(elements, to, n, [&](std::size_t i, std::size_t count) {
                    return f(one, elements.load(1, b + i, count));
                });
            } else if (one_b) {
                const auto one = elements.broadcast(1, b);
                op::detail::store_row(elements, to, n, [&](std::size_t i, std::size_t count) {
                    return f(elements.load(0, a + i, count), one);
                });
            } else {
                op::detail::store_row(elements, to, n, [&](std::size_t i, std::size_t count) {
                    return f(elements.load(0, a + i, count), elements.load(1, b + i, count));
                });
            }
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
