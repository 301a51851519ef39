#pragma once

#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/join.hpp>
#include <primsel/onnx/detail/pool.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// One value for all elements along the axes, ascending; these stay, with an extent of one.
inline Operand emit_reduce(Builder& build, ReduceKind kind, Operand src, std::vector<std::size_t> const& axes) {
    const std::size_t rank = src.dims.size();
    // All pixels of each channel.
    bool is_image = kind != ReduceKind::sum && !axes.empty() && build.axis_of(rank - 1, rank) != Axis::c;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const bool is_pixel = build.axis_of(axis, rank) != Axis::c;
        is_image = is_image && is_pixel == std::ranges::binary_search(axes, axis);
    }
    if (is_image) {
        Sizes dims = src.dims;
        for (const std::size_t axis : axes) dims[axis] = 1;
        return emit_global_pool(build, kind == ReduceKind::max ? PoolKind::max : PoolKind::average, src, dims);
    }
    // Neighbouring axes at once.
    for (std::size_t i = 0; i < axes.size();) {
        const std::size_t first = axes[i];
        std::size_t last = first;
        while (i < axes.size() && axes[i] == last) ++i, ++last;
        const AxisView along = build.view_along(src.dims, first, last);
        const std::size_t input = build.view(src, along.shape),
                          node = build.emit(ReduceParams{kind, along.axis}, {input});
        Sizes dims = src.dims;
        for (std::size_t axis = first; axis < last; ++axis) dims[axis] = 1;
        src = build.operand(node, std::move(dims));
    }
    return src;
}

