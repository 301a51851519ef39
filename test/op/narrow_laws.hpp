#pragma once

#include "laws.hpp"

#include <primsel/op/all.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/hwc_u8.hpp>
#include <primsel/tensor/transform.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace narrow_laws {

namespace ps = primsel;

/// Pools with and without padding, whose windows overlap or not, and dilated ones.
inline std::vector<ps::PoolParams> pools(ps::PoolKind kind, bool counts_padding) {
    std::vector<ps::PoolParams> pools(4, ps::PoolParams{.kind = kind, .count_include_pad = counts_padding});
    pools[0].window = pools[0].stride = ps::Extent{1};
    pools[1].window = ps::Extent{3}, pools[1].padding = {1, 1, 1, 1}, pools[1].ceil_mode = true;
    pools[2].window = ps::Extent{2, 3}, pools[2].stride = ps::Extent{1}, pools[2].padding = {1, 0, 2, 1};
    pools[3].window = ps::Extent{3}, pools[3].padding = {1, 1, 1, 1}, pools[3].dilation = ps::Extent{2};
    return pools;
}

}  // namespace narrow_laws

/// Parts of the law tests of ops in hwc_u8.
namespace int8_ops {

namespace ps = primsel;

using Bytes = std::vector<std::uint8_t>;
constexpr ps::TensorRange range{0.05F, 100}, other_range{0.02F, 3};

/// The images of an op in hwc_u8. What is behind the channels of a pixel differs everywhere.
struct Images {
    ps::Shape shape;
    ps::TensorRange from;
    Bytes bytes;

    Images(ps::Shape of, ps::TensorRange with, int batch, std::size_t seed)
        : shape(of), from(with), bytes(static_cast<std::size_t>(batch) * ps::hwc_u8::size(of)) {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>((i * 89 + seed * 31) % 256);
    }
    [[nodiscard]] int at(std::size_t image, int c, int h, int w) const {
        return bytes[image * ps::hwc_u8::size(shape) + ps::hwc_u8::offset(shape, {c, h, w})];
    }
};

inline int byte_of(float scaled, ps::TensorRange const& to, ps::Clamp clamp = {}) {
    const ps::ToBytes bounds(to, clamp);
    return static_cast<int>(std::nearbyint(std::fmin(std::fmax(scaled, bounds.low), bounds.high))) + to.zero_point;
}
/// A product that is rounded to a float.
[[gnu::noinline]] inline float rounded(float a, float b) {
    const volatile float product = a * b;
    return product;
}
inline float value_of(int byte, ps::TensorRange const& of) {
    return rounded(static_cast<float>(byte - of.zero_point), of.scale);
}

/// Runs the op and counts the elements that differ from expected(image, c, h, w).
template <class Params, class Expected>
void check(Params const& params, std::vector<Images> const& inputs, ps::TensorRange to, int batch,
           Expected const& expected, ps::Clamp clamp = {}) {
    ps::Sequential here;
    std::vector<ps::Shape> shapes;
    std::vector<ps::TensorRange> ranges;
    // Buffers of floats, with a canary behind each.
    std::vector<std::vector<float>> buffers;
    std::vector<const float*> src;
    for (Images const& images : inputs) {
        shapes.push_back(images.shape), ranges.push_back(images.from);
        buffers.emplace_back(images.bytes.size() / 4);
        std::memcpy(buffers.back().data(), images.bytes.data(), images.bytes.size());
    }
    for (auto const& buffer : buffers) src.push_back(buffer.data());
    const ps::Shape out = params.output(shapes);
    const std::size_t size = ps::hwc_u8::size(out) * static_cast<std::size_t>(batch);
    std::vector<float> dst(size / 4 + 1, 777.0F);
    const auto run = [&](float* to_dst) {
        laws::entry_of<ps::hwc_u8>(params).run(params, {.src = src,
                                                        .src_shape = shapes,
                                                        .dst = to_dst,
                                                        .dst_shape = out,
                                                        .batch = batch,
                                                        .clamp = clamp,
                                                        .executor = here,
                                                        .src_range = ranges,
                                                        .dst_range = to});
    };
    const auto wrong = [&](const float* result) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(result);
        std::size_t count = 0;
        for (std::size_t image = 0; image < static_cast<std::size_t>(batch); ++image) {
            for (int c = 0; c < out.c; ++c) {
                for (int h = 0; h < out.h; ++h) {
                    for (int w = 0; w < out.w; ++w) {
                        const std::size_t at = image * ps::hwc_u8::size(out) + ps::hwc_u8::offset(out, {c, h, w});
                        count += bytes[at] == expected(image, c, h, w) ? 0U : 1U;
                    }
                }
            }
        }
        return count;
    };
    CAPTURE(to_string(shapes[0]));
    run(dst.data());
    CHECK(wrong(dst.data()) == 0);
    CHECK(dst.back() == 777.0F);
    if constexpr (requires { ps::OpIn<Params, ps::hwc_u8>::in_place; }) {
        if (shapes[0] != out) return;
        run(buffers[0].data());
        CHECK(wrong(buffers[0].data()) == 0);
    }
}

