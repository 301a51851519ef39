// Layers that run in hwc_u8, so that tensors between convolutions in 8 bits need not become floats.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/layer/activation.hpp>
#include <primsel/layer/combine.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/op/activation.hpp>
#include <primsel/op/dense_narrow.hpp>  // IWYU pragma: export
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/narrow.hpp>
#include <primsel/op/detail/narrow_elements.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/hwc_u8.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// Maps each byte.
using ByteTable = std::array<std::uint8_t, 256>;
/// Returns the table of a function of floats, run(floats, n).
template <class Run>
[[nodiscard]] ByteTable byte_table(TensorRange const& from, TensorRange const& to, Run const& run) noexcept {
    ByteTable table;
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(i);
    alignas(alignment) float values[256];
    from_bytes(table.data(), table.size(), from, values);
    run(values, table.size());
    to_bytes(values, table.size(), ToBytes(to), table.data());
    return table;
}
inline void look_up(ByteTable const& table, const std::uint8_t* src, std::size_t n, std::uint8_t* dst) noexcept {
    for (std::size_t i = 0; i < n; ++i) dst[i] = table[src[i]];
}

/// The largest of a window's pixels, `bytes` bytes from c on.
template <std::size_t bytes>
void max_of_window(NarrowImages<hwc_u8> const& src, std::size_t image, WindowTaps const& down, WindowTaps const& across,
                   std::size_t c, std::uint8_t* dst) noexcept {
    // A vector, because compilers take a loop over bytes apart before they see one in it.
    using Bytes [[gnu::vector_size(bytes)]] = std::uint8_t;
    Bytes most{};
    for (std::ptrdiff_t y = down.first; y < down.last; ++y) {
        for (std::ptrdiff_t x = across.first; x < across.last; ++x) {
            Bytes next;
            std::memcpy(&next, src.at(image, down[y], across[x]) + c, bytes);
            most = most > next ? most : next;
        }
    }
    std::memcpy(dst, &most, bytes);
}
/// The mean of a window's pixels: the sum of src - src_zero, times src_scale / (counted taps * dst_scale).
template <class Arch>
void mean_of_window(NarrowImages<hwc_u8> const& src, std::size_t image, WindowTaps const& down,
                    WindowTaps const& across, TensorRange const& range, ToBytes const& to, std::uint8_t* dst) noexcept {
    const ByteStore<Arch> store(to);
    const auto zero = broadcast<Arch>(static_cast<float>(range.zero_point)),
               factor = broadcast<Arch>(range.scale * to.factor / (down.counted * across.counted));
    for (std::size_t c = 0; c < src.pixel; c += lanes<Arch>) {
        const std::size_t n = src.pixel - c;
        auto sum = broadcast<Arch>(0.0F);
        for (std::ptrdiff_t y = down.first; y < down.last; ++y) {
            for (std::ptrdiff_t x = across.first; x < across.last; ++x) {
                sum += load_some<Arch>(src.at(image, down[y], across[x]) + c, n) - zero;
            }
        }
        store_some<Arch>(store, dst + c, sum * factor, n);
    }
}
/// Reduces the pixels of a window to one.
template <class Arch>
class BytePool {
public:
    BytePool(PoolKind kind, OpArgs const& args)
        : kind_(kind), range_(args.src_range[0]), dst_range_(args.dst_range), to_(args.dst_range) {}
    void operator()(NarrowImages<hwc_u8> const& src, std::size_t image, WindowTaps const& down,
                    WindowTaps const& across, std::uint8_t* dst) const noexcept {
        if (kind_ != PoolKind::max) return mean_of_window<Arch>(src, image, down, across, range_, to_, dst);
        const auto largest = [&]<std::size_t bytes>() {
            for (std::size_t c = 0; c < src.pixel; c += bytes) {
                max_of_window<bytes>(src, image, down, across, c, dst + c);
            }
        };
        // Compilers take wider vectors than the registers' apart, into single bytes.
        constexpr std::size_t width = sizeof(float) * lanes<Arch>;
        if (src.pixel >= width) {
            largest.template operator()<width>();
        } else if (src.pixel == 32) {
            largest.template operator()<std::min<std::size_t>(width, 32)>();
        } else if (src.pixel == 16) {
            largest.template operator()<std::min<std::size_t>(width, 16)>();
        } else if (src.pixel == 8) {
            largest.template operator()<8>();
        } else {
            largest.template operator()<4>();
        }
        if (range_ != dst_range_) change_range(dst, src.pixel, range_, dst_range_, dst);
    }

private:
    PoolKind kind_;
    TensorRange range_, dst_range_;
    ToBytes to_;
};