namespace detail {

/// The reductions that a model can ask for. Some are made of layers before and after a reduction.
enum class Reduction { mean, sum, max, min, product, l1, l2, sum_square, log_sum, log_sum_exp };

template <class T>
[[nodiscard]] T start_of(Reduction reduction) {
    using Limits = std::numeric_limits<T>;
    if (reduction == Reduction::max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    if (reduction == Reduction::min) return Limits::has_infinity ? Limits::infinity() : Limits::max();
    return reduction == Reduction::product ? T{1} : T{0};
}
template <class T>
void accumulate(Reduction reduction, T& sum, T value) {
    switch (reduction) {
        case Reduction::max:
            sum = std::max(sum, value);
            break;
        case Reduction::min:
            sum = std::min(sum, value);
            break;
        case Reduction::product:
            sum = static_cast<T>(sum * value);
            break;
        case Reduction::l1:
            sum += value < 0 ? -value : value;
            break;
        case Reduction::l2:
        case Reduction::sum_square:
            sum += value * value;
            break;
        case Reduction::log_sum_exp:
            if constexpr (std::is_same_v<T, double>) sum += std::exp(value);
            break;
        default:
            sum += value;
    }
}
[[nodiscard]] inline OnnxTensor fold_reduce(Builder& build, Reduction reduction, OnnxTensor const& src,
                                            std::vector<std::size_t> const& axes) {
    Sizes dims = src.dims;
    double count = 1;
    for (const std::size_t axis : axes) count *= static_cast<double>(std::exchange(dims[axis], 1));
    Strided to{src.dims, row_major(dims)};
    for (const std::size_t axis : axes) to.strides[axis] = 0;
    const Strided from{src.dims, row_major(src.dims)};
    return map_elements(src, dims, [&]<class T>(std::span<const T> values) {
        using Sum = std::conditional_t<std::is_same_v<T, float>, double, std::uint64_t>;
        // Whole numbers as unsigned, so that nothing overflows; but for the order.
        using Ordered = std::conditional_t<std::is_same_v<T, float>, double, std::int64_t>;
        const bool is_order = reduction == Reduction::max || reduction == Reduction::min;
        if (!std::is_same_v<T, float> && !is_order && reduction != Reduction::sum && reduction != Reduction::product) {
            fail("of integers");
        }
        std::vector<T> result = build.constants.make<T>(count_of(dims));
        std::vector<Sum> sums(is_order ? 0 : result.size(), start_of<Sum>(reduction));
        std::vector<Ordered> extremes(is_order ? result.size() : 0, start_of<Ordered>(reduction));
        walk(from, to, [&](std::size_t at, std::size_t into) {
            if (is_order)
                accumulate(reduction, extremes[into], static_cast<Ordered>(values[at]));
            else
                accumulate(reduction, sums[into], static_cast<Sum>(values[at]));
        });
        for (std::size_t i = 0; i < result.size(); ++i) {
            if (is_order) {
                result[i] = static_cast<T>(extremes[i]);
                continue;
            }
            if constexpr (std::is_same_v<T, float>) {
                if (reduction == Reduction::mean) sums[i] /= count;
                if (reduction == Reduction::l2) sums[i] = std::sqrt(sums[i]);
                if (reduction == Reduction::log_sum || reduction == Reduction::log_sum_exp) sums[i] = std::log(sums[i]);
                result[i] = to_float(sums[i]);
            } else {
                result[i] = static_cast<T>(sums[i]);
            }
        }
        return result;
    });
}

/// log(sum(exp(x))), where exp cannot overflow; x less that is its log-softmax.
[[nodiscard]] inline Operand emit_log_sum_exp(Builder& build, Operand const& x, std::vector<std::size_t> const& axes) {
    const Operand top = emit_reduce(build, ReduceKind::max, x, axes);
    const Operand below = emit_binary(build, BinaryKind::subtract, x, top);
    const Operand sum = emit_reduce(build, ReduceKind::sum, emit_unary(build, ActivationKind::exp, below), axes);
    return emit_binary(build, BinaryKind::add, top, emit_unary(build, ActivationKind::log, sum));
}
[[nodiscard]] inline Operand emit_reduction(Builder& build, Reduction reduction, Operand const& x,
                                            std::vector<std::size_t> const& axes) {
    const auto sum = [&](Operand const& terms) { return emit_reduce(build, ReduceKind::sum, terms, axes); };
    const auto square = [&] { return emit_unary(build, ActivationKind::power, x, 2.0F); };
    switch (reduction) {
        case Reduction::mean:
            return emit_reduce(build, ReduceKind::mean, x, axes);
        case Reduction::sum:
            return sum(x);
        case Reduction::max:
            return emit_reduce(build, ReduceKind::max, x, axes);
        case Reduction::min:
            return build.scale(emit_reduce(build, ReduceKind::max, build.scale(x, -1.0F, 0.0F), axes), -1.0F, 0.0F);
        case Reduction::product:
            fail("products are supported for constants only");
        case Reduction::l1:
            return sum(emit_unary(build, ActivationKind::abs, x));
        case Reduction::l2:
            // The root of one square.
            if (axes.empty()) return emit_unary(build, ActivationKind::abs, x);
            return emit_unary(build, ActivationKind::sqrt, sum(square()));
        case Reduction::sum_square:
            return sum(square());
        case Reduction::log_sum:
            return emit_unary(build, ActivationKind::log, sum(x));
        case Reduction::log_sum_exp:
            return emit_log_sum_exp(build, x, axes);
    }
    return x;
}

/// Whether the reduction of a single element is that element.
[[nodiscard]] inline bool keeps_one(Reduction reduction) {
    return reduction != Reduction::l1 && reduction != Reduction::l2 && reduction != Reduction::sum_square &&
           reduction != Reduction::log_sum;
}

/// Without the axes of one element that a reduction leaves, unless they are wanted.
[[nodiscard]] inline Sizes kept_dims(Sizes const& dims, std::vector<std::size_t> const& axes, bool keeps) {
    if (keeps) return dims;
    Sizes result;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (!std::ranges::binary_search(axes, axis)) result.push_back(dims[axis]);
    }
    return result;
}

inline void translate_reduce(Call& call, Reduction reduction, std::int64_t axes_as_input_since) {
    const std::size_t rank = call.rank(0);
    const bool as_input = call.opset() >= axes_as_input_since, keeps = call.integer("keepdims", 1) != 0;
    Sizes axes;
    if (as_input && call.has(1)) axes = call.integers(1, "axes");
    if (!as_input) axes = call.integers("axes", {});
    if (axes.empty() && !(as_input && call.integer("noop_with_empty_axes", 0) != 0)) {
        axes.resize(rank);
        std::iota(axes.begin(), axes.end(), 0);
    }
    std::vector<std::size_t> indices = axis_indices(axes, rank);
    if (indices.empty() && keeps_one(reduction)) return call.pass();
    if (const OnnxTensor* known = call.known(0)) {
        OnnxTensor result = fold_reduce(call.build, reduction, *known, indices);
        Sizes dims = kept_dims(result.dims, indices, keeps);
        return call.give(with_dims(std::move(result), std::move(dims)));
    }
    for (std::size_t& axis : indices) axis = call.build.image_axis(static_cast<std::int64_t>(axis), rank);
    const Operand result = emit_reduction(call.build, reduction, call.operand(0), indices);
    Sizes dims = kept_dims(result.dims, indices, keeps);
    call.give(call.build.reshape(result, std::move(dims)));
}

/// Every other element of the same axis, from the last to the first.
[[nodiscard]] inline Operand reversed(Builder& build, Operand const& x, std::size_t axis) {
    Strided places{x.dims, row_major(x.dims)};
    places.offset = places.strides[axis] * (x.dims[axis] - 1);
    places.strides[axis] = -places.strides[axis];
    return build.strided(x, places);
}

inline void translate_arg(Call& call, bool largest) {
    Builder& build = call.build;
    const std::size_t axis = build.image_axis(call.integer("axis", 0), call.rank(0));
    const bool last = call.integer("select_last_index", 0) != 0;
    Operand x = call.operand(0);
    const std::int64_t count = x.dims[axis];
    if (!largest) x = build.scale(x, -1.0F, 0.0F);
    if (last) x = reversed(build, x, axis);
    const AxisView along = build.view_along(x.dims, axis);
    const std::size_t input = build.view(x, along.shape),
                      node = build.emit(ReduceParams{ReduceKind::arg_max, along.axis}, {input});
    Sizes dims = x.dims;
    dims[axis] = 1;
    Operand result = build.operand(node, dims);
    if (last) result = build.scale(result, -1.0F, static_cast<float>(count - 1));
    dims = kept_dims(dims, {axis}, call.integer("keepdims", 1) != 0);
    call.give(build.reshape(result, std::move(dims)), 0, OnnxType::int64);
}
}  // namespace detail

