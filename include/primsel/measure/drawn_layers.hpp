// Layers drawn at random around those that people write, for coefficients and laws of the prices of ops.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/layer/all.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

/// A layer and its shapes; ConvParams stands for the pass after a convolution.
struct DrawnLayer {
    AnyLayer layer;
    std::vector<Shape> inputs;
    Shape output;
    int batch = 1;

    /// Returns the input shapes, the fields and the batch, without commas.
    [[nodiscard]] std::string text() const {
        std::string result;
        for (Shape const& shape : inputs) result += join(result.empty() ? "" : " ", shape);
        if (batch > 1) result += join(" batch=", batch);
        core::visit(
            [&](auto const& params) {
                params.each_field([&]<class T>(std::string_view name, T const& value) {
                    if constexpr (std::is_enum_v<T>) {
                        result += join(' ', name, '=', static_cast<int>(value));
                    } else if constexpr (std::is_same_v<T, Extent>) {
                        result += join(' ', name, '=', value.h, 'x', value.w);
                    } else if constexpr (std::is_same_v<T, Padding>) {
                        result += join(' ', name, '=', value.top, '/', value.bottom, '/', value.left, '/', value.right);
                    } else if constexpr (std::is_arithmetic_v<T>) {
                        result += join(' ', name, '=', value);
                    } else if constexpr (requires { value.begin(); }) {
                        result += join(' ', name, '=');
                        for (auto const each : value) result += join(each, '/');
                    }
                });
            },
            layer);
        return result;
    }
};

namespace detail {

/// Draws layers. The same seed gives the same layers with every standard library.
class LayerDraw {
public:
    explicit LayerDraw(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] std::uint64_t below(std::uint64_t count) { return random_() % count; }
    template <class T, std::size_t n>
    [[nodiscard]] T any_of(T const (&values)[n]) {
        return values[below(n)];
    }
    [[nodiscard]] bool one_in(std::uint64_t count) { return below(count) == 0; }

