// Operators that look at where elements lie along an axis.
#pragma once

#include <primsel/onnx/detail/join.hpp>
#include <primsel/onnx/detail/logic.hpp>
#include <primsel/onnx/detail/reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {
/// The numbers first, first + 1, ... as a list.
[[nodiscard]] inline OnnxTensor counted(Builder& build, std::int64_t count, float first = 0.0F) {
    std::vector<float> values = build.constants.make<float>(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
    return own_elements(Sizes{count}, OnnxType::float32, std::move(values));
}
[[nodiscard]] inline std::int64_t single_integer(Call const& call, std::size_t i, std::string_view role) {
    const Sizes values = call.integers(i, role);
    if (values.size() != 1) fail("its ", role, " has ", values.size(), " elements");
    return values[0];
}
}  // namespace detail

/// The triangle of each matrix above or below a diagonal, with zeros elsewhere.
inline void translate_trilu(Call& call) {
    Sizes const& dims = call.dims(0);
    const std::size_t rank = dims.size();
    if (rank < 2) fail("on a tensor of ", rank, " dimensions");
    const std::int64_t n = dims[rank - 2], m = dims[rank - 1],
                       k = call.has(1) ? detail::single_integer(call, 1, "k") : 0;
    const bool is_upper = call.integer("upper", 1) != 0;
    const auto is_inside = [=](std::int64_t i, std::int64_t j) { return is_upper ? j - i >= k : j - i <= k; };
    if (const OnnxTensor* known = call.known(0)) {
        return call.give(map_elements(*known, dims, [&]<class T>(std::span<const T> src) {
            std::vector<T> dst = call.build.constants.make<T>(src.size());
            for (std::size_t i = 0; i < src.size(); ++i) {
                const auto at = static_cast<std::int64_t>(i);
                if (is_inside(at / m % n, at % m)) dst[i] = src[i];
            }
            return dst;
        }));
    }
    (void)call.build.image_axis(-2, rank);
    (void)elements(dims);
    std::vector<float> mask = call.build.constants.make<float>(static_cast<std::size_t>(n * m));
    for (std::size_t i = 0; i < mask.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        mask[i] = is_inside(at / m, at % m) ? 1.0F : 0.0F;
    }
    const Operand inside{{n, m}, std::nullopt, own_elements(Sizes{n, m}, OnnxType::float32, std::move(mask))};
    call.give(detail::emit_keep(call.build, inside, call.operand(0)));
}

/// Sums of all elements up to each along an axis; `reverse`: from each on; `exclusive`: without the element itself.
inline void translate_cum_sum(Call& call) {
    Builder& build = call.build;
    Sizes const& all = call.dims(0);
    const std::int64_t given = detail::single_integer(call, 1, "axis");
    const bool is_exclusive = call.integer("exclusive", 0) != 0, is_reverse = call.integer("reverse", 0) != 0;
    if (const OnnxTensor* known = call.known(0)) {
        const std::size_t axis = axis_index(given, all.size());
        const auto inner = static_cast<std::size_t>(row_major(all)[axis]), count = static_cast<std::size_t>(all[axis]);
        return call.give(map_elements(*known, all, [&]<class T>(std::span<const T> src) {
            using Sum = std::conditional_t<std::is_same_v<T, float>, double, std::uint64_t>;
            std::vector<T> dst = build.constants.make<T>(src.size());
            const auto rounded = [](Sum sum) {
                if constexpr (std::is_same_v<T, float>)
                    return to_float(sum);
                else
                    return static_cast<T>(sum);
            };
            for (std::size_t line = 0; count > 0 && line < src.size() / count; ++line) {
                Sum sum{};
                for (std::size_t i = 0; i < count; ++i) {
                    const std::size_t place = is_reverse ? count - 1 - i : i,
                                      at = (line / inner * count + place) * inner + line % inner;
                    if (is_exclusive) dst[at] = rounded(sum);
                    sum += static_cast<Sum>(src[at]);
                    if (!is_exclusive) dst[at] = rounded(sum);
                }
            }
            return dst;
        }));
    }
    const Operand x = call.operand(0);
    const std::size_t axis = build.image_axis(given, all.size());
    const std::int64_t count = x.dims[axis];
    if (is_exclusive && count == 1) {
        const OnnxTensor zero = build.constants.zero_like(empty_tensor({0}, call.input(0).type));
        return call.give(pick(zero, expansion({}, all), build.constants));
    }
    std::vector<Range> part;
    for (const std::int64_t dim : x.dims) part.push_back({0, dim, 1});
    // Each element takes the place that is `step` later, or earlier; zeros come in.
    const auto moved = [&](Operand const& from, std::int64_t step) {
        part[axis] = {is_reverse ? step : 0, count - step, 1};
        Sizes border(x.dims.size(), 0);
        const Sizes none = border;
        border[axis] = step;
        const Operand rest = emit_slice(build, from, part);
        return emit_pad(build, rest, is_reverse ? none : border, is_reverse ? border : none, PadMode::constant, 0.0F);
    };
    // The sums of 1, 2, 4, ... neighbours.
    Operand sum = is_exclusive ? moved(x, 1) : x;
    for (std::int64_t step = 1; step < count; step *= 2) {
        sum = emit_binary(build, BinaryKind::add, sum, moved(sum, step));
    }
    call.give(std::move(sum));
}

