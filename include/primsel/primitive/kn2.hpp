#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/gemm/gemm_simd.hpp>
#include <primsel/primitive/detail/gemm_form.hpp>
#include <primsel/primitive/detail/shift_add.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// Returns one group of the convolution, as a convolution of its own.
[[nodiscard]] constexpr ConvShape one_group(ConvShape s) {
    s.c = s.group_c(), s.k = s.group_k(), s.groups = 1;
    return s;
}
/// The operands of one group: its planes (chw) or its part of every pixel (hwc, `pixel` floats apart), its weights and
/// its output.
struct Kn2Group {
    const float* src;
    std::size_t pixel;
    const float* weights;
    float* dst;
};

/// The common part of all kn2 primitives: runs groups one after the other. `Way` defines scratch, pack, run and work of
/// one group.
template <class Way, bool reads_hwc>
struct Kn2 {
    static constexpr Family family = Family::kn2;
    using in_layout = std::conditional_t<reads_hwc, hwc, chw>;
    using out_layout = chw;
    static constexpr bool packs_for_any_size = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        return s.strided() ? Support::no("needs stride 1") : Support::yes();
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return Way::template scratch_of_group<Arch>(one_group(s), workers);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        const ConvShape one = one_group(s);
        for (int group = 0; group < s.groups; ++group, kernel += one.kernel_size(), dst += one.kernel_size()) {
            Way::pack_group(one, kernel, dst);
        }
    }
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const ConvShape one = one_group(s);
        Kn2Group group{args.src, static_cast<std::size_t>(s.c), args.weights, args.dst};
        for (int i = 0; i < s.groups; ++i) {
            Way::template run_group<Arch>(one, group, args.scratch, args.executor);
            group.src += reads_hwc ? static_cast<std::size_t>(one.c) : one.in_shape().size();
            group.weights += one.kernel_size();
            group.dst += one.out_shape().size();
        }
    }
    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int /*images*/, int threads) {
        return Work{}.append(Way::template work_of_group<Arch>(one_group(s), threads), s.groups);
    }
};

/// Packs the kernel, tap after tap: each k x c, or c x k.
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

/// Returns the work of adding every tap's product to the output; `working_set` holds the products and the output. Each
/// of the loops is one over kernels.
/// Starting a row takes as long as some eight single elements.
[[nodiscard]] inline Work shift_add_work(ConvShape const& s, bool transposing, double working_set, double loops = 1) {
    const double rows = static_cast<double>(s.out_h()) * s.k * s.taps(), elements = rows * s.out_w();
    return Work{}
        .add({.rate = Rate::scalar,
              .operations = 8 * rows,
              .bytes = 4 * rows,
              .working_set = working_set,
              .blocks = 1.0 * s.k,
              .loops = loops})
        .add({.rate = transposing ? Rate::scalar : Rate::vector,
              .operations = elements,
              .bytes = 12 * elements,
              .working_set = working_set,
              .blocks = 1.0 * s.k});
}
/// Returns the bytes of one tap's product, or of the output.
[[nodiscard]] constexpr double product_bytes(ConvShape const& s) {
    return 4.0 * static_cast<double>(s.out_pixels()) * s.k;
}

/// Returns the floats of the products of all taps.
[[nodiscard]] constexpr std::size_t all_products(ConvShape const& s) {
    return round_up_floats(static_cast<std::size_t>(s.taps() * s.k) * s.in_pixels());
}

}  // namespace primitive::detail