inline void translate_reduce_mean(Call& call) { detail::translate_reduce(call, detail::Reduction::mean, 18); }
inline void translate_reduce_max(Call& call) { detail::translate_reduce(call, detail::Reduction::max, 18); }
inline void translate_reduce_min(Call& call) { detail::translate_reduce(call, detail::Reduction::min, 18); }
inline void translate_reduce_sum(Call& call) { detail::translate_reduce(call, detail::Reduction::sum, 13); }
inline void translate_reduce_prod(Call& call) { detail::translate_reduce(call, detail::Reduction::product, 18); }
inline void translate_reduce_l1(Call& call) { detail::translate_reduce(call, detail::Reduction::l1, 18); }
inline void translate_reduce_l2(Call& call) { detail::translate_reduce(call, detail::Reduction::l2, 18); }
inline void translate_reduce_sum_square(Call& call) {
    detail::translate_reduce(call, detail::Reduction::sum_square, 18);
}
inline void translate_reduce_log_sum(Call& call) { detail::translate_reduce(call, detail::Reduction::log_sum, 18); }
inline void translate_reduce_log_sum_exp(Call& call) {
    detail::translate_reduce(call, detail::Reduction::log_sum_exp, 18);
}
inline void translate_arg_max(Call& call) { detail::translate_arg(call, true); }
inline void translate_arg_min(Call& call) { detail::translate_arg(call, false); }

