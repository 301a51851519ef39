#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/gemm_form.hpp>
#include <primsel/primitive/detail/shift_add.hpp>
#include <primsel/primitive/gemm_simd.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

[[nodiscard]] constexpr Support kn2_supports(ConvShape const& s) {
    if (s.strided()) return Support::no("needs stride 1");
    return s.groups != 1 ? Support::no("needs one group") : Support::yes();
}

/// The kernel, tap after tap: each k x c, or c x k.
template <bool c_major>
void pack_taps(ConvShape const& s, const float* kernel, float* dst) {
    for (int fh = 0; fh < s.fh; ++fh) {
        for (int fw = 0; fw < s.fw; ++fw) {
            for (int i = 0; i < (c_major ? s.c : s.k); ++i) {
                for (int j = 0; j < (c_major ? s.k : s.c); ++j) {
                    *dst++ = kernel[c_major ? kernel_index(s, j, i, fh, fw) : kernel_index(s, i, j, fh, fw)];
                }
            }
        }
    }
}

/// The price of adding every tap's product into the output.
[[nodiscard]] inline Phase shift_add_phase(ConvShape const& s, bool transposing) {
    const double elements = static_cast<double>(s.out_pixels()) * s.k * s.taps();
    return {.rate = transposing ? Rate::scalar : Rate::vector,
            .operations = elements,
            .bytes = 12 * elements,
            .working_set = 4.0 * static_cast<double>(s.out_pixels()) * s.k * (s.taps() + 1)};
}

}  // namespace detail

/// kn2row (Anderson et al. 2017, arXiv 1709.03395): one product of the kernels of all taps with the image, whose slices
/// are shifted and added into the output.
template <Gemm G = SimdGemm>
struct Kn2Row {
    static constexpr FixedString id = "kn2row";
    static constexpr Family family = Family::kn2;
    using in_layout = hwc;
    using out_layout = chw;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::kn2_supports(s); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        const int pixels = static_cast<int>(s.in_pixels());
        return product_floats(s) + G::template scratch_floats<Arch>(s.taps() * s.k, pixels, s.c, workers);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_taps<false>(s, kernel, dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const std::size_t pixels = s.in_pixels(), k = static_cast<std::size_t>(s.k);
        float* product = args.scratch;
        G::template run<Arch>({.m = s.taps() * s.k,
                               .n = static_cast<int>(pixels),
                               .k = s.c,
                               .a = row_major(args.weights, static_cast<std::size_t>(s.c)),
                               .b = transposed(args.src, static_cast<std::size_t>(s.c)),
                               .c = product,
                               .c_stride = pixels,
                               .scratch = args.scratch + product_floats(s),
                               .executor = args.executor});
        args.executor.parallel_for(k, [&](std::size_t kernel, std::size_t) {
            float* dst = args.dst + kernel * s.out_pixels();
            std::fill_n(dst, s.out_pixels(), 0.0F);
            for (int tap = 0; tap < s.taps(); ++tap) {
                const float* slice = product + (static_cast<std::size_t>(tap) * k + kernel) * pixels;
                detail::shift_add(s, tap / s.fw, tap % s.fw, slice, dst);
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        Work work = G::template work<Arch>(s.taps() * s.k, static_cast<int>(s.in_pixels()), s.c);
        return work.add(detail::shift_add_phase(s, false));
    }

private:
    [[nodiscard]] static std::size_t product_floats(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.taps() * s.k) * s.in_pixels());
    }
};

/// kn2col: the same with an image-major product, pixels x (taps k).
template <Gemm G = SimdGemm>
struct Kn2Col {
    static constexpr FixedString id = "kn2col";
    static constexpr Family family = Family::kn2;
    using in_layout = hwc;
    using out_layout = chw;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::kn2_supports(s); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        const int pixels = static_cast<int>(s.in_pixels());
        return product_floats(s) + G::template scratch_floats<Arch>(pixels, s.taps() * s.k, s.c, workers);
    }
    /// c x (taps k)
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        for (int c = 0; c < s.c; ++c) {
            for (int tap = 0; tap < s.taps(); ++tap) {
                for (int k = 0; k < s.k; ++k) *dst++ = kernel[detail::kernel_index(s, k, c, tap / s.fw, tap % s.fw)];
            }
        }
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const auto columns = static_cast<std::size_t>(s.taps() * s.k);
        float* product = args.scratch;
        G::template run<Arch>({.m = static_cast<int>(s.in_pixels()),
                               .n = s.taps() * s.k,
                               .k = s.c,
                               .a = row_major(args.src, static_cast<std::size_t>(s.c)),
                               .b = row_major(args.weights, columns),
                               .c = product,
                               .c_stride = columns,
                               .scratch = args.scratch + product_floats(s),
                               .executor = args.executor});
        args.executor.parallel_for(static_cast<std::size_t>(s.k), [&](std::size_t k, std::size_t) {
            float* dst = args.dst + k * s.out_pixels();
            std::fill_n(dst, s.out_pixels(), 0.0F);
            for (int tap = 0; tap < s.taps(); ++tap) {
                const float* slice = product + static_cast<std::size_t>(tap * s.k) + k;
                detail::shift_add_pixels(s, tap / s.fw, tap % s.fw, slice, columns, dst);
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        Work work = G::template work<Arch>(static_cast<int>(s.in_pixels()), s.taps() * s.k, s.c);
        return work.add(detail::shift_add_phase(s, true));
    }

private:
    [[nodiscard]] static std::size_t product_floats(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.taps() * s.k) * s.in_pixels());
    }
};