/// kn2row (Anderson et al. 2017, arXiv 1709.03395): one product of the kernels of all taps with the image, whose slices
/// are shifted and added to the output.
template <Gemm G = SimdGemm>
struct Kn2Row : primitive::detail::Kn2<Kn2Row<G>, true> {
    static constexpr auto id = FixedString("kn2row") + gemm::gemm_suffix<G>;
    template <Gemm Other>
    using with_gemm = Kn2Row<Other>;

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_of_group(ConvShape const& s, std::size_t workers) {
        const int pixels = static_cast<int>(s.in_pixels());
        return primitive::detail::all_products(s) +
               G::template scratch_floats<Arch>(s.taps() * s.k, pixels, s.c, workers);
    }
    static void pack_group(ConvShape const& s, const float* kernel, float* dst) {
        primitive::detail::pack_taps<false>(s, kernel, dst);
    }
    template <class Arch>
    static void run_group(ConvShape const& s, primitive::detail::Kn2Group const& group, float* product,
                          ExecutorRef executor) noexcept {
        const std::size_t pixels = s.in_pixels(), k = static_cast<std::size_t>(s.k);
        G::template run<Arch>({.m = s.taps() * s.k,
                               .n = static_cast<int>(pixels),
                               .k = s.c,
                               .a = row_major(group.weights, static_cast<std::size_t>(s.c)),
                               .b = transposed(group.src, group.pixel),
                               .c = product,
                               .c_stride = pixels,
                               .scratch = product + primitive::detail::all_products(s),
                               .executor = executor});
        executor.parallel_for(k, [&](std::size_t kernel, std::size_t) {
            float* dst = group.dst + kernel * s.out_pixels();
            std::fill_n(dst, s.out_pixels(), 0.0F);
            for (int tap = 0; tap < s.taps(); ++tap) {
                const float* slice = product + (static_cast<std::size_t>(tap) * k + kernel) * pixels;
                primitive::detail::shift_add(s, tap / s.fw, tap % s.fw, slice, dst);
            }
        });
    }
    template <class Arch>
    [[nodiscard]] static Work work_of_group(ConvShape const& s, int threads) {
        Work work = gemm::work_of<G, Arch>(s.taps() * s.k, static_cast<int>(s.in_pixels()), s.c, threads);
        return work.append(
            primitive::detail::shift_add_work(s, false, primitive::detail::product_bytes(s) * (s.taps() + 1)), 1);
    }
};

/// kn2col: kn2row with an image-major product, pixels x (taps k).
template <Gemm G = SimdGemm>
struct Kn2Col : primitive::detail::Kn2<Kn2Col<G>, true> {
    static constexpr auto id = FixedString("kn2col") + gemm::gemm_suffix<G>;
    template <Gemm Other>
    using with_gemm = Kn2Col<Other>;

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_of_group(ConvShape const& s, std::size_t workers) {
        const int pixels = static_cast<int>(s.in_pixels());
        return primitive::detail::all_products(s) +
               G::template scratch_floats<Arch>(pixels, s.taps() * s.k, s.c, workers);
    }
    /// Packs c x (taps k).
    static void pack_group(ConvShape const& s, const float* kernel, float* dst) {
        for (int c = 0; c < s.c; ++c) {
            for (int tap = 0; tap < s.taps(); ++tap) {
                for (int k = 0; k < s.k; ++k)
                    *dst++ = kernel[primitive::detail::kernel_index(s, k, c, tap / s.fw, tap % s.fw)];
            }
        }
    }
    template <class Arch>
    static void run_group(ConvShape const& s, primitive::detail::Kn2Group const& group, float* product,
                          ExecutorRef executor) noexcept {
        const auto columns = static_cast<std::size_t>(s.taps() * s.k);
        G::template run<Arch>({.m = static_cast<int>(s.in_pixels()),
                               .n = s.taps() * s.k,
                               .k = s.c,
                               .a = row_major(group.src, group.pixel),
                               .b = row_major(group.weights, columns),
                               .c = product,
                               .c_stride = columns,
                               .scratch = product + primitive::detail::all_products(s),
                               .executor = executor});
        executor.parallel_for(static_cast<std::size_t>(s.k), [&](std::size_t k, std::size_t) {
            float* dst = group.dst + k * s.out_pixels();
            std::fill_n(dst, s.out_pixels(), 0.0F);
            for (int tap = 0; tap < s.taps(); ++tap) {
                const float* slice = product + static_cast<std::size_t>(tap * s.k) + k;
                primitive::detail::shift_add_pixels(s, tap / s.fw, tap % s.fw, slice, columns, dst);
            }
        });
    }
    template <class Arch>
    [[nodiscard]] static Work work_of_group(ConvShape const& s, int threads) {
        Work work = gemm::work_of<G, Arch>(static_cast<int>(s.in_pixels()), s.taps() * s.k, s.c, threads);
        return work.append(
            primitive::detail::shift_add_work(s, true, primitive::detail::product_bytes(s) * (s.taps() + 1)), 1);
    }
};

