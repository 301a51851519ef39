#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/depthwise_blocks.hpp>
#include <primsel/primitive/detail/depthwise_planes.hpp>
#include <primsel/primitive/detail/depthwise_rows.hpp>
#include <primsel/primitive/detail/large_windows.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

[[nodiscard]] constexpr Support depthwise_supports(ConvShape const& s) {
    return s.groups != s.c ? Support::no("needs as many groups as channels") : Support::yes();
}

}  // namespace primitive::detail

/// Depthwise convolution in hwc: a vector of channels over a few neighbouring output pixels, read in place. If there
/// are several kernels for a channel, a copy first repeats each channel that many times.
struct DepthwiseHwc {
    static constexpr FixedString id = "depthwise-hwc";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, by_rows = true, packs_for_any_size = true;
    using Blocks = primitive::detail::DepthwiseBlocks<primitive::detail::FloatPixels>;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        return primitive::detail::depthwise_supports(s);
    }

    /// Returns the bit of TileSet::depthwise that the layer needs, in floats as in shorter types; 0 if it needs none.
    template <class Arch>
    [[nodiscard]] static unsigned block(ConvShape const& s) {
        return Blocks::supports<Arch>(s) ? Blocks::block(s) : 0;
    }

    /// Packs the weights of all kernels, tap after tap.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        for (int tap = 0; tap < s.taps(); ++tap) {
            for (int k = 0; k < s.k; ++k) *dst++ = kernel[k * s.taps() + tap];
        }
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t) {
        return s.k == s.c ? 0 : s.in_pixels() * static_cast<std::size_t>(s.k);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const float* src = args.src;
        if (s.k != s.c) {
            repeat_channels(s, args);
            src = args.scratch;
        }
        if (Blocks::supports<Arch>(s)) {
            Blocks::run<Arch>(s, args, src);
        } else {
            primitive::detail::DepthwiseRows::run<Arch>(s, args, src);
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double image = 4.0 * static_cast<double>(s.in_pixels()) * s.k,
                     out = 4.0 * static_cast<double>(s.out_pixels()) * s.k;
        Work work;
        if (s.k != s.c)
            work.add({.rate = Rate::scalar,
                      .operations = image / 4,
                      .bytes = 2 * image,
                      .working_set = image,
                      .blocks = 1.0 * s.h,
                      .loops = 1});
        if (Blocks::supports<Arch>(s)) {
            return work.add({.rate = Rate::gemm,
                             .operations = Blocks::operations<Arch>(s),
                             .bytes = image + 2 * out,
                             .working_set = image + out,
                             .blocks = static_cast<double>(Blocks::count<Arch>(s)),
                             .loops = 1});
        }
        // Parts of vectors cost as much as whole ones. A multiply-add of a tap loads its input and, for few pixels, its
        // weight: on a Xeon it takes 3.5 times as long as at the FMA peak.
        const double columns = (s.k + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>;
        return work.add({.rate = Rate::gemm,
                         .operations = 3.5 * s.operations() / s.k * columns,
                         .bytes = image + 2 * out,
                         .working_set = image + out,
                         .blocks = 1.0 * s.out_h(),
                         .loops = 1});
    }

private:
    static void repeat_channels(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.h), [&](std::size_t row, std::size_t) {
            const std::size_t values = static_cast<std::size_t>(s.w) * static_cast<std::size_t>(s.c),
                              times = static_cast<std::size_t>(s.k / s.c);
            const float* from = args.src + row * values;
            float* to = args.scratch + row * values * times;
            for (std::size_t i = 0; i < values; ++i) std::fill_n(to + i * times, times, from[i]);
        });
    }
};

/// Depthwise convolution in chw, and that of groups of a few channels. Strips of each group's planes are copied with
/// their padding, and their columns are grouped by their remainder modulo the stride, so that every tap reads
/// neighbours. Vectors run along the output columns.
struct DepthwiseChw {
    static constexpr FixedString id = "depthwise-chw";
    static constexpr Family family = Family::other;
    using in_layout = chw;
    using out_layout = chw;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        return s.group_c() > 8 || (s.groups == 1 && s.c > 1)
                   ? Support::no("needs several groups of 8 channels or fewer")
                   : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return Large<Arch>::suits(s) ? static_cast<std::size_t>(s.k) * Large<Arch>(s).kernel_floats() : s.kernel_size();
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        if (!Large<Arch>::suits(s)) {
            std::copy_n(kernel, s.kernel_size(), dst);
            return;
        }
        const Large<Arch> planes(s);
        for (int k = 0; k < s.k; ++k, kernel += s.depth(), dst += planes.kernel_floats()) planes.pack(kernel, dst);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * (Large<Arch>::suits(s) ? Large<Arch>(s).scratch_floats() : Small<Arch>(s).scratch_floats());
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        if (Large<Arch>::suits(s)) {
            run_planes(s, args, Large<Arch>(s));
        } else {
            run_planes(s, args, Small<Arch>(s));
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        return Large<Arch>::suits(s) ? work_of<Arch>(s, Large<Arch>(s)) : work_of<Arch>(s, Small<Arch>(s));
    }

private:
    template <class Arch>
    using Large = primitive::detail::LargeWindows<Arch>;
    template <class Arch>
    using Small = primitive::detail::DepthwisePlanes<Arch>;

    template <class Planes>
    static void run_planes(ConvShape const& s, ConvArgs const& args, Planes const& planes) noexcept {
        const std::size_t scratch = planes.scratch_floats();
        args.executor.parallel_for(static_cast<std::size_t>(s.groups), [&](std::size_t group, std::size_t worker) {
            planes.run(args, static_cast<int>(group), args.scratch + worker * scratch);
        });
    }
    template <class Arch, class Planes>
    [[nodiscard]] static Work work_of(ConvShape const& s, Planes const& planes) {
        const double in = 4.0 * static_cast<double>(s.in_pixels()) * s.c,
                     out = 4.0 * static_cast<double>(s.out_pixels()) * s.k;
        constexpr double slot = 2.0 * lanes<Arch>;
        return Work{}
            .add({.rate = Rate::gemm,
                  .operations = slot * s.c * planes.copy_slots(),
                  .bytes = in,
                  .working_set = in + out,
                  .blocks = 1.0 * s.groups})
            .add({.rate = Rate::gemm,
                  .operations = slot * s.k * planes.kernel_slots(),
                  .bytes = 2 * out,
                  .working_set = in + out,
                  .blocks = 1.0 * s.groups,
                  .loops = 1});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