inline const ps::Shape shapes[] = {{1, 1, 1},  {3, 5, 7},  {8, 4, 3},  {16, 4, 6},
                                   {17, 3, 9}, {40, 7, 5}, {64, 2, 3}, {70, 6, 6}};

}  // namespace int8_ops

/// Parts of the law tests of ops in hwc_bf16.
namespace bf16_ops {

namespace ps = primsel;

using L = ps::hwc_bf16;

/// Results of one op in hwc of floats and in bfloat16, for inputs that both have.
struct Results {
    std::vector<float> floats, narrow;
    bool zeros = true;  ///< behind the channels
};

template <class Params>
Results results_of(Params const& params, std::vector<ps::Shape> const& shapes, int batch, ps::Clamp clamp = {},
                   float odd_one = 0.0F) {
    ps::Sequential here;
    const auto images = static_cast<std::size_t>(batch);
    const ps::Shape out = params.output(shapes);
    std::vector<std::vector<float>> floats, narrow;
    for (ps::Shape const& shape : shapes) {
        std::vector<float>& values = floats.emplace_back(images * shape.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>((i * 37 + floats.size() * 11) % 61) / 4 - 7.0F;
        }
        if (odd_one != 0.0F) values[values.size() / 2] = odd_one;
        std::vector<float>& stored = narrow.emplace_back(images * L::size(shape) / 2);
        for (std::size_t i = 0; i < images; ++i) {
            ps::transform<ps::hwc, L>(shape, values.data() + i * shape.size(), stored.data() + i * L::size(shape) / 2,
                                      here);
        }
    }
    const auto pointers = [](std::vector<std::vector<float>> const& of) {
        std::vector<const float*> all;
        for (auto const& values : of) all.push_back(values.data());
        return all;
    };
    const std::vector<const float*> floats_of = pointers(floats), narrow_of = pointers(narrow);
    Results results{std::vector<float>(images * out.size()), std::vector<float>(images * out.size())};
    std::vector<float> stored(images * L::size(out) / 2, std::numeric_limits<float>::quiet_NaN()), scratch;
    ps::OpEntry const& op = laws::entry_of<L>(params);
    if (op.scratch_bytes != nullptr) scratch.resize(op.scratch_bytes(params, shapes, 1) / sizeof(float));
    laws::entry_of<ps::hwc>(params).run(params, {.src = floats_of,
                                                 .src_shape = shapes,
                                                 .dst = results.floats.data(),
                                                 .dst_shape = out,
                                                 .batch = batch,
                                                 .clamp = clamp,
                                                 .scratch = scratch.data(),
                                                 .executor = here});
    op.run(params, {.src = narrow_of,
                    .src_shape = shapes,
                    .dst = stored.data(),
                    .dst_shape = out,
                    .batch = batch,
                    .clamp = clamp,
                    .scratch = scratch.data(),
                    .executor = here});
    for (std::size_t i = 0; i < images; ++i) {
        ps::transform<L, ps::hwc>(out, stored.data() + i * L::size(out) / 2, results.narrow.data() + i * out.size(),
                                  here);
    }
    const auto* const elements = reinterpret_cast<const ps::element_of<L>*>(stored.data());
    const std::size_t pixel = L::pixel(out.c), channels = static_cast<std::size_t>(out.c);
    for (std::size_t at = 0; at < stored.size() * 2; ++at) {
        if (at % pixel >= channels && elements[at].bits != 0) results.zeros = false;
    }
    return results;
}

/// Runs an op in L: the result is that of floats, rounded; sums may differ by their order.
template <class Params>
void check(Params const& params, std::vector<ps::Shape> const& shapes, int batch, ps::Clamp clamp = {},
           float odd_one = 0.0F) {
    const Results results = results_of(params, shapes, batch, clamp, odd_one);
    constexpr auto rounding = static_cast<float>(ps::element_of<L>::rounding);
    CHECK(results.zeros);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < results.floats.size(); ++i) {
        const float exact = results.floats[i], here = results.narrow[i];
        if (std::isnan(exact) || std::isinf(exact)) {
            wrong += (std::isnan(exact) ? std::isnan(here) : here == exact) ? 0U : 1U;
        } else {
            wrong += std::abs(here - exact) <= std::abs(exact) * rounding + 1e-5F ? 0U : 1U;
        }
    }
    CHECK(wrong == 0);
}

inline const ps::Shape shapes[] = {{1, 1, 1}, {3, 5, 7}, {16, 4, 6}, {17, 3, 9}, {40, 7, 5}, {64, 2, 3}, {70, 6, 6}};

}  // namespace bf16_ops
