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
    constexpr void each_field(auto const& visit) const {
        visit("kind", kind), visit("window", window), visit("stride", stride), visit("padding", padding),
            visit("ceil_mode", ceil_mode), visit("count_include_pad", count_include_pad), visit("dilation", dilation);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        // A window wholly in the padding would have no maximum.
        if (padding.top >= span_h() || padding.bottom >= span_h() || padding.left >= span_w() ||
            padding.right >= span_w()) {
            return Fault::padding_exceeds_kernel;
        }
        // Rounding up, a window may reach beyond the padded input by less than a stride.
        const std::int64_t h = layer::detail::padded_h(inputs[0], padding),
                           w = layer::detail::padded_w(inputs[0], padding);
        const int spare_h = ceil_mode ? stride.h - 1 : 0, spare_w = ceil_mode ? stride.w - 1 : 0;
        if (span_h() > h + spare_h || span_w() > w + spare_w) return Fault::kernel_exceeds_input;
        return layer::detail::pixels_within_bounds(inputs[0].c, h, w) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size(window)) return "the window's height and width must be from 1 to 2^29";
        return layer::detail::impossible_window(stride, padding, dilation);
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c,
                .h = extent(inputs[0].h, span_h(), stride.h, padding.top, padding.bottom),
                .w = extent(inputs[0].w, span_w(), stride.w, padding.left, padding.right)};
    }
    friend constexpr bool operator==(PoolParams const&, PoolParams const&) = default;

private:
    [[nodiscard]] constexpr std::int64_t span_h() const { return layer::detail::dilated(window.h, dilation.h); }
    [[nodiscard]] constexpr std::int64_t span_w() const { return layer::detail::dilated(window.w, dilation.w); }
    [[nodiscard]] constexpr int extent(std::int64_t in, std::int64_t size, int step, int before, int after) const {
        const std::int64_t room = in + before + after - size;
        std::int64_t out = (ceil_mode ? room + step - 1 : room) / step + 1;
        // The last window must start inside the image or its leading padding.
        if (ceil_mode && (out - 1) * step >= in + before) --out;
        return static_cast<int>(out);
    }
};

/// Where the maxima of a max pooling lie: the offset of each, as a float, in the whole batch of inputs in chw order.
struct MaxPoolIndicesParams {
    PoolParams pool;

    [[nodiscard]] static constexpr std::string_view name() { return "max_pool_indices"; }
    constexpr void each_field(auto const& visit) const { visit("pool", pool); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return pool.kind == PoolKind::max ? pool.check(inputs) : Fault::impossible_parameter;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return pool.kind == PoolKind::max ? pool.impossible() : "the pooling must be max pooling";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return pool.output(inputs); }
    friend constexpr bool operator==(MaxPoolIndicesParams const&, MaxPoolIndicesParams const&) = default;
};

/// Pooling over the whole image. Output: c x 1 x 1.
struct GlobalPoolParams {
    PoolKind kind = PoolKind::average;

    [[nodiscard]] constexpr std::string_view name() const {
        return kind == PoolKind::max ? "global_max_pool" : "global_average_pool";
    }
    constexpr void each_field(auto const& visit) const { visit("kind", kind); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(GlobalPoolParams const&, GlobalPoolParams const&) = default;
};

enum class ReduceKind { mean, sum, max, arg_max };

/// One value for all elements along an axis. arg_max: the position of the first of those that are largest; NaN is
/// passed over.
struct ReduceParams {
    ReduceKind kind = ReduceKind::mean;
    Axis axis = Axis::c;

    [[nodiscard]] constexpr std::string_view name() const {
        constexpr std::string_view names[] = {"reduce_mean", "reduce_sum", "reduce_max", "arg_max"};
        return names[static_cast<std::size_t>(kind)];
    }
    constexpr void each_field(auto const& visit) const { visit("kind", kind), visit("axis", axis); }
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

/// The k largest (or smallest) elements of each row, in their order, or their positions in the row. Of equal elements,
/// the first comes first; NaN comes after all others.
struct TopKParams {
    int k = 1;
    bool largest = true, positions = false;

    [[nodiscard]] constexpr std::string_view name() const { return positions ? "top_k_positions" : "top_k"; }
    constexpr void each_field(auto const& visit) const {
        visit("k", k), visit("largest", largest), visit("positions", positions);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return k < 1 || k > inputs[0].w ? Fault::impossible_parameter : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = inputs[0].h, .w = k};
    }
    friend constexpr bool operator==(TopKParams const&, TopKParams const&) = default;
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
    template <Extent value>
    static constexpr void apply(PoolParams& params, Dilation<value>)
        requires(kind == PoolKind::max)
    {
        params.dilation = value;
    }
    static constexpr void apply(PoolParams& params, CeilMode) { params.ceil_mode = true; }
    static constexpr void apply(PoolParams& params, ExcludePad)
        requires(kind == PoolKind::average)
    {
        params.count_include_pad = false;
    }
    template <class Other>
    static constexpr void apply(PoolParams&, Other) {
        static_assert(sizeof(Other) == 0 || kind != PoolKind::max,
                      "primsel: MaxPool has no such option; it has Stride, Pad, Dilation and CeilMode: see "
                      "docs/layer/layers.md");
        static_assert(sizeof(Other) == 0 || kind != PoolKind::average,
                      "primsel: AveragePool has no such option; it has Stride, Pad, CeilMode and ExcludePad: see "
                      "docs/layer/layers.md");
    }

public:
    static constexpr PoolParams params = [] {
        PoolParams result{.kind = kind, .window = window, .stride = window};
        (apply(result, Options{}), ...);
        return result;
    }();
};
}  // namespace detail

/// Options: Stride<...> (default: the window), Pad<...> (default: 0), Dilation<...>, CeilMode.
template <Extent window, class... Options>
struct MaxPool : layer::detail::Pool<PoolKind::max, window, Options...> {};
/// Options: Stride<...> (default: the window), Pad<...> (default: 0), CeilMode, ExcludePad.
template <Extent window, class... Options>
struct AveragePool : layer::detail::Pool<PoolKind::average, window, Options...> {};
struct GlobalAvgPool {
    static constexpr GlobalPoolParams params{PoolKind::average};
};
struct GlobalMaxPool {
    static constexpr GlobalPoolParams params{PoolKind::max};
};
/// The mean, sum or maximum along one axis.
template <ReduceKind kind, Axis axis>
struct Reduce {
    static constexpr ReduceParams params{kind, axis};
};

}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