/// kn2row-as and kn2col-as: a product a tap into a temporary (accumulate, shift), which is then shifted and added.
/// Needs one tap's room where kn2row and kn2col need all taps'.
template <bool row, Gemm G = SimdGemm>
struct Kn2AccumulateShift {
    static constexpr auto id = [] {
        if constexpr (row)
            return FixedString("kn2row-as");
        else
            return FixedString("kn2col-as");
    }();
    static constexpr Family family = Family::kn2;
    using in_layout = std::conditional_t<row, chw, hwc>;
    using out_layout = chw;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::kn2_supports(s); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        const int pixels = static_cast<int>(s.in_pixels()), m = row ? s.k : pixels, n = row ? pixels : s.k;
        return product_floats(s) + G::template scratch_floats<Arch>(m, n, s.c, workers);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_taps<!row>(s, kernel, dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const std::size_t pixels = s.in_pixels(), c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        float* product = args.scratch;
        for (int tap = 0; tap < s.taps(); ++tap) {
            const float* weights = args.weights + static_cast<std::size_t>(tap) * k * c;
            G::template run<Arch>({.m = row ? s.k : static_cast<int>(pixels),
                                   .n = row ? static_cast<int>(pixels) : s.k,
                                   .k = s.c,
                                   .a = row ? row_major(weights, c) : row_major(args.src, c),
                                   .b = row ? row_major(args.src, pixels) : row_major(weights, k),
                                   .c = product,
                                   .c_stride = row ? pixels : k,
                                   .scratch = args.scratch + product_floats(s),
                                   .executor = args.executor});
            args.executor.parallel_for(k, [&](std::size_t kernel, std::size_t) {
                float* dst = args.dst + kernel * s.out_pixels();
                if (tap == 0) std::fill_n(dst, s.out_pixels(), 0.0F);
                if constexpr (row) {
                    detail::shift_add(s, tap / s.fw, tap % s.fw, product + kernel * pixels, dst);
                } else {
                    detail::shift_add_pixels(s, tap / s.fw, tap % s.fw, product + kernel, k, dst);
                }
            });
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const int pixels = static_cast<int>(s.in_pixels());
        Work work;
        for (Phase phase : G::template work<Arch>(row ? s.k : pixels, row ? pixels : s.k, s.c)) {
            phase.operations *= s.taps();
            phase.bytes *= s.taps();
            work.add(phase);
        }
        Phase add = detail::shift_add_phase(s, !row);
        add.working_set = 8.0 * static_cast<double>(s.out_pixels()) * s.k;
        return work.add(add);
    }

private:
    [[nodiscard]] static std::size_t product_floats(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.k) * s.in_pixels());
    }
};

