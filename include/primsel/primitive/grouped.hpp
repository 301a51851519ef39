#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/pixel_pointers.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Convolution in hwc with groups of 2, 4 or 8 input channels and as many output channels. A vector holds the channels
/// of several groups. Each channel of a group is repeated in all lanes of the group and multiplied with its weights to
/// each output channel. If a vector is no wider than a group, one channel fills the vector.
struct GroupedHwc {
    static constexpr FixedString id = "grouped-hwc";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, by_rows = true, packs_for_any_size = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        const int size = s.group_c();
        if ((size != 2 && size != 4 && size != 8) || size != s.group_k()) {
            return Support::no("needs groups of 2, 4 or 8 channels");
        }
        return s.c < 16 ? Support::no("needs 16 channels or more") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return static_cast<std::size_t>(vectors<Arch>(s)) * vector_weights<Arch>(s);
    }
    /// Packs the weights: vector after vector of output channels, within it tap after tap, a vector for each channel of
    /// a group.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        for (int v = 0; v < vectors<Arch>(s); ++v) {
            const int first = first_channel<Arch>(s, v);
            for (int tap = 0; tap < s.taps(); ++tap) {
                for (int c = 0; c < s.group_c(); ++c) {
                    for (int lane = 0; lane < lanes<Arch>; ++lane) {
                        *dst++ = kernel[primitive::detail::kernel_index(s, first + lane, c, tap / s.fw, tap % s.fw)];
                    }
                }
            }
        }
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return zeros(s) + workers * primitive::detail::pointer_floats(block_pointers<Arch>(s));
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        std::fill_n(args.scratch, zeros(s), 0.0F);
        const int pixels = static_cast<int>(s.out_pixels());
        constexpr int block = block_pixels<Arch>;
        args.executor.parallel_for(block_count<Arch>(s), [=, &s, &args](std::size_t i, std::size_t worker) {
            auto* slot = args.scratch + zeros(s) + worker * primitive::detail::pointer_floats(block_pointers<Arch>(s));
            auto* pointers = ::new (static_cast<void*>(slot)) const float*[block_pointers<Arch>(s)];
            const int first = static_cast<int>(i) * block, count = std::min(block, pixels - first);
            point<Arch>(s, args, first, count, pointers);
            const Block<Arch> of{s, args, pointers, first, count};
            switch (s.group_c()) {
                case 2:
                    return run_block<2, Arch>(of);
                case 4:
                    return run_block<4, Arch>(of);
                default:
                    return run_block<8, Arch>(of);
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double pixels = static_cast<double>(s.out_pixels()), in = 4.0 * static_cast<double>(s.in_shape().size()),
                     out = 4.0 * pixels * s.k, weights = 4.0 * static_cast<double>(packed_floats<Arch>(s));
        const double channels = static_cast<double>(vectors<Arch>(s)) * lanes<Arch>;
        return Work{}
            .add({.rate = Rate::scalar,
                  .operations = pixels * s.taps(),
                  .bytes = 8.0 * pixels * s.taps(),
                  .working_set = 8.0 * static_cast<double>(block_pointers<Arch>(s)),
                  .blocks = static_cast<double>(block_count<Arch>(s)),
                  .loops = 1})
            // Every multiply-add needs a permutation; with two channels a group, also a load for every second one.
            .add({.rate = Rate::gemm,
                  .operations = (s.group_c() == 2 ? 2.5 : 1.6) * 2 * pixels * channels * s.depth(),
                  .bytes = in + weights * std::max(1.0, pixels / block_pixels<Arch>) + 2 * out,
                  .working_set = in + weights + out,
                  .blocks = static_cast<double>(block_count<Arch>(s))});
    }

private:
    /// The output pixels whose sums fit the registers beside the weights of a tap.
    template <class Arch>
    static constexpr int block_pixels = registers<Arch> == 32 ? 12 : 8;
    template <class Arch>
    [[nodiscard]] static std::size_t block_count(ConvShape const& s) {
        constexpr std::size_t block = block_pixels<Arch>;
        return (s.out_pixels() + block - 1) / block;
    }

    template <class Arch>
    struct Block {
        ConvShape const& s;
        ConvArgs const& args;
        const float* const* pointers;
        int first, count;
    };

    [[nodiscard]] static std::size_t zeros(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.c));
    }
    template <class Arch>
    [[nodiscard]] static std::size_t block_pointers(ConvShape const& s) {
        return static_cast<std::size_t>(block_pixels<Arch> * s.taps());
    }
    template <class Arch>
    [[nodiscard]] static std::size_t vector_weights(ConvShape const& s) {
        return static_cast<std::size_t>(s.depth() * lanes<Arch>);
    }
    template <class Arch>
    [[nodiscard]] static constexpr int vectors(ConvShape const& s) {
        return (s.c + lanes<Arch> - 1) / lanes<Arch>;
    }
    /// Returns the first channel of a vector. The last vector ends at the last channel and may overlap the one before.
    template <class Arch>
    [[nodiscard]] static constexpr int first_channel(ConvShape const& s, int vector) {
        return std::min(vector * lanes<Arch>, s.c - lanes<Arch>);
    }

    /// Writes pointers for all pixels of a block, including those beyond the last pixel.
    template <class Arch>
    static void point(ConvShape const& s, ConvArgs const& args, int first, int count, const float** pointers) noexcept {
        constexpr int block = block_pixels<Arch>;
        primitive::detail::point_to_pixels(s, args.src, args.scratch, static_cast<std::size_t>(first), count, pointers);
        for (int tap = s.taps() - 1; count < block && tap >= 0; --tap) {
            std::copy_backward(pointers + tap * count, pointers + (tap + 1) * count, pointers + tap * block + count);
            std::fill_n(pointers + tap * block + count, block - count, args.scratch);
        }
    }

    template <int size, class Arch>
    static void run_block(Block<Arch> const& of) noexcept {
        const float* weights = of.args.weights;
        for (int v = 0; v < vectors<Arch>(of.s); ++v, weights += vector_weights<Arch>(of.s)) {
            run_vector<size, Arch>(of, first_channel<Arch>(of.s, v), weights);
        }
    }

    template <int size, class Arch>
    static void run_vector(Block<Arch> const& of, int first, const float* weights) noexcept {
        constexpr int block = block_pixels<Arch>, width = lanes<Arch>;
        // The first channel of the group, if a group is wider than a vector.
        const int from = size > width ? first / size * size : first;
        Floats<Arch> sums[block];
        PRIMSEL_UNROLL
        for (int p = 0; p < block; ++p) sums[p] = broadcast<Arch>(0.0F);
        const float* const* pointers = of.pointers;
        for (int tap = 0; tap < of.s.taps(); ++tap, pointers += block, weights += size * width) {
            add_tap<Arch>(pointers, from, weights, sums, std::make_integer_sequence<int, size>{});
        }
        finish<Arch>(of, first, sums);
    }

    template <class Arch, int... c>
    PRIMSEL_INLINE static void add_tap(const float* const* pointers, int from, const float* weights,
                                       Floats<Arch> (&sums)[block_pixels<Arch>],
                                       std::integer_sequence<int, c...>) noexcept {
        constexpr int size = sizeof...(c), width = lanes<Arch>;
        const Floats<Arch> to[]{load<Arch>(weights + c * width)...};
        PRIMSEL_UNROLL
        for (int p = 0; p < block_pixels<Arch>; ++p) {
            const float* pixel = pointers[p] + from;
            if constexpr (size < width) {
                const auto x = load<Arch>(pixel);
                ((sums[p] = fma<Arch>(repeat_lane<Arch, size, c>(x), to[c], sums[p])), ...);
            } else {
                ((sums[p] = fma<Arch>(broadcast<Arch>(pixel[c]), to[c], sums[p])), ...);
            }
        }
    }

    template <class Arch>
    PRIMSEL_INLINE static void finish(Block<Arch> const& of, int first,
                                      Floats<Arch> const (&sums)[block_pixels<Arch>]) noexcept {
        ConvArgs const& args = of.args;
        const auto bias = args.bias != nullptr ? load<Arch>(args.bias + first) : broadcast<Arch>(0.0F);
        const auto low = broadcast<Arch>(args.clamp.low), high = broadcast<Arch>(args.clamp.high);
        const auto pixel = static_cast<std::size_t>(of.s.k);
        const std::size_t at = static_cast<std::size_t>(of.first) * pixel + static_cast<std::size_t>(first);
        auto each = [&, count = of.count, dst = args.dst + at](auto const& with_residual) mutable {
            PRIMSEL_UNROLL
            for (int p = 0; p < block_pixels<Arch>; ++p, dst += pixel) {
                if (p == count) break;
                store<Arch>(dst, clamp<Arch>(with_residual(sums[p] + bias, p), low, high));
            }
        };
        if (args.residual == nullptr) return each([](Floats<Arch> const& sum, int) { return sum; });
        each([residual = args.residual + at, pixel](Floats<Arch> const& sum, int p) {
            return sum + load<Arch>(residual + static_cast<std::size_t>(p) * pixel);
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
