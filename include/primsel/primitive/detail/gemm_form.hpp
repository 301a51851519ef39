// A convolution as one product of the kernel and a matrix of patches, for im2 and conv-1x1.
#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/gemm/gemm.hpp>
#include <primsel/primitive/primitive.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The operands of C = A B that are stored transposed (t).
enum class GemmForm { ab, atb, abt, atbt };
/// The order of the output: kernel-major (k x pixels, chw) or image-major (pixels x k, hwc).
enum class GemmOut { ki, ik };

namespace primitive::detail {

template <GemmForm form, GemmOut out>
struct FormTraits {
    static constexpr bool a_transposed = form == GemmForm::atb || form == GemmForm::atbt;
    static constexpr bool b_transposed = form == GemmForm::abt || form == GemmForm::atbt;
    /// ki: C = kernel x patches. ik: C = patches' x kernel'.
    static constexpr bool kernel_is_a = out == GemmOut::ki;
    /// True if the kernel is stored as depth x k instead of k x depth.
    static constexpr bool kernel_depth_major = kernel_is_a ? a_transposed : !b_transposed;
    /// True if the patches are stored as depth x pixels (im2col, a chw image) instead of pixels x depth.
    static constexpr bool patches_depth_major = kernel_is_a ? !b_transposed : a_transposed;
    using out_layout = std::conditional_t<kernel_is_a, chw, hwc>;

    static constexpr auto name = [] {
        constexpr auto suffix = [] {
            if constexpr (kernel_is_a)
                return FixedString("-ki");
            else
                return FixedString("-ik");
        }();
        if constexpr (form == GemmForm::ab)
            return FixedString("ab") + suffix;
        else if constexpr (form == GemmForm::atb)
            return FixedString("atb") + suffix;
        else if constexpr (form == GemmForm::abt)
            return FixedString("abt") + suffix;
        else
            return FixedString("atbt") + suffix;
    }();

    /// The sizes m, n and k of the product of one group.
    struct Sizes {
        int m, n, k;
    };
    [[nodiscard]] static constexpr Sizes sizes(ConvShape const& s) {
        const int pixels = static_cast<int>(s.out_pixels());
        return kernel_is_a ? Sizes{s.group_k(), pixels, s.depth()} : Sizes{pixels, s.group_k(), s.depth()};
    }

    /// Returns the work of the products of all groups. Each group writes a part of the result of its own, and `beside`
    /// bytes are read with it.
    template <class G, class Arch>
    [[nodiscard]] static Work products_work(ConvShape const& s, int threads, double beside = 0) {
        const Sizes size = sizes(s);
        Work of_group = gemm::work_of<G, Arch>(size.m, size.n, size.k, threads);
        const double others = s.groups - 1, result = 4.0 * static_cast<double>(s.out_pixels()) * s.group_k();
        for (Phase& phase : of_group.phases) {
            if (phase.rate == Rate::gemm) phase.working_set += others * (result + beside);
        }
        return Work{}.append(of_group, s.groups);
    }

    /// Computes one group of the convolution: dst = clamp(kernel x patches + bias + residual). `patch_stride` is the
    /// distance in floats between the stored rows of patches.
    template <class G, class Arch>
    static void multiply(ConvShape const& s, ConvArgs const& args, int group, const float* patches,
                         std::size_t patch_stride, float* scratch) noexcept {
        const auto depth = static_cast<std::size_t>(s.depth()), group_k = static_cast<std::size_t>(s.group_k());
        const std::size_t pixels = s.out_pixels(), first_k = static_cast<std::size_t>(group) * group_k;
        const float* kernel = args.weights + first_k * depth;
        const std::size_t offset = kernel_is_a ? first_k * pixels : first_k;
        const float* bias = args.bias == nullptr ? nullptr : args.bias + first_k;
        const Sizes size = sizes(s);
        const auto patch_view = [&] {  // depth x pixels
            return patches_depth_major ? row_major(patches, patch_stride) : transposed(patches, patch_stride);
        };
        const auto patch_view_transposed = [&] {  // pixels x depth
            return patches_depth_major ? transposed(patches, patch_stride) : row_major(patches, patch_stride);
        };
        const auto kernel_view = [&] {  // k x depth
            return kernel_depth_major ? transposed(kernel, group_k) : row_major(kernel, depth);
        };
        const auto kernel_view_transposed = [&] {  // depth x k
            return kernel_depth_major ? row_major(kernel, group_k) : transposed(kernel, depth);
        };
        G::template run<Arch>({.m = size.m,
                               .n = size.n,
                               .k = size.k,
                               .a = kernel_is_a ? kernel_view() : patch_view_transposed(),
                               .b = kernel_is_a ? patch_view() : kernel_view_transposed(),
                               .c = args.dst + offset,
                               .c_stride = kernel_is_a ? pixels : static_cast<std::size_t>(s.k),
                               .row_bias = kernel_is_a ? bias : nullptr,
                               .column_bias = kernel_is_a ? nullptr : bias,
                               .residual = args.residual == nullptr ? nullptr : args.residual + offset,
                               .clamp = args.clamp,
                               .scratch = scratch,
                               .executor = args.executor});
    }
};

/// Stores the kernel, group after group, as k x depth or depth x k; depth_index(c, fh, fw) orders the depth.
template <bool depth_major, class DepthIndex>
void pack_kernel(ConvShape const& s, const float* kernel, DepthIndex const& depth_index, float* dst) {
    const auto depth = static_cast<std::size_t>(s.depth()), group_k = static_cast<std::size_t>(s.group_k());
    const float* value = kernel;
    for (int k = 0; k < s.k; ++k) {
        const auto row = static_cast<std::size_t>(k % s.group_k());
        float* group = dst + static_cast<std::size_t>(k / s.group_k()) * depth * group_k;
        for (int c = 0; c < s.group_c(); ++c) {
            for (int fh = 0; fh < s.fh; ++fh) {
                for (int fw = 0; fw < s.fw; ++fw) {
                    const auto column = static_cast<std::size_t>(depth_index(c, fh, fw));
                    group[depth_major ? column * group_k + row : row * depth + column] = *value++;
                }
            }
        }
    }
}

}  // namespace primitive::detail

}  // namespace primsel::inline PRIMSEL_ABI