/// kn2row-aa: a product a tap that accumulates straight into the shifted output. The columns that a shift would wrap
/// around are left out by taking one output row at a time: its products over all taps stay in cache. -a and -b say how
/// the kernel and the image are stored: an image stored transposed is hwc.
template <GemmForm form, Gemm G = SimdGemm>
struct Kn2RowAccumulate {
private:
    static constexpr bool kernel_transposed = form == GemmForm::atb || form == GemmForm::atbt;
    static constexpr bool image_transposed = form == GemmForm::abt || form == GemmForm::atbt;

public:
    static constexpr auto id = [] {
        if constexpr (form == GemmForm::ab)
            return FixedString("kn2row-aa-ab");
        else if constexpr (form == GemmForm::atb)
            return FixedString("kn2row-aa-atb");
        else if constexpr (form == GemmForm::abt)
            return FixedString("kn2row-aa-abt");
        else
            return FixedString("kn2row-aa-atbt");
    }();
    static constexpr Family family = Family::kn2;
    using in_layout = std::conditional_t<image_transposed, hwc, chw>;
    using out_layout = chw;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::kn2_supports(s); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * worker_floats<Arch>(s);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_taps<kernel_transposed>(s, kernel, dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const std::size_t slot = args.executor.concurrency() > 1 ? worker_floats<Arch>(s) : 0;
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&](std::size_t row, std::size_t worker) {
            const int oh = static_cast<int>(row);
            float* dst = args.dst + row * static_cast<std::size_t>(s.out_w());
            for (int k = 0; k < s.k; ++k)
                std::fill_n(dst + static_cast<std::size_t>(k) * s.out_pixels(), s.out_w(), 0.0F);
            for (int tap = 0; tap < s.taps(); ++tap) {
                add_tap<Arch>(s, args, oh, tap, dst, args.scratch + worker * slot);
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        Work work;
        for (Phase phase : G::template work<Arch>(s.k, s.out_w(), s.c)) {
            phase.operations *= s.taps() * s.out_h();
            phase.bytes *= s.taps() * s.out_h();
            phase.working_set = 4.0 * (static_cast<double>(s.kernel_size()) + 1.0 * s.out_w() * (s.c + s.k));
            work.add(phase);
        }
        return work;
    }

private:
    template <class Arch>
    [[nodiscard]] static std::size_t worker_floats(ConvShape const& s) {
        std::size_t most = 0;
        for (int fw = 0; fw < s.fw; ++fw) {
            const int columns = detail::tap_columns(s, fw).size();
            if (columns > 0) most = std::max(most, G::template scratch_floats<Arch>(s.k, columns, s.c, 1));
        }
        return round_up_floats(most);
    }

    template <class Arch>
    static void add_tap(ConvShape const& s, ConvArgs const& args, int oh, int tap, float* dst,
                        float* scratch) noexcept {
        const int h = oh + detail::tap_offset_h(s, tap / s.fw);
        const detail::Range columns = detail::tap_columns(s, tap % s.fw);
        if (h < 0 || h >= s.h || columns.size() == 0) return;
        const auto first = static_cast<std::size_t>(h * s.w + columns.begin + detail::tap_offset_w(s, tap % s.fw));
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        const float* weights = args.weights + static_cast<std::size_t>(tap) * k * c;
        Sequential sequential;
        G::template run<Arch>(
            {.m = s.k,
             .n = columns.size(),
             .k = s.c,
             .a = kernel_transposed ? transposed(weights, k) : row_major(weights, c),
             .b = image_transposed ? transposed(args.src + first * c, c) : row_major(args.src + first, s.in_pixels()),
             .c = dst + columns.begin,
             .c_stride = s.out_pixels(),
             .accumulate = true,
             .scratch = scratch,
             .executor = sequential});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