/// kn2row-as and kn2col-as (accumulate, shift): a product for each tap into a temporary, which is shifted and added. It
/// needs room for one tap's product, where kn2row and kn2col need it for all taps.
template <bool row, Gemm G = SimdGemm>
struct Kn2AccumulateShift : primitive::detail::Kn2<Kn2AccumulateShift<row, G>, !row> {
    static constexpr auto id = [] {
        if constexpr (row)
            return FixedString("kn2row-as") + gemm::gemm_suffix<G>;
        else
            return FixedString("kn2col-as") + gemm::gemm_suffix<G>;
    }();
    template <Gemm Other>
    using with_gemm = Kn2AccumulateShift<row, Other>;

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_of_group(ConvShape const& s, std::size_t workers) {
        const int pixels = static_cast<int>(s.in_pixels()), m = row ? s.k : pixels, n = row ? pixels : s.k;
        return product_floats(s) + G::template scratch_floats<Arch>(m, n, s.c, workers);
    }
    static void pack_group(ConvShape const& s, const float* kernel, float* dst) {
        primitive::detail::pack_taps<!row>(s, kernel, dst);
    }
    template <class Arch>
    static void run_group(ConvShape const& s, primitive::detail::Kn2Group const& group, float* product,
                          ExecutorRef executor) noexcept {
        const std::size_t pixels = s.in_pixels(), c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        for (int tap = 0; tap < s.taps(); ++tap) {
            const float* weights = group.weights + static_cast<std::size_t>(tap) * k * c;
            G::template run<Arch>({.m = row ? s.k : static_cast<int>(pixels),
                                   .n = row ? static_cast<int>(pixels) : s.k,
                                   .k = s.c,
                                   .a = row ? row_major(weights, c) : row_major(group.src, group.pixel),
                                   .b = row ? row_major(group.src, pixels) : row_major(weights, k),
                                   .c = product,
                                   .c_stride = row ? pixels : k,
                                   .scratch = product + product_floats(s),
                                   .executor = executor});
            executor.parallel_for(k, [&](std::size_t kernel, std::size_t) {
                float* dst = group.dst + kernel * s.out_pixels();
                if (tap == 0) std::fill_n(dst, s.out_pixels(), 0.0F);
                if constexpr (row) {
                    primitive::detail::shift_add(s, tap / s.fw, tap % s.fw, product + kernel * pixels, dst);
                } else {
                    primitive::detail::shift_add_pixels(s, tap / s.fw, tap % s.fw, product + kernel, k, dst);
                }
            });
        }
    }
    template <class Arch>
    [[nodiscard]] static Work work_of_group(ConvShape const& s, int threads) {
        const int pixels = static_cast<int>(s.in_pixels());
        return Work{}
            .append(gemm::work_of<G, Arch>(row ? s.k : pixels, row ? pixels : s.k, s.c, threads), s.taps())
            .append(primitive::detail::shift_add_work(s, !row, 2 * primitive::detail::product_bytes(s), s.taps()), 1);
    }

private:
    [[nodiscard]] static std::size_t product_floats(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.k) * s.in_pixels());
    }
};

