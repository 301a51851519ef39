#pragma once

#include "laws.hpp"

#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/transform.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Parts of the law tests of primitives in 8 bits: a layer, its definition in integers, and a primitive's result.
namespace int8_laws {

namespace ps = primsel;

using Runs = std::map<std::string_view, int>;

/// One layer in 8 bits. Floats are in chw.
struct Layer {
    ps::ConvShape shape;
    std::vector<float> src, kernel, bias, residual;
    ps::TensorRange src_range{0.021F, 117}, dst_range{0.37F, 31}, residual_range{0.11F, 140};

    Layer(ps::ConvShape const& s, unsigned seed)
        : shape(s),
          src(s.in_shape().size()),
          kernel(s.kernel_size()),
          bias(static_cast<std::size_t>(s.k)),
          residual(s.out_shape().size()) {
        std::mt19937 bits(seed);
        std::normal_distribution<float> normal;
        for (auto* data : {&src, &kernel, &bias, &residual}) {
            for (float& value : *data) value = normal(bits);
        }
        for (float& value : residual) value *= 7;
        const std::size_t of_output = kernel.size() / bias.size();
        std::fill_n(kernel.data() + kernel.size() - of_output, of_output, 0.0F);  // the last output has no weights
        dst_range.zero_point = static_cast<std::int32_t>(seed * 37 % 256);
        src_range.zero_point = static_cast<std::int32_t>(seed * 91 % 256);
    }
};

[[nodiscard]] inline int byte_of(float scaled, float low, float high, int zero_point) {
    const float least = -static_cast<float>(zero_point), most = 255.0F + least;
    low = std::fmin(std::fmax(low, least), most), high = std::fmin(std::fmax(high, least), most);
    return static_cast<int>(std::nearbyint(scaled > high ? high : scaled > low ? scaled : low)) + zero_point;
}
[[nodiscard]] inline std::vector<int> bytes_of(std::vector<float> const& floats, ps::TensorRange const& range) {
    std::vector<int> bytes;
    const float factor = 1.0F / range.scale, infinity = std::numeric_limits<float>::infinity();
    for (const float value : floats) bytes.push_back(byte_of(value * factor, -infinity, infinity, range.zero_point));
    return bytes;
}

/// A product that is rounded to a float.
[[nodiscard]] inline float rounded(float a, float b) {
    const volatile float product = a * b;
    return product;
}

/// The definition: the bytes of the result, or its floats if `floats`.
[[nodiscard]] inline std::vector<float> expected(Layer const& layer, laws::Epilogue const& epilogue, bool floats) {
    ps::ConvShape const& s = layer.shape;
    std::vector<int> src = bytes_of(layer.src, layer.src_range);
    for (int& value : src) value -= layer.src_range.zero_point;
    const std::vector<int> residual = bytes_of(layer.residual, layer.residual_range);
    const float over_scale = floats ? 1.0F : 1.0F / layer.dst_range.scale;
    const auto depth = static_cast<std::size_t>(s.group_c() * s.fh * s.fw);
    std::vector<int> weights(depth);
    std::vector<float> dst;
    for (int k = 0; k < s.k; ++k) {
        const float* const kernel = layer.kernel.data() + static_cast<std::size_t>(k) * depth;
        float largest = 0;
        for (std::size_t i = 0; i < depth; ++i) largest = std::max(largest, std::abs(kernel[i]));
        for (std::size_t i = 0; i < depth; ++i) {
            weights[i] = largest == 0 ? 0
                                      : static_cast<int>(std::nearbyint(static_cast<double>(kernel[i]) * 127 /
                                                                        static_cast<double>(largest)));
        }
        const float factor = rounded(largest / 127, rounded(layer.src_range.scale, over_scale));
        const int first_c = k / (s.k / s.groups) * s.group_c();
        for (int oh = 0; oh < s.out_h(); ++oh) {
            for (int ow = 0; ow < s.out_w(); ++ow) {
                std::int64_t sum = 0;
                const int* weight = weights.data();
                for (int c = first_c; c < first_c + s.group_c(); ++c) {
                    for (int fh = 0; fh < s.fh; ++fh, weight += s.fw) {
                        const int h = oh * s.stride_h - s.pad_top + fh * s.dilation_h;
                        if (h < 0 || h >= s.h) continue;
                        const int* const row = src.data() + static_cast<std::ptrdiff_t>((c * s.h + h) * s.w);
                        for (int fw = 0; fw < s.fw; ++fw) {
                            const int w = ow * s.stride_w - s.pad_left + fw * s.dilation_w;
                            if (w >= 0 && w < s.w) sum += row[w] * weight[fw];
                        }
                    }
                }
                float value = rounded(static_cast<float>(sum), factor);
                if (epilogue.bias) value += rounded(layer.bias[static_cast<std::size_t>(k)], over_scale);
                if (epilogue.residual) {
                    value = std::clamp(value, rounded(epilogue.summand.low, over_scale),
                                       rounded(epilogue.summand.high, over_scale));
                }
                if (epilogue.residual && floats) value += layer.residual[dst.size()];
                if (epilogue.residual && !floats) {
                    value += rounded(static_cast<float>(residual[dst.size()] - layer.residual_range.zero_point),
                                     layer.residual_range.scale * over_scale);
                }
                const float low = epilogue.clamp.low, high = epilogue.clamp.high;
                dst.push_back(floats ? std::clamp(value, low, high)
                                     : static_cast<float>(byte_of(value, low * over_scale, high * over_scale,
                                                                  layer.dst_range.zero_point)));
            }
        }
    }
    return dst;
}

template <class L>
void to_layout(ps::Shape shape, std::vector<float> const& chw, float* dst, ps::TensorRange const& range) {
    ps::Sequential here;
    ps::transform<ps::chw, L>(shape, chw.data(), dst, here, range);
}

/// Returns the result of the primitive, as `expected`; empty if it writes where it may not.
template <class P>
std::vector<float> actual(Layer const& layer, laws::Epilogue const& epilogue, ps::ExecutorRef executor,
                          laws::Watch watch) {
    using From = typename P::in_layout;
    using To = typename P::out_layout;
    using Traits = ps::PrimitiveTraits<P, ps::default_arch>;
    ps::ConvShape const& s = layer.shape;
    const ps::Shape in = s.in_shape(), out = s.out_shape();
    const auto floats = []<class L>(L, ps::Shape shape) {
        return (L::size(shape) * sizeof(ps::element_of<L>) + 3) / 4;
    };
    laws::Guarded src(floats(From{}, in), watch, 1), bias(layer.bias.size(), watch, 3),
        residual(floats(To{}, out), watch, 5), packed(Traits::packed_floats(s), watch, 1),
        dst(floats(To{}, out), watch, 7), scratch(Traits::scratch_floats(s, executor.concurrency()), watch, 0);
    to_layout<From>(in, layer.src, src.data(), layer.src_range);
    to_layout<To>(out, layer.residual, residual.data(), layer.residual_range);
    std::ranges::copy(layer.bias, bias.data());
    Traits::pack(s, layer.kernel.data(), packed.data());
    for (laws::Guarded* input : {&src, &bias, &residual, &packed}) input->seal();
    P::template run<ps::default_arch>(s, {.src = src.data(),
                                          .weights = packed.data(),
                                          .bias = epilogue.bias ? bias.data() : nullptr,
                                          .residual = epilogue.residual ? residual.data() : nullptr,
                                          .summand = epilogue.summand,
                                          .clamp = epilogue.clamp,
                                          .dst = dst.data(),
                                          .scratch = scratch.data(),
                                          .executor = executor,
                                          .src_range = layer.src_range,
                                          .dst_range = layer.dst_range,
                                          .residual_range = layer.residual_range});
    for (laws::Guarded const* buffer : {&src, &bias, &residual, &packed, &dst, &scratch}) {
        if (!buffer->intact()) return {};
    }
    std::vector<float> result;
    for (int c = 0; c < out.c; ++c) {
        for (int h = 0; h < out.h; ++h) {
            for (int w = 0; w < out.w; ++w) {
                const auto* const elements = reinterpret_cast<const ps::element_of<To>*>(dst.data());
                result.push_back(static_cast<float>(elements[To::offset(out, {c, h, w})]));
            }
        }
    }
    return result;
}

template <class P>
void check(Layer const& layer, laws::Epilogue const& epilogue, Runs& runs) {
    if (!P::supports(layer.shape)) return;
    CAPTURE(std::string(std::string_view(P::id)));
    CAPTURE(to_string(layer.shape));
    ps::Sequential sequential;
    laws::Backwards backwards;
    const std::vector<float> exact =
        expected(layer, epilogue, std::same_as<ps::element_of<typename P::out_layout>, float>);
    CHECK(laws::same_bits(actual<P>(layer, epilogue, sequential, laws::Watch::zones), exact));
    CHECK(laws::same_bits(actual<P>(layer, epilogue, backwards, laws::Watch::heap), exact));
    ++runs[P::id];
}

}  // namespace int8_laws
