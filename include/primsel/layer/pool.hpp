#pragma once

#include <primsel/layer/option.hpp>

namespace primsel::inline PRIMSEL_ABI {

enum class PoolKind { max, average };

/// Pooling over a window of each channel. Padding counts as minus infinity for max, and as zeros for average (which
/// divides by the whole window, or by its pixels inside the image where count_include_pad is false; what ceil_mode
/// adds beyond the padding is never counted). As PyTorch's MaxPool2d and AvgPool2d.
struct PoolParams {
    PoolKind kind = PoolKind::max;
    Extent window{2};
    Extent stride{2};
    Padding padding{};
    bool ceil_mode = false;
    bool count_include_pad = true;
    Extent dilation{1};

    [[nodiscard]] constexpr std::string_view name() const {
        return kind == PoolKind::max ? "max_pool" : "average_pool";
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (window.h < 1 || window.w < 1 || stride.h < 1 || stride.w < 1 || dilation.h < 1 || dilation.w < 1 ||
            padding.negative()) {
            return Fault::impossible_parameter;
        }
        // A window wholly in the padding would have no maximum.
        if (padding.top >= span_h() || padding.bottom >= span_h() || padding.left >= span_w() ||
            padding.right >= span_w()) {
            return Fault::padding_exceeds_kernel;
        }
        // Rounding up, a window may reach beyond the padded input by less than a stride.
        const int spare_h = ceil_mode ? stride.h - 1 : 0, spare_w = ceil_mode ? stride.w - 1 : 0;
        if (span_h() > inputs[0].h + padding.top + padding.bottom + spare_h) return Fault::kernel_exceeds_input;
        if (span_w() > inputs[0].w + padding.left + padding.right + spare_w) return Fault::kernel_exceeds_input;
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c,
                .h = extent(inputs[0].h, span_h(), stride.h, padding.top, padding.bottom),
                .w = extent(inputs[0].w, span_w(), stride.w, padding.left, padding.right)};
    }
    friend constexpr bool operator==(PoolParams const&, PoolParams const&) = default;

private:
    [[nodiscard]] constexpr int span_h() const { return (window.h - 1) * dilation.h + 1; }
    [[nodiscard]] constexpr int span_w() const { return (window.w - 1) * dilation.w + 1; }
    [[nodiscard]] constexpr int extent(int in, int size, int step, int before, int after) const {
        const int room = in + before + after - size;
        int out = (ceil_mode ? room + step - 1 : room) / step + 1;
        // The last window must start inside the image or its leading padding.
        if (ceil_mode && (out - 1) * step >= in + before) --out;
        return out;
    }
};

/// Where the maxima of a max pooling lie: the offset of each, as a float, in the whole batch of inputs in chw order.
struct MaxPoolIndicesParams {
    PoolParams pool;

    [[nodiscard]] static constexpr std::string_view name() { return "max_pool_indices"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return pool.kind == PoolKind::max ? pool.check(inputs) : Fault::impossible_parameter;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return pool.output(inputs); }
    friend constexpr bool operator==(MaxPoolIndicesParams const&, MaxPoolIndicesParams const&) = default;
};

/// Pooling over the whole image: one value a channel.
struct GlobalPoolParams {
    PoolKind kind = PoolKind::average;

    [[nodiscard]] constexpr std::string_view name() const {
        return kind == PoolKind::max ? "global_max_pool" : "global_average_pool";
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(GlobalPoolParams const&, GlobalPoolParams const&) = default;
};

enum class ReduceKind { mean, sum, max };

/// One value for all elements along an axis.
struct ReduceParams {
    ReduceKind kind = ReduceKind::mean;
    Axis axis = Axis::c;

    [[nodiscard]] constexpr std::string_view name() const {
        return kind == ReduceKind::mean ? "reduce_mean" : kind == ReduceKind::sum ? "reduce_sum" : "reduce_max";
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        Shape shape = inputs[0];
        primsel::extent(shape, axis) = 1;
        return shape;
    }
    friend constexpr bool operator==(ReduceParams const&, ReduceParams const&) = default;
};

namespace layer {

namespace detail {
template <PoolKind kind, Extent window, class... Options>
struct Pool {
private:
    template <Extent value>
    static constexpr void apply(PoolParams& params, Stride<value>) {
        params.stride = value;
    }
    template <Padding value>
    static constexpr void apply(PoolParams& params, Pad<value>) {
        params.padding = value;
    }
    static constexpr void apply(PoolParams& params, CeilMode) { params.ceil_mode = true; }
    static constexpr void apply(PoolParams& params, ExcludePad) { params.count_include_pad = false; }

public:
    static constexpr PoolParams params = [] {
        PoolParams result{.kind = kind, .window = window, .stride = window};
        (apply(result, Options{}), ...);
        return result;
    }();
};
}  // namespace detail

/// Options: Stride<...> (default: the window), Pad<...> (default: 0), CeilMode.
template <Extent window, class... Options>
struct MaxPool : detail::Pool<PoolKind::max, window, Options...> {};
/// Options: as MaxPool, and ExcludePad.
template <Extent window, class... Options>
struct AveragePool : detail::Pool<PoolKind::average, window, Options...> {};
struct GlobalAvgPool {
    static constexpr GlobalPoolParams params{PoolKind::average};
};
struct GlobalMaxPool {
    static constexpr GlobalPoolParams params{PoolKind::max};
};

}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