/// The largest or smallest elements along an axis, and where they lie.
inline void translate_top_k(Call& call) {
    Builder& build = call.build;
    const std::size_t rank = call.rank(0), axis = build.image_axis(call.integer("axis", -1), rank);
    Operand x = call.operand(0);
    const Sizes given = call.opset() < 10 ? Sizes{call.integer("k", 0)} : call.integers(1, "k");
    if (given.size() != 1) fail("its k has ", given.size(), " elements");
    TopKParams params{.k = bounded(given[0], 1, x.dims[axis], "k"), .largest = call.integer("largest", 1) != 0};
    // That axis becomes the last, and then goes back.
    std::vector<std::size_t> there, back;
    for (std::size_t i = 0; i < x.dims.size(); ++i) {
        if (i != axis) there.push_back(i);
        back.push_back(i < axis ? i : i - 1);
    }
    there.push_back(axis);
    back[axis] = x.dims.size() - 1;
    const bool is_last = axis + 1 == x.dims.size();
    if (!is_last) x = build.strided(x, permutation(x.dims, there));
    const Shape rows{.c = product(x.dims, 0, x.dims.size() - 1), .h = 1, .w = static_cast<int>(x.dims.back())};
    Sizes dims = x.dims;
    dims.back() = params.k;
    const auto result = [&](std::size_t output, OnnxType type) {
        if (!call.wants(output)) return;
        params.positions = output == 1;
        const std::size_t input = build.view(x, rows);
        const Operand top = build.operand(build.emit(params, {input}), dims);
        call.give(is_last ? top : build.strided(top, permutation(dims, back)), output, type);
    };
    result(0, call.input(0).type);
    result(1, OnnxType::int64);
}

namespace detail {
/// The absolute values to the power of p, and the root of what these add up to.
struct Norm {
    float p;
    [[nodiscard]] Operand terms(Builder& build, Operand const& x) const {
        if (p == 2.0F) return emit_unary(build, ActivationKind::power, x, 2.0F);
        const Operand absolute = emit_unary(build, ActivationKind::abs, x);
        return p == 1.0F ? absolute : emit_unary(build, ActivationKind::power, absolute, p);
    }
    [[nodiscard]] Operand root(Builder& build, Operand const& sum) const {
        if (p == 1.0F) return sum;
        if (p == 2.0F) return emit_unary(build, ActivationKind::sqrt, sum);
        return emit_unary(build, ActivationKind::power, sum, 1.0F / p);
    }
};
[[nodiscard]] inline Norm norm_of(Call const& call) {
    const float p = call.opset() < 2 ? call.real("p", 2.0F) : static_cast<float>(call.integer("p", 2));
    if (!(p >= 1.0F) || !is_finite(p)) fail("a norm of p = ", p);
    return {p};
}
}  // namespace detail

/// The norm of all pixels of each channel.
inline void translate_global_lp_pool(Call& call) {
    if (call.rank(0) < 3) fail("on a tensor of ", call.rank(0), " dimensions");
    Builder& build = call.build;
    const detail::Norm norm = detail::norm_of(call);
    const Operand terms = norm.terms(build, call.operand(0));
    std::vector<std::size_t> axes(terms.dims.size() - (2 - build.hidden_axes()));
    std::iota(axes.begin(), axes.end(), 2 - build.hidden_axes());
    call.give(norm.root(build, emit_reduce(build, ReduceKind::sum, terms, axes)));
}

/// The norm of the pixels under a window, those in the padding being 0.
inline void translate_lp_pool(Call& call) {
    Builder& build = call.build;
    const detail::Norm norm = detail::norm_of(call);
    detail::Pooling pooling = detail::read_pool(call, PoolKind::average);
    const std::size_t axes = call.rank(0) - 2;
    Operand terms = norm.terms(build, detail::without_first(build, call.operand(0), pooling.skipped, axes));
    PoolParams& params = pooling.params;
    params.count_include_pad = true;
    if (params.ceil_mode) {
        // An average over the part of a window that is there would not tell the sum.
        const Shape in = build.shape_of(terms.dims), out = params.output({&in, 1});
        const auto missing = [](int count, int stride, int window, int dilation, int size) {
            return std::max(0, (count - 1) * stride + (window - 1) * dilation + 1 - size);
        };
        const Padding& pad = params.padding;
        Sizes none(terms.dims.size(), 0), more = none;
        more.back() = missing(out.w, params.stride.w, params.window.w, params.dilation.w, in.w + pad.left + pad.right);
        if (axes == 2) {
            more.end()[-2] =
                missing(out.h, params.stride.h, params.window.h, params.dilation.h, in.h + pad.top + pad.bottom);
        }
        params.ceil_mode = false;
        terms = emit_pad(build, std::move(terms), none, more, PadMode::constant, 0.0F);
    }
    const Operand mean = detail::pooled(build, terms, params, axes);
    call.give(norm.root(build, build.scale(mean, static_cast<float>(params.window.h * params.window.w), 0.0F)));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
