#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/indirect_product.hpp>
#include <primsel/primitive/detail/pixel_pointers.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// The input pixels whose row and column have the same remainders modulo the strides; the same taps reach all of them.
struct GradientPhase {
    int first_h = 0, first_w = 0;  // the first of its pixels
    int rows = 0, columns = 0;
    int taps_h = 0, taps_w = 0;
    int taps_before = 0;  // the number of taps of the phases before it

    [[nodiscard]] int taps() const { return taps_h * taps_w; }
    [[nodiscard]] std::size_t pixels() const {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    }
};

/// One axis of a phase: the taps f of `size` with (at + pad - f * dilation) divisible by the stride, for the input
/// positions at, at + stride, ...
struct PhaseAxis {
    int size, stride, pad, dilation, extent;

    [[nodiscard]] bool meets(int phase, int tap) const {
        const int from = phase + pad - tap * dilation;
        return from % stride == 0;
    }
    [[nodiscard]] int taps(int phase) const {
        int count = 0;
        for (int tap = 0; tap < size; ++tap) count += meets(phase, tap) ? 1 : 0;
        return count;
    }
    [[nodiscard]] int places(int phase) const { return phase >= extent ? 0 : (extent - 1 - phase) / stride + 1; }
};
[[nodiscard]] constexpr PhaseAxis phase_rows(ConvShape const& s) {
    return {s.fh, s.stride_h, s.pad_top, s.dilation_h, s.h};
}
[[nodiscard]] constexpr PhaseAxis phase_columns(ConvShape const& s) {
    return {s.fw, s.stride_w, s.pad_left, s.dilation_w, s.w};
}

/// Calls visit(phase) for each phase that has pixels.
template <class Visit>
void for_phases(ConvShape const& s, Visit const& visit) {
    const PhaseAxis down = phase_rows(s), across = phase_columns(s);
    int taps = 0;
    for (int h = 0; h < s.stride_h; ++h) {
        for (int w = 0; w < s.stride_w; ++w) {
            const GradientPhase phase{.first_h = h,
                                      .first_w = w,
                                      .rows = down.places(h),
                                      .columns = across.places(w),
                                      .taps_h = down.taps(h),
                                      .taps_w = across.taps(w),
                                      .taps_before = taps};
            taps += phase.taps();
            if (phase.pixels() > 0) visit(phase);
        }
    }
}
/// Calls visit(fh, fw) for each tap of a phase.
template <class Visit>
void for_taps(ConvShape const& s, GradientPhase const& phase, Visit const& visit) {
    const PhaseAxis down = phase_rows(s), across = phase_columns(s);
    for (int fh = 0; fh < s.fh; ++fh) {
        if (!down.meets(phase.first_h, fh)) continue;
        for (int fw = 0; fw < s.fw; ++fw) {
            if (across.meets(phase.first_w, fw)) visit(fh, fw);
        }
    }
}

}  // namespace primitive::detail

