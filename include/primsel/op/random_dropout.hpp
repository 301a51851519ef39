#pragma once

#include <primsel/layer/training.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// Returns well-mixed bits: a bijection with little bias (Wellons, "Prospecting for Hash Functions", 2018: lowbias32).
[[nodiscard]] PRIMSEL_INLINE constexpr std::uint32_t scrambled(std::uint32_t bits) {
    bits ^= bits >> 16U;
    bits *= 0x7feb352dU;
    bits ^= bits >> 15U;
    bits *= 0x846ca68bU;
    return bits ^ bits >> 16U;
}

/// Random numbers for the elements of an image. Each element's number is independent of the order of computation.
struct ImageKey {
    std::uint32_t first, second;

    ImageKey(std::uint32_t seed0, std::uint32_t seed1, std::uint32_t stream, std::uint64_t image) {
        std::uint32_t key = 0x9e3779b9U;
        const auto low = static_cast<std::uint32_t>(image), high = static_cast<std::uint32_t>(image >> 32U);
        for (const std::uint32_t part : {seed0, seed1, stream, low, high}) key = scrambled(key ^ part) + 0x9e3779b9U;
        first = key, second = scrambled(~key);
    }
    [[nodiscard]] PRIMSEL_INLINE std::uint32_t operator()(std::uint32_t element) const {
        return scrambled(scrambled(element ^ first) + second);
    }
};

}  // namespace op::detail

/// Elements are numbered in chw order, modulo 2^32.
template <>
struct Op<RandomDropoutParams> {
    static constexpr bool in_place = true;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(RandomDropoutParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(20 * static_cast<double>(output.size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(RandomDropoutParams const& params, OpArgs const& args) noexcept {
        // Rows of contiguous elements whose numbers are `step` apart. An image in chw order is one row.
        const Shape shape = args.dst_shape;
        const Strides numbers = chw::strides(shape);
        if (L::strides(shape) == numbers) {
            return drop<Arch>(params, args, 1, shape.size(), 1, [](std::size_t) { return std::size_t{0}; });
        }
        const auto [outer, middle, inner] = axis_order<L>();
        const auto floats = static_cast<std::size_t>(extent(shape, inner));
        drop<Arch>(
            params, args, shape.size() / floats, floats, stride(numbers, inner),
            [count = static_cast<std::size_t>(extent(shape, middle)), around = stride(numbers, outer),
             step = stride(numbers, middle)](std::size_t row) { return row / count * around + row % count * step; });
    }

private:
    template <class Arch, class First>
    static void drop(RandomDropoutParams const& params, OpArgs const& args, std::size_t rows, std::size_t floats,
                     std::size_t step, First const& first_of) noexcept {
        const float *src = args.src[0], *seed = args.src[1];
        float* dst = args.dst;
        const auto seed0 = static_cast<std::uint32_t>(seed[0]), seed1 = static_cast<std::uint32_t>(seed[1]);
        const double bound = std::ldexp(static_cast<double>(params.rate), 32);
        const auto dropped = static_cast<std::uint32_t>(std::min(bound, 4294967295.0));
        const float kept = params.rate < 1.0F ? 1.0F / (1.0F - params.rate) : 0.0F;
        op::detail::for_row_parts(
            args.executor, static_cast<std::size_t>(args.batch) * rows, floats,
            [=, stream = params.stream, start = args.first_image](std::size_t row, op::detail::Part part) {
                const op::detail::ImageKey key(seed0, seed1, stream, start + row / rows);
                const auto number = static_cast<std::uint32_t>(first_of(row % rows));
                // Local copies, so that the compiler can vectorise.
                const std::uint32_t apart = static_cast<std::uint32_t>(step), limit = dropped;
                const float factor = kept;
                const std::size_t last = part.of(floats).last;
                for (std::size_t at = part.of(floats).first; at < last; at += some) {
                    alignas(64) float factors[some];
                    const std::uint32_t first = number + static_cast<std::uint32_t>(at) * apart;
                    for (std::uint32_t i = 0; i < some; ++i) {
                        factors[i] = key(first + i * apart) < limit ? 0.0F : factor;
                    }
                    const std::size_t n = std::min(last - at, std::size_t{some}), begin = row * floats + at;
                    for (std::size_t i = 0; i < n; i += lanes<Arch>) {
                        const auto x = op::detail::load_up_to<Arch>(src + begin + i, n - i);
                        op::detail::store_up_to<Arch>(dst + begin + i, x * load<Arch>(factors + i), n - i);
                    }
                }
            });
    }
    /// The number of elements for which numbers are drawn at once.
    static constexpr std::uint32_t some = 64;
};

}  // namespace primsel::inline PRIMSEL_ABI