    [[nodiscard]] int channels() {
        return any_of({1,  2,  3,  4,   6,   8,   12,  16,  21,  24,  32,  40,  48,  58,
                       64, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512, 576, 768, 960});
    }
    [[nodiscard]] int extent() {
        return any_of({1,  2,  4,  5,  7,  8,  10, 13, 14,  16,  19,  20,  26, 28,
                       32, 38, 40, 52, 56, 64, 80, 96, 104, 112, 160, 224, 320});
    }
    /// Returns an image of 2000 to 3e6 floats; one in eight is a signal of one row.
    [[nodiscard]] Shape image() {
        for (;;) {
            const int h = extent();
            Shape shape{channels(), h, below(10) < 6 ? h : extent()};
            if (one_in(8)) shape.h = 1, shape.w = any_of({50, 101, 250, 500, 1000, 2000, 4000, 16000});
            if (shape.size() > 2000 && shape.size() < 3'000'000) return shape;
        }
    }
    [[nodiscard]] Axis axis() { return any_of({Axis::c, Axis::h, Axis::w}); }

private:
    std::mt19937_64 random_;
};

using LayerKind = DrawnLayer (*)(LayerDraw&);

template <class Params>
[[nodiscard]] DrawnLayer drawn(Params const& params, std::vector<Shape> inputs) {
    // An invalid layer has no output, and is drawn again.
    if (params.check(inputs) != Fault::none) return {params, {}, {}};
    const Shape output = params.output(inputs);
    return {params, std::move(inputs), output};
}

/// Strides of a dense tensor whose axes are taken in another order, as an exporter's transpose.
[[nodiscard]] inline AsStridedParams transposed(Shape in, std::array<std::size_t, 3> const& order) {
    const int extents[] = {in.c, in.h, in.w};
    const std::ptrdiff_t strides[] = {static_cast<std::ptrdiff_t>(in.h) * in.w, in.w, 1};
    AsStridedParams result;
    result.dims = {extents[order[0]], extents[order[1]], extents[order[2]]};
    for (std::size_t i = 0; i < 3; ++i) result.strides[i] = strides[order[i]];
    result.shape = {result.dims[0], result.dims[1], result.dims[2]};
    return result;
}

[[nodiscard]] inline DrawnLayer drawn_pool(LayerDraw& draw) {
    PoolParams params{.kind = draw.one_in(2) ? PoolKind::max : PoolKind::average};
    params.window = Extent{draw.any_of({2, 3, 3, 3, 5, 7, 9, 13})};
    params.stride = Extent{draw.any_of({1, 2, 2, 3})};
    const int pad = draw.any_of({0, params.window.h / 2});
    params.padding = {pad, pad, pad, pad};
    return drawn(params, {draw.image()});
}

[[nodiscard]] inline DrawnLayer drawn_activation(LayerDraw& draw) {
    const auto kind = static_cast<ActivationKind>(draw.below(activation_kinds));
    return drawn(ActivationParams{kind, 0.2F, kind == ActivationKind::clip ? 6.0F : 0.5F}, {draw.image()});
}

[[nodiscard]] inline DrawnLayer drawn_dense(LayerDraw& draw) {
    const Shape in = draw.one_in(3) ? Shape{draw.channels(), 7, 7} : Shape{16 * draw.any_of({1, 8, 24, 64, 256}), 1, 1};
    DrawnLayer result = drawn(DenseParams{.k = draw.any_of({10, 21, 64, 100, 256, 512, 1000})}, {in});
    result.batch = draw.any_of({1, 1, 2, 4, 8, 16});
    return result;
}

[[nodiscard]] inline DrawnLayer drawn_softmax(LayerDraw& draw) {
    return drawn(SoftmaxParams{draw.axis()}, {draw.image()});
}

/// Draws an LSTM, a GRU or an RNN as exporters write them.
[[nodiscard]] inline DrawnLayer drawn_recurrent(LayerDraw& draw) {
    RecurrentParams params{.kind = draw.any_of({RecurrentKind::lstm, RecurrentKind::gru, RecurrentKind::rnn})};
    params.resets_product = params.kind == RecurrentKind::gru;
    if (params.kind == RecurrentKind::rnn) params.f = GateFunction::tanh;
    const int steps = draw.any_of({1, 1, 10, 30, 100, 300}), sequences = draw.any_of({1, 1, 1, 4, 8, 16}),
              hidden = draw.any_of({16, 40, 64, 128, 256, 512});
    return drawn(params, {{steps, sequences, params.gates() * hidden}});
}

/// Draws a layer, group, instance or RMS normalisation.
[[nodiscard]] inline DrawnLayer drawn_standardize(LayerDraw& draw) {
    StandardizeParams params{.centres = !draw.one_in(4)};
    switch (draw.below(4)) {
        case 0:
            params.along_c = true;
            break;
        case 1:
            params.along_w = true;
            break;
        case 2:
            params.along_h = params.along_w = true;
            break;
        default:
            params.along_c = params.along_h = params.along_w = true;
            params.groups = draw.any_of({1, 2, 4, 8, 32});
    }
    std::vector<Shape> inputs{draw.image()};
    // A layer normalisation has a factor and a summand for each place.
    if (params.may_have_tensors(inputs[0]) && draw.one_in(2)) {
        params.scales = params.shifts = true;
        inputs.resize(3, params.set_shape(inputs[0]));
    }
    return drawn(params, std::move(inputs));
}

[[nodiscard]] inline DrawnLayer drawn_pad(LayerDraw& draw) {
    PadParams params{.mode = draw.any_of({PadMode::constant, PadMode::reflect, PadMode::edge})};
    const int by = draw.any_of({1, 1, 2, 3, 8});
    params.padding = {draw.any_of({0, by}), by, draw.any_of({0, by}), by};
    if (params.mode == PadMode::constant && draw.one_in(3)) params.front = draw.any_of({0, 4}), params.back = 4;
    return drawn(params, {draw.image()});
}

[[nodiscard]] inline DrawnLayer drawn_slice(LayerDraw& draw) {
    const Shape in = draw.image();
    SliceParams params{.axis = draw.axis()};
    const int size = extent(in, params.axis);
    params.first = draw.any_of({0, size / 2, size / 4});
    params.last = draw.any_of({size / 2, size, size - size / 4});
    return drawn(params, {in});
}

[[nodiscard]] inline DrawnLayer drawn_binary(LayerDraw& draw) {
    constexpr BinaryKind usual[] = {BinaryKind::add,    BinaryKind::multiply, BinaryKind::subtract,
                                    BinaryKind::divide, BinaryKind::prelu,    BinaryKind::minimum};
    constexpr int kinds = static_cast<int>(BinaryKind::keep) + 1;
    const auto kind = draw.one_in(3) ? static_cast<BinaryKind>(draw.below(kinds)) : draw.any_of(usual);
    const Shape a = draw.image();
    const Shape b = draw.any_of({a, Shape{a.c, 1, 1}, Shape{a.c, 1, 1}, Shape{1, a.h, a.w}, Shape{1, 1, a.w},
                                 Shape{a.c, a.h, 1}, Shape{1, 1, 1}});
    return drawn(BinaryParams{kind}, {a, b});
}

/// A product of matrices: with a tensor or, if `constant`, with weights.
[[nodiscard]] inline DrawnLayer drawn_product(LayerDraw& draw, bool constant) {
    const int rows = draw.any_of({1, 4, 16, 49, 64, 100, 196, 197, 256}),
              depth = draw.any_of({32, 64, 96, 192, 256, 384, 768}),
              width = draw.any_of({10, 16, 49, 64, 196, 197, 256, 512, 1000}), heads = draw.any_of({1, 1, 3, 4, 8});
    if (1.0 * rows * depth * width * heads > 2e8) return DrawnLayer{};
    if (constant) return drawn(DenseRowsParams{.k = width}, {{heads, rows, depth}});
    const int of_b = draw.any_of({1, heads});
    return drawn(MatMulParams{}, {{heads, rows, depth}, {of_b, depth, width}});
}

[[nodiscard]] inline DrawnLayer drawn_reduce(LayerDraw& draw) {
    const auto kind =
        draw.any_of({ReduceKind::mean, ReduceKind::mean, ReduceKind::sum, ReduceKind::max, ReduceKind::arg_max});
    return drawn(ReduceParams{kind, draw.axis()}, {draw.image()});
}

[[nodiscard]] inline DrawnLayer drawn_resize(LayerDraw& draw) {
    const Shape in = draw.image();
    ResizeParams params;
    params.mode = draw.any_of({ResizeMode::nearest, ResizeMode::linear});
    const double factor = draw.any_of({2.0, 2.0, 4.0, 0.5, 1.3});
    params.size = {static_cast<int>(in.h * factor), static_cast<int>(in.w * factor)};
    if (in.h == 1) params.size.h = 1;
    params.coordinates = draw.any_of({ResizeCoordinates::half_pixel, ResizeCoordinates::pytorch_half_pixel,
                                      ResizeCoordinates::align_corners, ResizeCoordinates::asymmetric});
    if (1.0 * in.c * params.size.h * params.size.w > 6e6) return DrawnLayer{};
    return drawn(params, {in});
}

[[nodiscard]] inline DrawnLayer drawn_conv_transpose(LayerDraw& draw) {
    const Shape in = draw.image();
    const auto [k, s] = draw.any_of<std::pair<int, int>>({{2, 2}, {4, 2}, {3, 1}, {3, 2}, {8, 4}, {16, 8}});
    ConvTransposeParams params{.k = draw.channels(), .kernel = Extent{k}, .stride = Extent{s}};
    if (draw.one_in(3)) params.groups = params.k = in.c;
    if (in.h == 1) params.kernel.h = params.stride.h = 1;
    const int pad = (k - s) / 2;
    params.padding = {in.h == 1 ? 0 : pad, in.h == 1 ? 0 : pad, pad, pad};
    const double taps = 1.0 * params.kernel.h * params.kernel.w * params.k / params.groups;
    const double grown = 1.0 * in.h * in.w * params.stride.h * params.stride.w * params.k;
    if (taps * static_cast<double>(in.size()) > 3e8 || grown > 3e6) return DrawnLayer{};
    return drawn(params, {in});
}

/// One function for each kind of layer; those of many forms appear more than once.
inline constexpr LayerKind layer_kinds[] = {
    [](LayerDraw& draw) {
        const Shape out = draw.image();
        DrawnLayer result{ConvParams{.k = out.c}, {out}, out};
        if (draw.one_in(3)) result.inputs.push_back(out);
        return result;
    },
    &drawn_pool,
    &drawn_pool,
    &drawn_pool,
    [](LayerDraw& draw) {
        PoolParams params{.kind = draw.one_in(2) ? PoolKind::max : PoolKind::average};
        params.window = Extent{draw.any_of({2, 3, 5})};
        params.stride = Extent{draw.any_of({1, 2, 3})};
        params.count_include_pad = false;
        const int pad = params.window.h / 2;
        params.padding = {pad, pad, pad, pad};
        if (params.kind == PoolKind::max && draw.one_in(2)) params.dilation = Extent{2};
        return drawn(params, {draw.image()});
    },
    [](LayerDraw& draw) {
        return drawn(GlobalPoolParams{draw.one_in(3) ? PoolKind::max : PoolKind::average}, {draw.image()});
    },
    &drawn_activation,
    &drawn_activation,
    &drawn_activation,
    &drawn_activation,
    &drawn_activation,
    &drawn_activation,
    [](LayerDraw& draw) {
        return drawn(ActivationParams{draw.any_of({ActivationKind::relu, ActivationKind::sigmoid, ActivationKind::silu,
                                                   ActivationKind::hard_swish, ActivationKind::tanh}),
                                      0.2F, 0.5F},
                     {draw.image()});
    },
    [](LayerDraw& draw) { return drawn(LrnParams{}, {draw.image()}); },
    [](LayerDraw& draw) { return drawn(BatchNormParams{}, {draw.image()}); },
    [](LayerDraw& draw) { return drawn(ScaleParams{.known = draw.one_in(2), .factor = 0.5F}, {draw.image()}); },
    &drawn_dense,
    &drawn_dense,
    &drawn_softmax,
    &drawn_softmax,
    [](LayerDraw& draw) {
        const Shape shape = draw.image();
        return drawn(AddParams{}, std::vector<Shape>(draw.any_of({2U, 2U, 2U, 3U}), shape));
    },
    [](LayerDraw& draw) {
        const ConcatParams params{draw.any_of({Axis::c, Axis::c, Axis::h, Axis::w})};
        std::vector<Shape> inputs(draw.any_of({2U, 2U, 3U, 4U}), draw.image());
        for (Shape& shape : inputs) {
            if (draw.one_in(2)) extent(shape, params.axis) = std::max(1, extent(shape, params.axis) / 2);
        }
        return drawn(params, std::move(inputs));
    },
    [](LayerDraw& draw) { return drawn(FlattenParams{}, {draw.image()}); },
    &drawn_pad,
    &drawn_pad,
    [](LayerDraw& draw) {
        return drawn(ChannelShuffleParams{draw.any_of({2, 3, 4, 8})}, {draw.image()});
    },
    &drawn_slice,
    &drawn_slice,
    [](LayerDraw& draw) {
        constexpr std::array<std::size_t, 3> orders[] = {{1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
        const Shape in = draw.image();
        return drawn(transposed(in, draw.any_of(orders)), {in});
    },
    [](LayerDraw& draw) {  // a slice of every second element, along any axis
        const Shape in = draw.image();
        AsStridedParams params = transposed(in, {0, 1, 2});
        const auto axis = static_cast<std::size_t>(draw.below(3));
        const int extents[] = {in.c, in.h, in.w};
        int halved[] = {in.c, in.h, in.w};
        halved[axis] = extents[axis] / 2;
        params.dims = {halved[0], halved[1], halved[2]};
        params.strides[axis] *= 2;
        params.shape = {halved[0], halved[1], halved[2]};
        return drawn(params, {in});
    },
    [](LayerDraw& draw) {  // space to depth, and Focus's slices
        const Shape in = draw.image();
        const std::ptrdiff_t h = in.h / 2, w = in.w / 2, row = in.w, plane = row * in.h;
        AsStridedParams params;
        if (draw.one_in(2)) {
            params.dims = {2, 2, in.c, static_cast<int>(h), static_cast<int>(w)};
            params.strides = {row, 1, plane, 2 * row, 2};
        } else {  // depth to space
            const int c = in.c / 4;
            params.dims = {c, in.h, 2, in.w, 2};
            params.strides = {plane, row, 2 * c * plane, 1, c * plane};
            params.shape = {c, 2 * in.h, 2 * in.w};
            return drawn(params, {in});
        }
        params.shape = {4 * in.c, static_cast<int>(h), static_cast<int>(w)};
        return drawn(params, {in});
    },
    &drawn_binary,
    &drawn_binary,
    &drawn_binary,
    [](LayerDraw& draw) { return drawn_product(draw, false); },
    [](LayerDraw& draw) { return drawn_product(draw, false); },
    &drawn_reduce,
    &drawn_reduce,
    &drawn_reduce,
    &drawn_reduce,
    &drawn_resize,
    &drawn_resize,
    [](LayerDraw& draw) {
        const PoolParams pool{.window = Extent{draw.any_of({2, 3})}};
        return drawn(MaxPoolIndicesParams{pool}, {draw.image()});
    },
    &drawn_conv_transpose,
    &drawn_conv_transpose,
    &drawn_conv_transpose,
    &drawn_conv_transpose,
    [](LayerDraw& draw) {
        const Shape in = draw.image();
        return drawn(TopKParams{.k = draw.any_of({1, 5, 10, 100}), .positions = draw.one_in(2)}, {in});
    },
    [](LayerDraw& draw) {
        const int boxes = draw.any_of({100, 300, 1000, 3000}), classes = draw.any_of({1, 1, 20, 80});
        return drawn(NonMaxSuppressionParams{.boxes_per_class = draw.any_of({10, 100}), .iou_threshold = 0.5F},
                     {{1, boxes, 4}, {1, classes, boxes}});
    },
    [](LayerDraw& draw) {
        const Shape in = draw.image();
        const int count = draw.any_of({1, 8, 64, 256});
        if (1.0 * in.c * count * in.w > 6e6) return DrawnLayer{};
        return drawn(GatherParams{}, {in, {1, 1, count}});
    },
    [](LayerDraw& draw) {
        const Shape in = draw.image();
        const int count = draw.any_of({1, 8, 64, 256});
        if (1.0 * count * in.h * in.w > 6e6) return DrawnLayer{};
        const ScatterKind kind = draw.one_in(2) ? ScatterKind::replace : ScatterKind::add;
        return drawn(ScatterParams{kind}, {in, {count, 1, 1}, {count, in.h, in.w}});
    },
    [](LayerDraw& draw) { return drawn_product(draw, true); },
    [](LayerDraw& draw) { return drawn_product(draw, true); },
    &drawn_standardize,
    &drawn_recurrent,
    [](LayerDraw& draw) {
        const Shape in = draw.image();
        const GridSampleParams params{.mode = draw.any_of({ResizeMode::nearest, ResizeMode::linear})};
        return drawn(params, {in, {in.h, in.w, 2}});
    },
    [](LayerDraw& draw) {
        const Shape in = draw.image();
        const int boxes = draw.any_of({8, 64, 256});
        const RoiAlignParams params{.size = 7, .samples = draw.any_of({1, 2})};
        if (1.0 * boxes * in.c > 2e4) return DrawnLayer{};
        return drawn(params, {in, {1, boxes, 4}, {1, 1, boxes}});
    },
};

}  // namespace detail

/// The number of kinds that draw_layer draws.
inline constexpr std::size_t drawn_kinds = std::size(detail::layer_kinds);

/// Draws a layer of kind `index` % drawn_kinds: the same one from the same seed and index.
[[nodiscard]] inline DrawnLayer draw_layer(std::uint64_t seed, std::size_t index) {
    const std::uint64_t kind = index % drawn_kinds, round = index / drawn_kinds;
    detail::LayerDraw draw((seed << 32) + (round << 8) + kind);
    for (;;) {
        const DrawnLayer result = detail::layer_kinds[kind](draw);
        if (!result.inputs.empty()) return result;
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::measure