/// A new axis, along which one element is `on` and the others are `off`. Negative indices count from the end; those of
/// no element leave all off.
inline void translate_one_hot(Call& call) {
    Builder& build = call.build;
    OnnxTensor const &size = call.constant(1, "depth"), &values = call.constant(2, "values");
    if (size.size() != 1) fail("its depth has ", size.size(), " elements");
    if (values.size() != 2) fail("its values are ", values.size(), ", not 2");
    const std::int64_t depth =
        bounded(size.is_float() ? detail::to_integer(static_cast<double>(size.floats[0])) : size.integers[0], 1,
                1 << 24, "a depth");
    const std::size_t axis = build.image_axis(call.integer("axis", -1), call.rank(0) + 1);
    Operand index = call.operand(0);
    if (is_float(call.input(0).type)) index = emit_unary(build, ActivationKind::truncate, index);
    Sizes dims = index.dims, places(dims.size() + 1 - axis, 1);
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    places[0] = depth;
    index = build.reshape(index, dims);
    const auto is_at = [&](float first) {
        const Operand place{places, std::nullopt, with_dims(detail::counted(build, depth, first), places)};
        return emit_binary(build, BinaryKind::equal, index, place);
    };
    const Operand is_on = emit_binary(build, BinaryKind::add, is_at(0.0F), is_at(static_cast<float>(-depth)));
    const OnnxTensor numbers = to_floats(values, build.constants);
    const float off = numbers.floats[0], on = numbers.floats[1];
    const auto chosen = [&](Operand const& condition, float value) {
        if (value == 1.0F) return condition;
        return is_finite(value) ? build.scale(condition, value, 0.0F)
                                : detail::emit_keep(build, condition, scalar_operand(build, value));
    };
    Operand result = chosen(is_on, on);
    if (off != 0.0F) {
        result = emit_binary(build, BinaryKind::add, result, chosen(detail::emit_not(build, is_on), off));
    }
    call.give(std::move(result), 0, values.type);
}

/// 1 for the first of the largest elements along an axis, 0 for all others. Before opset 13, along that and all axes
/// behind it.
inline void translate_hardmax(Call& call) {
    Builder& build = call.build;
    const bool is_one_axis = call.opset() >= 13;
    const std::size_t axis = build.image_axis(call.integer("axis", is_one_axis ? -1 : 1), call.rank(0));
    const Operand x = call.operand(0);
    const AxisView along = build.view_along(x.dims, axis, is_one_axis ? axis + 1 : x.dims.size());
    const std::size_t top = build.emit(ReduceParams{ReduceKind::arg_max, along.axis}, {build.view(x, along.shape)});
    const int count = extent(along.shape, along.axis);
    Shape line{1, 1, 1};
    extent(line, along.axis) = count;
    const std::size_t places = build.view({{count}, std::nullopt, detail::counted(build, count)}, line);
    call.give(build.operand(build.emit(BinaryParams{BinaryKind::equal}, {top, places}), x.dims));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
