#include "narrow_laws.hpp"

#include <primsel/op/narrow.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace int8_ops {

TEST_CASE("concatenations of bytes copy, and convert where ranges differ") {
    for (ps::Shape const& shape : shapes) {
        for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
            ps::Shape other = shape;
            extent(other, axis) += 2;
            const std::vector<Images> inputs{{shape, range, 2, 1}, {other, other_range, 2, 2}, {shape, range, 2, 3}};
            check(ps::ConcatParams{axis}, inputs, range, 2, [&](std::size_t image, int c, int h, int w) {
                int at = axis == ps::Axis::c ? c : axis == ps::Axis::h ? h : w;
                std::size_t input = 0;
                while (at >= extent(inputs[input].shape, axis)) at -= extent(inputs[input++].shape, axis);
                (axis == ps::Axis::c ? c : axis == ps::Axis::h ? h : w) = at;
                const int byte = inputs[input].at(image, c, h, w);
                return input == 1 ? byte_of(value_of(byte, other_range) * (1 / range.scale), range) : byte;
            });
        }
    }
}

/// A byte that was moved from one range to another.
int moved(int byte, ps::TensorRange const& from, ps::TensorRange const& to) {
    return from == to ? byte : byte_of(value_of(byte, from) * (1 / to.scale), to);
}

TEST_CASE("slices, shuffles and nearest pixels of bytes are moved, and converted where ranges differ") {
    for (ps::Shape const& shape : shapes) {
        for (const ps::TensorRange to : {range, other_range}) {
            const Images src(shape, range, 2, 7);
            for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
                const int count = extent(shape, axis), first = count / 3, last = std::max(first + 1, count - 1);
                check(ps::SliceParams{first, last, axis}, {src}, to, 2, [&](std::size_t image, int c, int h, int w) {
                    (axis == ps::Axis::c ? c : axis == ps::Axis::h ? h : w) += first;
                    return moved(src.at(image, c, h, w), range, to);
                });
            }
            for (const int groups : {1, 2, 5, 8}) {
                if (shape.c % groups != 0) continue;
                check(ps::ChannelShuffleParams{groups}, {src}, to, 2, [&](std::size_t image, int c, int h, int w) {
                    return moved(src.at(image, c % groups * (shape.c / groups) + c / groups, h, w), range, to);
                });
            }
            for (const ps::Extent size : {ps::Extent{1, 2}, ps::Extent{2 * shape.h, 2 * shape.w}, ps::Extent{5, 3}}) {
                const ps::ResizeParams resize{.size = size,
                                              .coordinates = ps::ResizeCoordinates::asymmetric,
                                              .rounding = ps::ResizeRounding::floor};
                check(resize, {src}, to, 2, [&](std::size_t image, int c, int h, int w) {
                    return moved(src.at(image, c, h * shape.h / size.h, w * shape.w / size.w), range, to);
                });
            }
        }
    }
}

TEST_CASE("borders of bytes are the nearest byte of a constant, or pixels of the image") {
    for (ps::Shape const& shape : shapes) {
        for (const ps::TensorRange to : {range, other_range}) {
            const Images src(shape, range, 2, 7);
            for (const ps::PadMode mode : {ps::PadMode::constant, ps::PadMode::reflect, ps::PadMode::edge}) {
                for (const int more : {0, 3}) {
                    ps::PadParams pad{.padding = {2, 1, 0, 3}, .value = 0.33F, .mode = mode};
                    if (mode == ps::PadMode::constant) pad.front = more, pad.back = 2 * more;
                    if (pad.check(std::vector{shape}) != ps::Fault::none) continue;
                    const auto source = [&](int at, int count) {
                        if (mode == ps::PadMode::edge) return std::clamp(at, 0, count - 1);
                        if (mode == ps::PadMode::constant) return at;
                        return at < 0 ? -at : at >= count ? 2 * (count - 1) - at : at;
                    };
                    check(pad, {src}, to, 2, [&](std::size_t image, int c, int h, int w) {
                        h = source(h - pad.padding.top, shape.h), w = source(w - pad.padding.left, shape.w);
                        c -= pad.front;
                        if (c < 0 || c >= shape.c || h < 0 || h >= shape.h || w < 0 || w >= shape.w) {
                            return byte_of(pad.value * (1 / to.scale), to);
                        }
                        return moved(src.at(image, c, h, w), range, to);
                    });
                }
            }
        }
    }
}

/// Between two pixels: the product of difference and weight is rounded.
float between(float a, float b, float weight) { return rounded(b - a, weight) + a; }