/// Counts of a pool that reads `pixels` pixels. A vector holds four times as many bytes as floats, and maxima stay
/// bytes.
template <class Arch>
[[nodiscard]] OpCounts byte_pool_counts(PoolKind kind, double pixels, std::span<const Shape> inputs, Shape output) {
    if (kind != PoolKind::max) return narrow_pixel_counts<Arch, hwc_u8>(pixels, inputs, output);
    return narrow_counts<hwc_u8>(pixels * covering_lanes<Arch>((hwc_u8::pixel(output.c) + 3) / 4), inputs, output);
}

}  // namespace op::detail

template <>
struct OpIn<PoolParams, hwc_u8> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(PoolParams const& params, std::span<const Shape> inputs, Shape output) {
        return op::detail::byte_pool_counts<Arch>(params.kind, op::detail::pixels_of_windows(params, inputs[0], output),
                                                  inputs, output);
    }
    template <class Arch>
    static void run(PoolParams const& params, OpArgs const& args) noexcept {
        op::detail::for_windows<hwc_u8>(params, args, op::detail::BytePool<Arch>(params.kind, args));
    }
};

template <>
struct OpIn<GlobalPoolParams, hwc_u8> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(GlobalPoolParams const& params, std::span<const Shape> inputs, Shape output) {
        return op::detail::byte_pool_counts<Arch>(params.kind, static_cast<double>(inputs[0].pixels()), inputs, output);
    }
    template <class Arch>
    static void run(GlobalPoolParams const& params, OpArgs const& args) noexcept {
        op::detail::for_images<hwc_u8>(args, op::detail::BytePool<Arch>(params.kind, args));
    }
};

/// Adds (src - src_zero) * (src_scale / dst_scale) of the inputs in their order, in floats.
template <>
struct OpIn<AddParams, hwc_u8> {
    static constexpr bool in_place = true;

    template <class Arch>
    [[nodiscard]] static OpCounts work(AddParams const&, std::span<const Shape> inputs, Shape output) {
        return op::detail::narrow_counts<hwc_u8>(3.0 * static_cast<double>(inputs.size() * hwc_u8::size(output)),
                                                 inputs, output);
    }
    template <class Arch>
    static void run(AddParams const&, OpArgs const& args) noexcept {
        const op::detail::NarrowImages<hwc_u8> dst(args.dst, args.dst_shape);
        const ToBytes to(args.dst_range, args.clamp);
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * dst.shape.pixels(), dst.pixel,
                               [&](std::size_t first, std::size_t last) {
                                   const ByteStore<Arch> store(to);
                                   for (std::size_t at = first * dst.pixel, end = last * dst.pixel; at < end;
                                        at += lanes<Arch>) {
                                       const std::size_t n = end - at;
                                       auto sum = broadcast<Arch>(0.0F);
                                       for (std::size_t i = 0; i < args.src.size(); ++i) {
                                           TensorRange const& range = args.src_range[i];
                                           const auto* const src = reinterpret_cast<const std::uint8_t*>(args.src[i]);
                                           const auto zero = broadcast<Arch>(static_cast<float>(range.zero_point));
                                           sum += rounded_product<Arch>(op::detail::load_some<Arch>(src + at, n) - zero,
                                                                        broadcast<Arch>(range.scale * to.factor));
                                       }
                                       op::detail::store_some<Arch>(store, dst.data + at, sum, n);
                                   }
                               });
    }
};

/// By a table of the results of all bytes.
template <>
struct OpIn<ActivationParams, hwc_u8> {
    static constexpr bool in_place = true;

    template <class Arch>
    [[nodiscard]] static OpCounts work(ActivationParams const&, std::span<const Shape> inputs, Shape output) {
        OpCounts counts = op::detail::narrow_counts<hwc_u8>(0, inputs, output);
        counts.scalars = static_cast<double>(hwc_u8::size(output));
        return counts;
    }
    template <class Arch>
    static void run(ActivationParams const& params, OpArgs const& args) noexcept {
        const op::detail::NarrowImages<hwc_u8> src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
        const op::detail::ByteTable table =
            op::detail::byte_table(args.src_range[0], args.dst_range, [&params](float* values, std::size_t n) {
                Sequential here;
                const float* const from = values;
                const Shape shape{.c = static_cast<int>(n), .h = 1, .w = 1};
                Op<ActivationParams>::run<Arch, hwc>(
                    params,
                    {.src = {&from, 1}, .src_shape = {&shape, 1}, .dst = values, .dst_shape = shape, .executor = here});
            });
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * src.shape.pixels(), src.pixel,
                               [&](std::size_t first, std::size_t last) {
                                   op::detail::look_up(table, src.data + first * src.pixel, (last - first) * src.pixel,
                                                       dst.data + first * src.pixel);
                               });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