/// The gradient of the input of any convolution, as indirect convolutions. Each phase of the input's pixels gathers
/// from the pixels of the result that depend on them, for all images at once.
struct IndirectInputGradient {
    static constexpr FixedString id = "input-gradient-indirect";
    static constexpr Family family = Family::other;
    static constexpr Pass pass = Pass::input_gradient;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool whole_batch = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    /// Returns the floats of the packed matrices: (taps x group_k) x group_c for each group and phase.
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.groups) * group_floats<Arch>(s);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        const auto k = static_cast<std::size_t>(s.group_k()), c = static_cast<std::size_t>(s.group_c());
        const std::size_t taps = static_cast<std::size_t>(s.taps());
        // Packs tap after tap, for some kernels at a time.
        constexpr std::size_t most = 16;
        std::vector<float> by_taps(taps == 1 ? 0 : most * c * taps);
        for (int group = 0; group < s.groups; ++group) {
            const float* of_group = kernel + static_cast<std::size_t>(group) * k * c * taps;
            for (std::size_t first = 0; first < k; first += most) {
                const std::size_t some = std::min(most, k - first);
                const float* ordered = of_group + first * c * taps;
                if (taps > 1) {
                    transpose_columns(ordered, taps, by_taps.data(), some * c, some * c, 0, taps);
                    ordered = by_taps.data();
                }
                primitive::detail::for_phases(s, [&](primitive::detail::GradientPhase const& phase) {
                    std::size_t before = 0;  // the number of taps before it in the phase
                    primitive::detail::for_taps(s, phase, [&](int fh, int fw) {
                        const std::size_t tap = static_cast<std::size_t>(fh * s.fw + fw), depth = before++ * k + first;
                        pack_rows<Arch>(ordered + tap * some * c, some, c, depth,
                                        static_cast<std::size_t>(phase.taps()) * k, dst + phase_offset<Arch>(s, phase));
                    });
                });
            }
            dst += group_floats<Arch>(s);
        }
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return zeros(s) + workers * worker_floats<Arch>(s);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        std::fill_n(args.scratch, zeros(s), 0.0F);
        const auto groups = static_cast<std::size_t>(s.groups);
        primitive::detail::for_phases(s, [&](primitive::detail::GradientPhase const& phase) {
            const std::size_t pixels = phase.pixels() * static_cast<std::size_t>(args.images), most = block_pixels;
            const std::size_t blocks = (pixels + most - 1) / most,
                              panels = static_cast<std::size_t>(gemm::panel_count<Arch>(s.group_c()));
            const std::size_t threads = args.executor.concurrency(),
                              shares = blocks < 2 * threads ? std::min(threads, panels) : 1;
            args.executor.parallel_for(blocks * shares, [&, pixels](std::size_t i, std::size_t worker) {
                const std::size_t block = i / shares, share = i % shares, first = block * most;
                const int count = static_cast<int>(std::min(most, pixels - first));
                float* mine = args.scratch + zeros(s) + worker * worker_floats<Arch>(s);
                auto* pointers = ::new (static_cast<void*>(mine)) const float*[block_pointers(s)];
                float* sums = mine + primitive::detail::pointer_floats(block_pointers(s));
                for (int pixel = 0; pixel < count; pixel += primitive::detail::indirect_rows) {
                    point(s, args, phase, first + static_cast<std::size_t>(pixel),
                          std::min(primitive::detail::indirect_rows, count - pixel), pointers + pixel * phase.taps());
                }
                for (std::size_t group = 0; group < groups; ++group) {
                    const float* packed = args.weights + group * group_floats<Arch>(s) + phase_offset<Arch>(s, phase);
                    for (std::size_t panel = share * panels / shares; panel < (share + 1) * panels / shares; ++panel) {
                        multiply<Arch>(s, args, phase, {pointers, first, count, packed, sums}, group,
                                       static_cast<int>(panel));
                    }
                }
            });
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double pixels = static_cast<double>(s.out_pixels()), in = 4.0 * pixels * s.k;
        const double columns = static_cast<double>(s.groups) * gemm::padded_columns<Arch>(s.group_c());
        const double out = 4.0 * static_cast<double>(s.in_shape().size());
        const double weights = 4.0 * s.taps() * s.group_k() * columns;
        Work work;
        work.add({.rate = Rate::scalar,
                  .operations = pixels * s.taps(),
                  .bytes = 8.0 * pixels * s.taps(),
                  .working_set = 8.0 * block_pixels * s.taps()});
        if (s.strided()) work.add({.rate = Rate::vector, .operations = 0, .bytes = 2 * out, .working_set = out});
        return work.add({.rate = Rate::gemm,
                         .operations = 2 * pixels * columns * s.taps() * s.group_k(),
                         .bytes = in + weights * std::max(1.0, pixels / block_pixels) + 2 * out,
                         .working_set = in + weights + out});
    }

private:
    static constexpr int block_pixels = 20 * primitive::detail::indirect_rows;

    /// Packs `src`, rows x columns, as rows [depth, depth + rows) of a packed matrix that has all_rows rows.
    template <class Arch>
    static void pack_rows(const float* src, std::size_t rows, std::size_t columns, std::size_t depth,
                          std::size_t all_rows, float* dst) {
        for (std::size_t first = 0; first < columns; first += static_cast<std::size_t>(gemm::panel_width<Arch>)) {
            const auto width =
                static_cast<std::size_t>(gemm::panel_columns<Arch>(static_cast<int>(first), static_cast<int>(columns)));
            const std::size_t floats = std::min(width, columns - first);
            float* to = dst + all_rows * first + depth * width;
            for (std::size_t row = 0; row < rows; ++row, to += width) {
                std::memcpy(to, src + row * columns + first, floats * sizeof(float));
                std::fill(to + floats, to + width, 0.0F);
            }
        }
    }

    struct Block {
        const float* const* pointers;
        std::size_t first;
        int count;
        const float* packed;
        float* sums;
    };

    [[nodiscard]] static constexpr std::size_t zeros(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.k));
    }
    [[nodiscard]] static constexpr std::size_t block_pointers(ConvShape const& s) {
        return static_cast<std::size_t>(block_pixels) * static_cast<std::size_t>(s.taps());
    }
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t worker_floats(ConvShape const& s) {
        const std::size_t sums = s.strided() ? static_cast<std::size_t>(block_pixels * gemm::panel_width<Arch>) : 0;
        return primitive::detail::pointer_floats(block_pointers(s)) + sums;
    }
    template <class Arch>
    [[nodiscard]] static std::size_t group_floats(ConvShape const& s) {
        return gemm::packed_size<Arch>(s.taps() * s.group_k(), s.group_c());
    }
    template <class Arch>
    [[nodiscard]] static std::size_t phase_offset(ConvShape const& s, primitive::detail::GradientPhase const& phase) {
        return gemm::packed_size<Arch>(phase.taps_before * s.group_k(), s.group_c());
    }

    /// A pixel of a phase: its image, and its row and column within the phase.
    struct Place {
        std::size_t image;
        int row, column;

        /// Finds the pixel by its number among the phase's pixels of all images.
        Place(primitive::detail::GradientPhase const& phase, std::size_t number)
            : image(number / phase.pixels()),
              row(static_cast<int>(number % phase.pixels()) / phase.columns),
              column(static_cast<int>(number % phase.pixels()) % phase.columns) {}
        void advance(primitive::detail::GradientPhase const& phase) {
            if (++column < phase.columns) return;
            column = 0;
            if (++row == phase.rows) row = 0, ++image;
        }
    };

    /// Writes pointers to the pixels of the result that depend on each of `count` neighbouring pixels of the phase, tap
    /// after tap. Missing ones point to zeros.
    static void point(ConvShape const& s, ConvArgs const& args, primitive::detail::GradientPhase const& phase,
                      std::size_t first, int count, const float** pointers) noexcept {
        const int out_h = s.out_h(), out_w = s.out_w();
        const Place begin(phase, first);
        primitive::detail::for_taps(s, phase, [&](int fh, int fw) {
            // The strides divide both distances, because the tap belongs to the phase.
            const int down = (phase.first_h - primitive::detail::tap_offset_h(s, fh)) / s.stride_h,
                      right = (phase.first_w - primitive::detail::tap_offset_w(s, fw)) / s.stride_w;
            Place at = begin;
            for (int i = 0; i < count; ++i, at.advance(phase)) {
                const int oh = at.row + down, ow = at.column + right;
                const bool in = oh >= 0 && ow >= 0 && oh < out_h && ow < out_w;
                *pointers++ = in ? args.src + at.image * s.out_shape().size() +
                                       static_cast<std::size_t>(oh * out_w + ow) * static_cast<std::size_t>(s.k)
                                 : args.scratch;
            }
        });
    }

    template <class Arch>
    static void multiply(ConvShape const& s, ConvArgs const& args, primitive::detail::GradientPhase const& phase,
                         Block const& block, std::size_t group, int panel) noexcept {
        const auto c = static_cast<std::size_t>(s.c), first_c = group * static_cast<std::size_t>(s.group_c());
        primitive::detail::IndirectProduct p{.pointers = block.pointers,
                                             .pixels = block.count,
                                             .taps = phase.taps(),
                                             .run = s.group_k(),
                                             .columns = s.group_c(),
                                             .offset = group * static_cast<std::size_t>(s.group_k()),
                                             .packed = block.packed};
        const int column = panel * gemm::panel_width<Arch>;
        if (!s.strided()) {  // then the phase has all pixels, in their order
            p.c_stride = c;
            return primitive::detail::multiply_indirect<Arch>(p, panel, args.dst + block.first * c + first_c + column);
        }
        const int width = std::min(gemm::panel_width<Arch>, s.group_c() - column);
        p.c_stride = static_cast<std::size_t>(gemm::panel_width<Arch>);
        primitive::detail::multiply_indirect<Arch>(p, panel, block.sums);
        Place at(phase, block.first);
        for (int i = 0; i < block.count; ++i, at.advance(phase)) {
            const int h = phase.first_h + at.row * s.stride_h, w = phase.first_w + at.column * s.stride_w;
            const std::size_t pixel = at.image * s.in_pixels() + static_cast<std::size_t>(h * s.w + w);
            std::memcpy(args.dst + pixel * c + first_c + static_cast<std::size_t>(column),
                        block.sums + static_cast<std::size_t>(i * gemm::panel_width<Arch>),
                        static_cast<std::size_t>(width) * sizeof(float));
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
