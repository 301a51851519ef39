#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/indirect_product.hpp>
#include <primsel/primitive/detail/pixel_pointers.hpp>
#include <primsel/primitive/direct.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <new>

namespace primsel::inline PRIMSEL_ABI {

/// Indirect convolution (Dukhan 2019, arXiv 1907.02129). A buffer of pointers to the pixels under each tap replaces the
/// patch matrix; a tap in the padding points to zeros. Tiles run over all output pixels, across rows and images.
struct Indirect {
    static constexpr FixedString id = "indirect";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, whole_batch = true, by_rows = true, packs_for_any_size = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return DirectHwc::packed_floats<Arch>(s);
    }
    template <class Arch>
    static void pack(ConvShape const& s, KernelView kernel, float* dst, ExecutorRef executor) {
        DirectHwc::pack<Arch>(s, kernel, dst, executor);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return round_up_floats(static_cast<std::size_t>(s.c)) + workers * pointer_floats(s);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const std::size_t zeros = round_up_floats(static_cast<std::size_t>(s.c));
        std::fill_n(args.scratch, zeros, 0.0F);
        const std::size_t pixels = s.out_pixels() * static_cast<std::size_t>(args.images), most = block_pixels;
        const auto panels = static_cast<std::size_t>(gemm::panel_count<Arch>(s.group_k()));
        const auto [blocks, shares] = blocks_of<Arch>(s, pixels, args.executor.concurrency());
        args.executor.parallel_for(blocks * shares, [=, &s, &args, shares = shares](std::size_t i, std::size_t worker) {
            const std::size_t block = i / shares, share = i % shares;
            const int first_panel = static_cast<int>(share * panels / shares),
                      last_panel = static_cast<int>((share + 1) * panels / shares);
            const std::size_t first = block * most;
            const int count = static_cast<int>(std::min(most, pixels - first));
            auto* slot = args.scratch + zeros + worker * pointer_floats(s);
            auto* pointers = ::new (static_cast<void*>(slot)) const float*[block_pointers(s)];
            for (int pixel = 0; pixel < count; pixel += rows) {
                primitive::detail::point_to_pixels(s, args.src, args.scratch, first + static_cast<std::size_t>(pixel),
                                                   std::min(rows, count - pixel), pointers + pixel * s.taps());
            }
            for (int group = 0; group < s.groups; ++group) {
                const primitive::detail::IndirectProduct p = product<Arch>(s, args, pointers, first, count, group);
                float* dst =
                    args.dst + first * static_cast<std::size_t>(s.k) + static_cast<std::size_t>(group * s.group_k());
                for (int panel = first_panel; panel < last_panel; ++panel) {
                    primitive::detail::multiply_indirect<Arch>(p, panel, dst + panel * gemm::panel_width<Arch>);
                }
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& image, int images, int threads) {
        const ConvShape s = tall(image, images);
        const Blocks of = blocks_of<Arch>(s, s.out_pixels(), static_cast<std::size_t>(threads));
        const auto blocks = static_cast<double>(of.count * of.shares);
        const double pixels = static_cast<double>(s.out_pixels()), in = 4.0 * static_cast<double>(s.in_shape().size());
        const double columns = static_cast<double>(s.groups) * gemm::padded_columns<Arch>(s.group_k());
        const double weights = 4.0 * s.depth() * columns, out = 4.0 * pixels * s.k;
        return Work{}
            .add({.rate = Rate::scalar,
                  .operations = pixels * s.taps(),
                  .bytes = 8.0 * pixels * s.taps(),
                  .working_set = 8.0 * block_pixels * s.taps(),
                  .blocks = blocks,
                  .loops = 1})
            .add({.rate = Rate::gemm,
                  .operations = s.groups * gemm::tile_operations<Arch>(pixels, s.group_k(), s.depth()),
                  .bytes = in + weights * std::max(1.0, pixels / block_pixels) + 2 * out,
                  .working_set = in + weights + out,
                  .blocks = blocks});
    }

private:
    static constexpr int rows = primitive::detail::indirect_rows;
    static constexpr int block_pixels = 20 * rows;

    /// The blocks of pixels. If they are few, the panels of each are divided among threads too, in shares.
    struct Blocks {
        std::size_t count, shares;
    };
    template <class Arch>
    [[nodiscard]] static constexpr Blocks blocks_of(ConvShape const& s, std::size_t pixels, std::size_t threads) {
        const std::size_t count = (pixels + block_pixels - 1) / block_pixels;
        const auto panels = static_cast<std::size_t>(gemm::panel_count<Arch>(s.group_k()));
        return {count, count < 2 * threads ? std::min(threads, panels) : 1};
    }
    [[nodiscard]] static constexpr std::size_t block_pointers(ConvShape const& s) {
        return static_cast<std::size_t>(block_pixels) * static_cast<std::size_t>(s.taps());
    }
    [[nodiscard]] static constexpr std::size_t pointer_floats(ConvShape const& s) {
        return primitive::detail::pointer_floats(block_pointers(s));
    }
    /// Returns the product of one group for `count` output pixels from `first` on.
    template <class Arch>
    [[nodiscard]] static primitive::detail::IndirectProduct product(ConvShape const& s, ConvArgs const& args,
                                                                    const float* const* pointers, std::size_t first,
                                                                    int count, int group) noexcept {
        const auto k = static_cast<std::size_t>(s.k), first_k = static_cast<std::size_t>(group * s.group_k()),
                   offset = first * k + first_k;
        return {
            .pointers = pointers,
            .pixels = count,
            .taps = s.taps(),
            .run = s.group_c(),
            .columns = s.group_k(),
            .offset = static_cast<std::size_t>(group * s.group_c()),
            .packed = args.weights + static_cast<std::size_t>(group) * gemm::packed_size<Arch>(s.depth(), s.group_k()),
            .c_stride = k,
            .bias = args.bias == nullptr ? nullptr : args.bias + first_k,
            .residual = args.residual == nullptr ? nullptr : args.residual + offset,
            .clamp = args.clamp};
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