TEST_CASE("bytes are interpolated less their zero point, and rounded once") {
    for (ps::Shape const& shape : shapes) {
        for (const ps::TensorRange to : {range, other_range}) {
            const Images src(shape, range, 2, 7);
            const float factor = to == range ? 1 : range.scale * (1 / to.scale);
            for (const ps::Extent size : {ps::Extent{1, 2}, ps::Extent{2 * shape.h, 2 * shape.w}, ps::Extent{7, 130}}) {
                const auto place = [](int at, int in, int out) {
                    const double middle = (2.0 * at + 1) * in / (2.0 * out) - 0.5;
                    return std::clamp(middle, 0.0, in - 1.0);
                };
                const ps::ResizeParams linear{.size = size, .mode = ps::ResizeMode::linear};
                check(linear, {src}, to, 2, [&](std::size_t image, int c, int h, int w) {
                    const double y = place(h, shape.h, size.h), x = place(w, shape.w, size.w);
                    const int top = static_cast<int>(y), bottom = std::min(top + 1, shape.h - 1),
                              left = static_cast<int>(x), right = std::min(left + 1, shape.w - 1);
                    const auto column = [&](int at) {
                        const auto byte = [&](int row) {
                            return static_cast<float>(src.at(image, c, row, at) - range.zero_point);
                        };
                        return between(byte(top), byte(bottom), static_cast<float>(y - top));
                    };
                    return byte_of(between(column(left), column(right), static_cast<float>(x - left)) * factor, to);
                });
            }
        }
    }
}

TEST_CASE("cubic interpolations of bytes are within half a step of those of floats") {
    ps::Sequential here;
    for (ps::Shape const& shape : shapes) {
        const Images src(shape, range, 1, 7);
        const ps::ResizeParams cubic{.size = {5, 2 * shape.w}, .mode = ps::ResizeMode::cubic};
        const ps::Shape out = cubic.output(std::vector{shape});
        std::vector<float> floats(shape.size()), exact(out.size()), bytes(src.bytes.size() / 4),
            result(ps::hwc_u8::size(out) / 4);
        for (int c = 0; c < shape.c; ++c) {
            for (int h = 0; h < shape.h; ++h) {
                for (int w = 0; w < shape.w; ++w) {
                    floats[ps::hwc::offset(shape, {c, h, w})] = static_cast<float>(src.at(0, c, h, w));
                }
            }
        }
        std::memcpy(bytes.data(), src.bytes.data(), src.bytes.size());
        const float *const from = floats.data(), *const from_bytes = bytes.data();
        ps::OpArgs args{
            .src = {&from, 1}, .src_shape = {&shape, 1}, .dst = exact.data(), .dst_shape = out, .executor = here};
        std::vector<float> scratch(
            ps::OpIn<ps::ResizeParams, ps::hwc_u8>::scratch_floats<ps::default_arch>(cubic, args.src_shape, 1));
        args.scratch = scratch.data();
        laws::entry_of<ps::hwc>(cubic).run(cubic, args);
        args.src = {&from_bytes, 1}, args.src_range = {&range, 1}, args.dst_range = range, args.dst = result.data();
        laws::entry_of<ps::hwc_u8>(cubic).run(cubic, args);
        const auto* const of_bytes = reinterpret_cast<const std::uint8_t*>(result.data());
        float most = 0;
        for (int c = 0; c < out.c; ++c) {
            for (int h = 0; h < out.h; ++h) {
                for (int w = 0; w < out.w; ++w) {
                    const float value = std::clamp(exact[ps::hwc::offset(out, {c, h, w})], 0.0F, 255.0F),
                                byte = of_bytes[ps::hwc_u8::offset(out, {c, h, w})];
                    most = std::max(most, std::abs(value - byte));
                }
            }
        }
        CAPTURE(to_string(shape));
        CHECK(most <= 0.5F + 1e-4F);
    }
}

