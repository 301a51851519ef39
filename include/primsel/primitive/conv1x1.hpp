#pragma once

#include <primsel/gemm/gemm_simd.hpp>
#include <primsel/primitive/detail/gemm_form.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// A 1x1 convolution as a product of the kernel and the image in place: an image in chw is c x pixels, one in hwc
/// pixels x c.
template <GemmForm form, GemmOut out, Gemm G = SimdGemm>
struct Conv1x1Gemm {
private:
    using traits = primitive::detail::FormTraits<form, out>;

public:
    static constexpr auto id = FixedString("conv-1x1-gemm-") + traits::name + gemm::gemm_suffix<G>;
    template <Gemm Other>
    using with_gemm = Conv1x1Gemm<form, out, Other>;
    static constexpr Family family = Family::conv_1x1;
    using in_layout = std::conditional_t<traits::patches_depth_major, chw, hwc>;
    using out_layout = typename traits::out_layout;
    static constexpr bool fuses_epilogue = true, packs_for_any_size = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.fh != 1 || s.fw != 1) return Support::no("needs a 1x1 kernel");
        if (s.strided()) return Support::no("needs stride 1");
        return s.padded() ? Support::no("needs no padding") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        const auto size = traits::sizes(s);
        return G::template scratch_floats<Arch>(size.m, size.n, size.k, workers);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        primitive::detail::pack_kernel<traits::kernel_depth_major>(
            s, kernel, [](int c, int, int) { return c; }, dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        for (int group = 0; group < s.groups; ++group) {
            const auto first_c = static_cast<std::size_t>(group * s.group_c());
            const float* image = args.src + (traits::patches_depth_major ? first_c * s.in_pixels() : first_c);
            const auto stride = traits::patches_depth_major ? s.in_pixels() : static_cast<std::size_t>(s.c);
            traits::template multiply<G, Arch>(s, args, group, image, stride, args.scratch);
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int /*images*/, int threads) {
        return traits::template products_work<G, Arch>(s, threads,
                                                       4.0 * static_cast<double>(s.in_pixels()) * s.group_c());
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