/// kn2row-aa: a product for each tap that accumulates directly into the shifted output. It takes one output row at a
/// time, which leaves out the columns that a shift would wrap around and keeps the row's products in cache. -a and -b
/// say how the kernel and the image are stored: an image stored transposed is hwc.
template <GemmForm form, Gemm G = SimdGemm>
struct Kn2RowAccumulate
    : primitive::detail::Kn2<Kn2RowAccumulate<form, G>, form == GemmForm::abt || form == GemmForm::atbt> {
private:
    static constexpr bool kernel_transposed = form == GemmForm::atb || form == GemmForm::atbt;
    static constexpr bool image_transposed = form == GemmForm::abt || form == GemmForm::atbt;

public:
    static constexpr auto id = [] {
        if constexpr (form == GemmForm::ab)
            return FixedString("kn2row-aa-ab") + gemm::gemm_suffix<G>;
        else if constexpr (form == GemmForm::atb)
            return FixedString("kn2row-aa-atb") + gemm::gemm_suffix<G>;
        else if constexpr (form == GemmForm::abt)
            return FixedString("kn2row-aa-abt") + gemm::gemm_suffix<G>;
        else
            return FixedString("kn2row-aa-atbt") + gemm::gemm_suffix<G>;
    }();
    template <Gemm Other>
    using with_gemm = Kn2RowAccumulate<form, Other>;

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_of_group(ConvShape const& s, std::size_t workers) {
        return workers * worker_floats<Arch>(s);
    }
    static void pack_group(ConvShape const& s, const float* kernel, float* dst) {
        primitive::detail::pack_taps<kernel_transposed>(s, kernel, dst);
    }
    template <class Arch>
    static void run_group(ConvShape const& s, primitive::detail::Kn2Group const& group, float* scratch,
                          ExecutorRef executor) noexcept {
        const std::size_t slot = executor.concurrency() > 1 ? worker_floats<Arch>(s) : 0;
        executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&](std::size_t row, std::size_t worker) {
            const int oh = static_cast<int>(row);
            float* dst = group.dst + row * static_cast<std::size_t>(s.out_w());
            for (int k = 0; k < s.k; ++k)
                std::fill_n(dst + static_cast<std::size_t>(k) * s.out_pixels(), s.out_w(), 0.0F);
            for (int tap = 0; tap < s.taps(); ++tap) add_tap<Arch>(s, group, oh, tap, dst, scratch + worker * slot);
        });
    }
    template <class Arch>
    [[nodiscard]] static Work work_of_group(ConvShape const& s, int /*threads*/) {
        // One loop over rows.
        Work one_row = G::template work<Arch>(s.k, s.out_w(), s.c);
        for (Phase& phase : one_row.phases) {
            phase.blocks = s.out_h();
            phase.loops = &phase == one_row.phases.data() ? 1.0 / (s.taps() * s.out_h()) : 0;
            phase.working_set = 4.0 * (static_cast<double>(s.kernel_size()) + 1.0 * s.out_w() * (s.c + s.k));
        }
        Work work = Work{}.append(one_row, 1.0 * s.taps() * s.out_h());
        const double result = 4.0 * static_cast<double>(s.out_pixels()) * s.k;
        // Clearing its row fetches each row of a result beyond L2; the products find it in cache.
        if (result > sizeof(float) * l2_floats) {
            work.add({.rate = Rate::vector,
                      .operations = result / 4,
                      .bytes = 2 * result,
                      .working_set = result,
                      .blocks = 1.0 * s.out_h()});
        }
        return work;
    }

private:
    template <class Arch>
    [[nodiscard]] static std::size_t worker_floats(ConvShape const& s) {
        std::size_t most = 0;
        for (int fw = 0; fw < s.fw; ++fw) {
            const int columns = primitive::detail::tap_columns(s, fw).size();
            if (columns > 0) most = std::max(most, G::template scratch_floats<Arch>(s.k, columns, s.c, 1));
        }
        return round_up_floats(most);
    }

    template <class Arch>
    static void add_tap(ConvShape const& s, primitive::detail::Kn2Group const& group, int oh, int tap, float* dst,
                        float* scratch) noexcept {
        const int h = oh + primitive::detail::tap_offset_h(s, tap / s.fw);
        const primitive::detail::Range columns = primitive::detail::tap_columns(s, tap % s.fw);
        if (h < 0 || h >= s.h || columns.size() == 0) return;
        const auto first =
            static_cast<std::size_t>(h * s.w + columns.begin + primitive::detail::tap_offset_w(s, tap % s.fw));
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        const float* weights = group.weights + static_cast<std::size_t>(tap) * k * c;
        Sequential sequential;
        G::template run<Arch>({.m = s.k,
                               .n = columns.size(),
                               .k = s.c,
                               .a = kernel_transposed ? transposed(weights, k) : row_major(weights, c),
                               .b = image_transposed ? transposed(group.src + first * group.pixel, group.pixel)
                                                     : row_major(group.src + first, s.in_pixels()),
                               .c = dst + columns.begin,
                               .c_stride = s.out_pixels(),
                               .accumulate = true,
                               .scratch = scratch,
                               .executor = sequential});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
