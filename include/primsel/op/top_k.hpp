#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI {

/// Collects the elements that are better than the k-th best so far, and drops the rest whenever its room is full.
template <>
struct Op<TopKParams> {
    static constexpr bool in_place = false;

    /// Every element is compared with the k-th best. In a random order, about k * ln(n / k) of n elements are better;
    /// these are collected, and the best of them sorted in steps of log2(k) levels.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(TopKParams const& params, std::span<const Shape> inputs, Shape) {
        const auto length = static_cast<std::size_t>(inputs[0].w), rows = inputs[0].size() / length;
        const double k = params.k, collected = k * (2 + std::log(static_cast<double>(length) / k));
        OpCounts counts = op::detail::row_counts<Arch>(rows, length, 1);
        counts.scalars = static_cast<double>(rows) * (8 * collected + 4 * k * std::log2(k + 1));
        return counts;
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(TopKParams const& params, std::span<const Shape>,
                                                    std::size_t workers) {
        return workers * worker_floats(params);
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(TopKParams const& params, OpArgs const& args) noexcept {
        const auto row = static_cast<std::size_t>(args.src_shape[0].w), k = static_cast<std::size_t>(params.k);
        const std::size_t rows = static_cast<std::size_t>(args.batch) * args.src_shape[0].size() / row;
        op::detail::for_ranges(
            args.executor, rows, row,
            [&params, &args, row, k](std::size_t first, std::size_t last, std::size_t worker) {
                Key* const keys = reinterpret_cast<Key*>(args.scratch + worker * worker_floats(params));
                for (std::size_t i = first; i < last; ++i) {
                    const float* const src = args.src[0] + i * row;
                    float* const dst = args.dst + i * k;
                    params.largest ? best<Arch, true>(src, row, k, keys) : best<Arch, false>(src, row, k, keys);
                    for (std::size_t j = 0; j < k; ++j) {
                        // A position is exact as a float up to 2^24.
                        const std::uint32_t at = position(keys[j]);
                        dst[j] = params.positions ? static_cast<float>(at) : src[at];
                    }
                }
            });
    }

private:
    /// An element as a number that is larger the better the element is: its value as an integer, then its position from
    /// the end. NaN is the least.
    using Key = std::uint64_t;

    template <bool largest>
    [[nodiscard]] static Key key(const float* src, std::size_t i) noexcept {
        const auto bits = std::bit_cast<std::uint32_t>(src[i] + 0.0F);  // -0 is 0
        const std::uint32_t ascending = bits ^ (bits >> 31 != 0 ? 0xffffffffU : 0x80000000U), value = is_nan(src[i]) ? 0
                                                                                                      : largest
                                                                                                          ? ascending
                                                                                                          : ~ascending;
        return Key{value} << 32 | ~static_cast<std::uint32_t>(i);
    }
    [[nodiscard]] static std::uint32_t position(Key key) noexcept { return ~static_cast<std::uint32_t>(key); }

    /// How many elements are collected at a time.
    [[nodiscard]] static std::size_t room(std::size_t k) noexcept { return 2 * k + 64; }
    [[nodiscard]] static std::size_t worker_floats(TopKParams const& params) noexcept {
        return round_up_floats(room(static_cast<std::size_t>(params.k)) * (sizeof(Key) / sizeof(float)));
    }

    /// Writes the keys of the best k of a row, the best first.
    template <class Arch, bool largest>
    static void best(const float* src, std::size_t count, std::size_t k, Key* keys) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        const auto descending = [](Key a, Key b) { return a > b; };
        std::size_t size = std::min(room(k), count), i = size;
        for (std::size_t j = 0; j < size; ++j) keys[j] = key<largest>(src, j);
        Key worst = 0;
        V bound(0.0F);
        const auto keep_best = [&] {
            if (size > k) std::nth_element(keys, keys + (k - 1), keys + size, descending);
            size = k;
            worst = keys[k - 1];
            bound = V(src[position(worst)]);
        };
        if (i < count) keep_best();
        while (i < count) {
            if (i + width <= count) {
                const V values = load<Arch>(src + i);
                // Where neither is NaN. Of equal ones the first is the better.
                if (xsimd::all(largest ? values <= bound : values >= bound)) {
                    i += width;
                    continue;
                }
            }
            for (const std::size_t last = std::min(i + width, count); i < last; ++i) {
                const Key candidate = key<largest>(src, i);
                if (candidate <= worst) continue;
                keys[size++] = candidate;
                if (size == room(k)) keep_best();
            }
        }
        if (size > k) keep_best();
        std::sort(keys, keys + k, descending);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