TEST_CASE("functions of two tensors of bytes are those of their values, and products those of integers") {
    using Function = float (*)(float, float);
    const std::pair<ps::BinaryKind, Function> functions[] = {
        {ps::BinaryKind::add, [](float a, float b) { return a + b; }},
        {ps::BinaryKind::subtract, [](float a, float b) { return a - b; }},
        {ps::BinaryKind::multiply, nullptr},
        {ps::BinaryKind::divide, [](float a, float b) { return a / b; }},
        {ps::BinaryKind::minimum, [](float a, float b) { return std::min(a, b); }},
        {ps::BinaryKind::maximum, [](float a, float b) { return std::max(a, b); }},
        {ps::BinaryKind::prelu, [](float a, float b) { return a >= 0 ? a : rounded(a, b); }},
        {ps::BinaryKind::remainder, [](float a, float b) { return std::fmod(a, b); }},
        {ps::BinaryKind::greater, [](float a, float b) { return a > b ? 1.0F : 0.0F; }},
        {ps::BinaryKind::keep, [](float a, float b) { return a == 0 ? 0.0F : b; }}};
    const ps::TensorRange to{0.07F, 80};
    for (ps::Shape const& shape : shapes) {
        const ps::Shape of_channels{shape.c, 1, 1}, of_pixels{1, shape.h, shape.w}, of_rows{shape.c, shape.h, 1};
        for (auto const& [a_shape, b_shape] :
             {std::pair{shape, shape}, std::pair{shape, of_channels}, std::pair{shape, of_pixels},
              std::pair{of_channels, shape}, std::pair{of_pixels, of_channels}, std::pair{shape, of_rows}}) {
            const Images a(a_shape, range, 2, 1), b(b_shape, other_range, 2, 4);
            for (auto const& entry : functions) {
                const ps::BinaryKind kind = entry.first;
                const auto function = entry.second;
                CAPTURE(static_cast<int>(kind));
                check(ps::BinaryParams{kind}, {a, b}, to, 2, [&](std::size_t image, int c, int h, int w) {
                    const auto byte = [&](Images const& of) {
                        return of.at(image, std::min(c, of.shape.c - 1), std::min(h, of.shape.h - 1),
                                     std::min(w, of.shape.w - 1));
                    };
                    if (kind == ps::BinaryKind::multiply) {
                        const int product = (byte(a) - range.zero_point) * (byte(b) - other_range.zero_point);
                        return byte_of(static_cast<float>(product) * (range.scale * other_range.scale * (1 / to.scale)),
                                       to);
                    }
                    return byte_of(function(value_of(byte(a), range), value_of(byte(b), other_range)) * (1 / to.scale),
                                   to);
                });
            }
        }
    }
}

}  // namespace int8_ops

namespace bf16_ops {

TEST_CASE("layers in bfloat16 that move elements or combine them are those of floats, rounded once") {
    for (ps::Shape const& shape : shapes) {
        CAPTURE(to_string(shape));
        const std::vector<ps::Shape> inputs{shape};
        for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
            ps::Shape other = shape;
            extent(other, axis) += 2;
            check(ps::ConcatParams{axis}, {shape, other, shape}, 2);
            const int count = extent(shape, axis), first = count / 3;
            check(ps::SliceParams{first, std::max(first + 1, count - 1), axis}, inputs, 2);
        }
        for (const int groups : {1, 2, 5, 8}) {
            if (shape.c % groups == 0) check(ps::ChannelShuffleParams{groups}, inputs, 2);
        }
        for (const ps::PadMode mode : {ps::PadMode::constant, ps::PadMode::reflect, ps::PadMode::edge}) {
            for (const int more : {0, 3}) {
                ps::PadParams pad{.padding = {2, 1, 0, 3}, .value = -0.375F, .mode = mode};
                if (mode == ps::PadMode::constant) pad.front = more, pad.back = 2 * more;
                if (pad.check(inputs) == ps::Fault::none) check(pad, inputs, 2);
            }
        }
        for (const ps::Extent size : {ps::Extent{1, 2}, ps::Extent{2 * shape.h, 2 * shape.w}, ps::Extent{7, 130}}) {
            for (const ps::ResizeMode mode : {ps::ResizeMode::nearest, ps::ResizeMode::linear, ps::ResizeMode::cubic}) {
                check(ps::ResizeParams{.size = size, .mode = mode}, inputs, 2);
            }
        }
    }
}

TEST_CASE("functions of two tensors in bfloat16 are those of floats, rounded once") {
    for (ps::Shape const& shape : shapes) {
        CAPTURE(to_string(shape));
        const ps::Shape of_channels{shape.c, 1, 1}, of_pixels{1, shape.h, shape.w}, of_rows{shape.c, shape.h, 1};
        for (const ps::BinaryKind kind :
             {ps::BinaryKind::add, ps::BinaryKind::subtract, ps::BinaryKind::multiply, ps::BinaryKind::divide,
              ps::BinaryKind::prelu, ps::BinaryKind::minimum, ps::BinaryKind::modulo, ps::BinaryKind::equal}) {
            CAPTURE(static_cast<int>(kind));
            for (std::vector<ps::Shape> const& inputs :
                 {std::vector{shape, shape}, std::vector{shape, of_channels}, std::vector{shape, of_pixels},
                  std::vector{of_channels, shape}, std::vector{of_pixels, of_channels}, std::vector{shape, of_rows}}) {
                check(ps::BinaryParams{kind}, inputs, 2);
            }
        }
    }
}

}  // namespace bf16_ops
