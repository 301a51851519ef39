#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/gemm/gemm_simd.hpp>
#include <primsel/primitive/detail/gemm_form.hpp>
#include <primsel/primitive/detail/patch.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The form of the patch matrix: depth x pixels (col) or pixels x depth (row).
enum class Patch { col, row };
/// The way to build the patch matrix: element by element with bounds tests, in runs of one kernel row, or mostly copied
/// from itself.
enum class PatchCopy { scan, copy_short, copy_self };

/// im2col and im2row (Jia 2014): a patch matrix, then one product for each group.
template <Patch patch, PatchCopy copy, GemmForm form, GemmOut out, Gemm G = SimdGemm>
struct Im2 {
private:
    using traits = primitive::detail::FormTraits<form, out>;
    static_assert(traits::patches_depth_major == (patch == Patch::col), "this form does not fit the patch matrix");
    static_assert(patch == Patch::col || copy != PatchCopy::copy_self, "only im2col is copied from itself");
    static constexpr bool from_hwc = patch == Patch::row && copy == PatchCopy::copy_short;

    static constexpr auto prefix = [] {
        if constexpr (patch == Patch::row && copy == PatchCopy::scan)
            return FixedString("im2row-scan-");
        else if constexpr (patch == Patch::row)
            return FixedString("im2row-copy-short-");
        else if constexpr (copy == PatchCopy::scan)
            return FixedString("im2col-scan-");
        else if constexpr (copy == PatchCopy::copy_short)
            return FixedString("im2col-copy-short-");
        else
            return FixedString("im2col-copy-self-");
    }();

public:
    static constexpr auto id = prefix + traits::name + gemm::gemm_suffix<G>;
    template <Gemm Other>
    using with_gemm = Im2<patch, copy, form, out, Other>;
    static constexpr Family family = Family::im2;
    using in_layout = std::conditional_t<from_hwc, hwc, chw>;
    using out_layout = typename traits::out_layout;
    static constexpr bool fuses_epilogue = true, packs_for_any_size = true;

    /// A product with a transposed kernel has one running sum for each element: 4e-5 at a depth of 8192 channels x 25.
    static constexpr double error_bound = form == GemmForm::atb || form == GemmForm::atbt ? 5e-5 : 2e-5;

    /// Only copy-self and the copies from hwc support strides, as in the papers' data.
    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        const bool takes_strides = from_hwc || copy == PatchCopy::copy_self;
        return s.strided() && !takes_strides ? Support::no("needs stride 1") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        const auto size = traits::sizes(s);
        return patch_floats(s) + G::template scratch_floats<Arch>(size.m, size.n, size.k, workers);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        primitive::detail::pack_kernel<traits::kernel_depth_major>(
            s, kernel,
            [&s](int c, int fh, int fw) {
                return from_hwc ? (fh * s.fw + fw) * s.group_c() + c : (c * s.fh + fh) * s.fw + fw;
            },
            dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        float* patches = args.scratch;
        const auto stride = patch == Patch::col ? s.out_pixels() : static_cast<std::size_t>(s.depth());
        for (int group = 0; group < s.groups; ++group) {
            build(s, args, group * s.group_c(), patches);
            traits::template multiply<G, Arch>(s, args, group, patches, stride, args.scratch + patch_floats(s));
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int /*images*/, int threads) {
        const double elements = static_cast<double>(s.out_pixels()) * s.depth() * s.groups;
        const double patches = 4.0 * static_cast<double>(patch_floats(s));
        const auto blocks = static_cast<double>(build_blocks(s));
        Work work;
        if constexpr (copy == PatchCopy::scan) {
            work.add({.rate = Rate::scalar,
                      .operations = elements,
                      .bytes = 8 * elements,
                      .working_set = patches,
                      .blocks = blocks,
                      .loops = 1.0 * s.groups});
        } else {
            // Starting the copy of a run takes as long as some eight single elements.
            const double runs = patch == Patch::row ? static_cast<double>(s.out_pixels()) * s.taps() * s.groups
                                : copy == PatchCopy::copy_self ? 1.0 * s.out_h() * s.fw * s.c
                                                               : 1.0 * s.out_h() * s.taps() * s.c;
            work.add({.rate = Rate::scalar,
                      .operations = 8 * runs,
                      .bytes = 8 * runs,
                      .working_set = patches,
                      .blocks = blocks,
                      .loops = 1.0 * s.groups})
                .add({.rate = Rate::vector,
                      .operations = 0,
                      .bytes = 8 * elements,
                      .working_set = patches,
                      .blocks = blocks});
        }
        return work.append(traits::template products_work<G, Arch>(s, threads), 1);
    }

private:
    [[nodiscard]] static std::size_t patch_floats(ConvShape const& s) {
        return round_up_floats(s.out_pixels() * static_cast<std::size_t>(s.depth()));
    }

    /// The channels or rows of which threads build the patches of a group.
    [[nodiscard]] static std::size_t build_blocks(ConvShape const& s) {
        return static_cast<std::size_t>(patch == Patch::col ? s.group_c() : s.out_h());
    }
    static void build(ConvShape const& s, ConvArgs const& args, int first_c, float* patches) noexcept {
        if constexpr (patch == Patch::col) {
            const std::size_t pixels = s.out_pixels();
            args.executor.parallel_for(build_blocks(s), [&](std::size_t c, std::size_t) {
                const float* plane = args.src + (static_cast<std::size_t>(first_c) + c) * s.in_pixels();
                float* dst = patches + c * static_cast<std::size_t>(s.taps()) * pixels;
                if constexpr (copy == PatchCopy::copy_self) {
                    primitive::detail::copy_self(s, plane, dst);
                } else {
                    for (int fh = 0; fh < s.fh; ++fh) {
                        for (int fw = 0; fw < s.fw; ++fw, dst += pixels) {
                            if constexpr (copy == PatchCopy::scan)
                                primitive::detail::scan_column(s, plane, fh, fw, dst);
                            else
                                primitive::detail::copy_column(s, plane, fh, fw, dst);
                        }
                    }
                }
            });
        } else {
            const auto depth = static_cast<std::size_t>(s.depth());
            args.executor.parallel_for(build_blocks(s), [&, depth](std::size_t row, std::size_t) {
                const int oh = static_cast<int>(row);
                float* dst = patches + row * static_cast<std::size_t>(s.out_w()) * depth;
                for (int ow = 0; ow < s.out_w(); ++ow, dst += depth) {
                    if constexpr (copy == PatchCopy::scan)
                        primitive::detail::scan_row(s, args.src, first_c, oh, ow, dst);
                    else
                        primitive::detail::copy_row(s, args.src, first_c, oh, ow, dst);
                }
            });
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
