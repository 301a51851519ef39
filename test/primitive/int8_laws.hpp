#pragma once

#include "laws.hpp"

#include <primsel/primitive/primitive.hpp>
#include <primsel/primitive/reference.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/transform.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// Parts of the law tests of primitives in 8 bits: a layer, its definition in integers, and a primitive's result.
namespace int8_laws {

namespace ps = primsel;

using Runs = std::map<std::string_view, int>;

[[nodiscard]] inline int byte_of(float scaled, float low, float high, int zero_point) {
    const float least = -static_cast<float>(zero_point), most = 255.0F + least;
    low = std::fmin(std::fmax(low, least), most), high = std::fmin(std::fmax(high, least), most);
    return static_cast<int>(std::nearbyint(scaled > high ? high : scaled > low ? scaled : low)) + zero_point;
}
/// The bytes of floats, less the zero point.
[[nodiscard]] inline std::vector<float> steps_of(std::vector<float> const& floats, ps::TensorRange const& range) {
    std::vector<float> steps;
    const float factor = 1.0F / range.scale, infinity = std::numeric_limits<float>::infinity();
    for (const float value : floats) {
        const int byte = byte_of(value * factor, -infinity, infinity, range.zero_point);
        steps.push_back(static_cast<float>(byte - range.zero_point));
    }
    return steps;
}

/// One layer in 8 bits. Floats are in chw.
struct Layer {
    ps::ConvShape shape;
    std::vector<float> src, kernel, bias, residual;
    ps::TensorRange src_range{0.021F, 117}, dst_range{0.37F, 31}, residual_range{0.11F, 140};
    /// The largest weight of each output, and for each result the sum of products, which is whole.
    std::vector<float> largest;
    std::vector<double> sums;

    Layer(ps::ConvShape const& s, unsigned seed)
        : shape(s),
          src(s.in_shape().size()),
          kernel(s.kernel_size()),
          bias(static_cast<std::size_t>(s.k)),
          residual(s.out_shape().size()),
          sums(residual.size()) {
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

        std::vector<float> weights;
        for (std::size_t i = 0; i < kernel.size(); ++i) {
            if (i % of_output == 0) {
                largest.push_back(0);
                for (std::size_t j = i; j < i + of_output; ++j) {
                    largest.back() = std::max(largest.back(), std::abs(kernel[j]));
                }
            }
            const auto most = static_cast<double>(largest.back());
            const double weight = most == 0 ? 0 : std::nearbyint(static_cast<double>(kernel[i]) * 127 / most);
            weights.push_back(static_cast<float>(weight));
        }
        ps::reference_convolution<double>(s, steps_of(src, src_range).data(), weights.data(), nullptr, nullptr, {},
                                          sums.data());
    }
};

/// A product that is rounded to a float.
[[nodiscard]] inline float rounded(float a, float b) {
    const volatile float product = a * b;
    return product;
}

/// The definition: the bytes of the result, or its floats if `floats`.
[[nodiscard]] inline std::vector<float> expected(Layer const& layer, laws::Epilogue const& epilogue, bool floats) {
    const std::vector<float> residual = steps_of(layer.residual, layer.residual_range);
    const float over_scale = floats ? 1.0F : 1.0F / layer.dst_range.scale;
    const std::size_t pixels = layer.shape.out_pixels();
    std::vector<float> dst;
    for (std::size_t i = 0; i < layer.sums.size(); ++i) {
        const std::size_t k = i / pixels;
        const float factor = rounded(layer.largest[k] / 127, rounded(layer.src_range.scale, over_scale));
        float value = rounded(static_cast<float>(layer.sums[i]), factor);
        if (epilogue.bias) value += rounded(layer.bias[k], over_scale);
        if (epilogue.residual) {
            value = std::clamp(value, rounded(epilogue.summand.low, over_scale),
                               rounded(epilogue.summand.high, over_scale));
            value += floats ? layer.residual[i] : rounded(residual[i], layer.residual_range.scale * over_scale);
        }
        const float low = epilogue.clamp.low, high = epilogue.clamp.high;
        dst.push_back(floats ? std::clamp(value, low, high)
                             : static_cast<float>(
                                   byte_of(value, low * over_scale, high * over_scale, layer.dst_range.zero_point)));
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
