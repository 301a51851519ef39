#include "laws.hpp"

#include <primsel/op/all.hpp>
#include <primsel/op/conv_transpose_narrow.hpp>
#include <primsel/tensor/transform.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace ps = primsel;

namespace conv_transpose_narrow_tests {

constexpr ps::TensorRange src_range{0.021F, 117}, dst_range{0.37F, 31};

/// A layer and a batch of two images, in chw.
struct Layer {
    ps::ConvTransposeParams params;
    ps::Shape in, out;
    std::vector<float> src, kernel, bias;

    Layer(ps::ConvTransposeParams const& p, ps::Shape shape, bool integers)
        : params(p),
          in(shape),
          out(p.output({&in, 1})),
          src(2 * shape.size()),
          kernel(static_cast<std::size_t>(shape.c * (p.k / p.groups) * p.kernel.h * p.kernel.w)),
          bias(static_cast<std::size_t>(p.bias ? p.k : 0)) {
        std::mt19937 bits(static_cast<unsigned>(shape.w + p.k));
        std::normal_distribution<float> normal;
        for (auto* values : {&src, &kernel, &bias}) {
            for (float& value : *values) {
                value = integers ? static_cast<float>(static_cast<int>(bits() % 9) - 4) : normal(bits);
            }
        }
    }
    /// Calls use(input element, tap) for all products of an element of the result, which `k` etc. say.
    template <class Use>
    void each_product(std::size_t image, int k, int y, int x, Use const& use) const {
        const int group_c = in.c / params.groups, group_k = params.k / params.groups;
        for (int c = k / group_k * group_c, last = c + group_c; c < last; ++c) {
            for (int i = 0; i < params.kernel.h; ++i) {
                for (int j = 0; j < params.kernel.w; ++j) {
                    const int h = y + params.padding.top - i * params.dilation.h,
                              w = x + params.padding.left - j * params.dilation.w;
                    if (h < 0 || w < 0 || h % params.stride.h != 0 || w % params.stride.w != 0) continue;
                    if (h / params.stride.h >= in.h || w / params.stride.w >= in.w) continue;
                    const auto tap = static_cast<std::size_t>(
                        ((c * group_k + k % group_k) * params.kernel.h + i) * params.kernel.w + j);
                    use(image * in.size() + ps::chw::offset(in, {c, h / params.stride.h, w / params.stride.w}), tap);
                }
            }
        }
    }
    /// Runs the layer in layout L; returns its elements in chw as floats, and NaN for all if it writes beyond them.
    template <class L>
    [[nodiscard]] std::vector<float> run() const {
        using Op = ps::OpIn<ps::ConvTransposeParams, L>;
        ps::Sequential here;
        constexpr std::size_t of_float = 4 / sizeof(ps::element_of<L>);
        const std::size_t in_floats = L::size(in) / of_float, out_floats = L::size(out) / of_float;
        std::vector<float> images(2 * in_floats), packed(Op::packed_bytes(params, in) / 4),
            dst(2 * out_floats + 1, 777);
        for (std::size_t i = 0; i < 2; ++i) {
            ps::transform<ps::chw, L>(in, src.data() + i * in.size(), images.data() + i * in_floats, here, src_range);
        }
        Op::template pack<L>(params, in, {kernel, bias}, packed.data());
        const float* const from = images.data();
        laws::entry_of<L>(params).run(params, {.src = {&from, 1},
                                               .src_shape = {&in, 1},
                                               .dst = dst.data(),
                                               .dst_shape = out,
                                               .batch = 2,
                                               .weights = packed.data(),
                                               .executor = here,
                                               .src_range = {&src_range, 1},
                                               .dst_range = dst_range});
        std::vector<float> result;
        const auto* const elements = reinterpret_cast<const ps::element_of<L>*>(dst.data());
        for (std::size_t image = 0; image < 2; ++image) {
            for (int c = 0; c < out.c; ++c) {
                for (int h = 0; h < out.h; ++h) {
                    for (int w = 0; w < out.w; ++w) {
                        const auto element = elements[image * L::size(out) + L::offset(out, {c, h, w})];
                        if constexpr (std::same_as<L, ps::hwc_u8>) {
                            result.push_back(static_cast<float>(element));
                        } else {
                            result.push_back(to_float(element));
                        }
                    }
                }
            }
        }
        if (dst.back() != 777) std::ranges::fill(result, std::nanf(""));
        return result;
    }
    template <class Expected>
    void check(std::vector<float> const& result, Expected const& expected) const {
        std::size_t wrong = 0, at = 0;
        for (std::size_t image = 0; image < 2; ++image) {
            for (int k = 0; k < out.c; ++k) {
                for (int y = 0; y < out.h; ++y) {
                    for (int x = 0; x < out.w; ++x) wrong += result[at++] == expected(image, k, y, x) ? 0U : 1U;
                }
            }
        }
        CAPTURE(to_string(in));
        CAPTURE(params.k);
        CAPTURE(params.groups);
        CAPTURE(params.kernel.w);
        CAPTURE(params.stride.w);
        CHECK(wrong == 0);
    }
};

/// A product that is rounded to a float.
float rounded(float a, float b) {
    const volatile float product = a * b;
    return product;
}

void check_bytes(Layer const& layer) {
    std::vector<std::uint8_t> bytes(layer.src.size());
    ps::to_bytes(layer.src.data(), layer.src.size(), ps::ToBytes(src_range), bytes.data());
    const int k_of_group = layer.params.k / layer.params.groups, taps = layer.params.kernel.h * layer.params.kernel.w;
    std::vector<float> largest(static_cast<std::size_t>(layer.params.k));
    const auto output_of = [&](std::size_t weight) {
        const int c = static_cast<int>(weight) / taps / k_of_group, k = static_cast<int>(weight) / taps % k_of_group;
        return static_cast<std::size_t>(c / (layer.in.c / layer.params.groups) * k_of_group + k);
    };
    for (std::size_t i = 0; i < layer.kernel.size(); ++i) {
        largest[output_of(i)] = std::max(largest[output_of(i)], std::abs(layer.kernel[i]));
    }
    layer.check(layer.run<ps::hwc_u8>(), [&](std::size_t image, int k, int y, int x) {
        const float most = largest[static_cast<std::size_t>(k)], over_scale = 1 / dst_range.scale;
        std::int64_t sum = 0;
        layer.each_product(image, k, y, x, [&](std::size_t element, std::size_t tap) {
            const double weight =
                std::nearbyint(static_cast<double>(layer.kernel[tap]) * 127 / static_cast<double>(most));
            sum += (bytes[element] - src_range.zero_point) * static_cast<int>(weight);
        });
        float value = rounded(static_cast<float>(sum), rounded(most / 127, rounded(src_range.scale, over_scale)));
        if (layer.params.bias) value += rounded(layer.bias[static_cast<std::size_t>(k)], over_scale);
        return std::clamp(std::nearbyint(value) + static_cast<float>(dst_range.zero_point), 0.0F, 255.0F);
    });
}
void check_bf16(Layer const& layer) {
    layer.check(layer.run<ps::hwc_bf16>(), [&](std::size_t image, int k, int y, int x) {
        float sum = layer.params.bias ? layer.bias[static_cast<std::size_t>(k)] : 0;
        layer.each_product(image, k, y, x, [&](std::size_t element, std::size_t tap) {
            sum += layer.src[element] * layer.kernel[tap];
        });
        return to_float(ps::bfloat16::nearest(sum));
    });
}

TEST_CASE("transposed convolutions of bytes are those of integers, and of integers in bfloat16 exact before rounding") {
    const std::vector<ps::ConvTransposeParams> all = {
        {.kernel = 2, .stride = 2},
        {.kernel = 3, .stride = 1, .padding = 1, .bias = false},
        {.kernel = 4, .stride = 2, .padding = 1},
        {.kernel = {2, 5}, .stride = {3, 4}, .padding = {0, 1, 2, 3}, .dilation = {2, 1}, .extra_h = 2, .extra_w = 3},
        {.kernel = {1, 9}, .stride = {5, 1}, .padding = {0, 4}, .extra_h = 7},
        {.kernel = 2, .stride = 5, .dilation = 3, .bias = false},
    };
    unsigned turn = 0;
    for (ps::ConvTransposeParams params : all) {
        for (const ps::Shape shape : {ps::Shape{1, 1, 1}, {6, 4, 17}, {40, 2, 37}}) {
            if (quick() && turn++ % 4 == 2) continue;
            for (const int groups : {1, 2, shape.c}) {
                for (const int k : {1, 3, 37}) {
                    if (shape.c % groups != 0 || (quick() && k * groups > 40)) continue;
                    params.groups = groups, params.k = k * groups;
                    if (params.check({&shape, 1}) != ps::Fault::none) continue;
                    check_bytes(Layer(params, shape, false));
                    check_bf16(Layer(params, shape, true));
                }
            }
        }
    }
}

TEST_CASE("transposed convolutions of many channels") {
    const ps::ConvTransposeParams params{.k = 35, .kernel = 3, .stride = 2, .padding = 1};
    check_bytes(Layer(params, {300, 2, 5}, false));
    check_bf16(Layer(params, {300, 2, 5}, true));
}

TEST_CASE("transposed convolutions of bytes whose sums might overflow have no price") {
    const ps::ConvTransposeParams params{.k = 1, .kernel = 4};
    const auto operations = [&params](int channels) {
        const ps::Shape in{channels, 2, 2};
        return ps::OpIn<ps::ConvTransposeParams, ps::hwc_u8>::work<ps::default_arch>(params, {&in, 1},
                                                                                     params.output({&in, 1}))
            .operations;
    };
    CHECK(std::isfinite(operations(2048)));
    CHECK(std::isinf(operations(2049)));
}

}  // namespace conv_transpose_narrow_tests
