#include "blocks.hpp"
#include "int8_laws.hpp"

#include <primsel/primitive/direct_int8.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace ps = primsel;

namespace direct_int8_tests {

void check_all(int8_laws::Layer const& layer, laws::Epilogue const& epilogue, int8_laws::Runs& runs) {
    int8_laws::check<ps::DirectInt8>(layer, epilogue, runs);
    int8_laws::check<ps::DirectHwcInt8>(layer, epilogue, runs);
    int8_laws::check<ps::DirectInt8Hwc>(layer, epilogue, runs);
    int8_laws::check<ps::DirectHwcInt8Hwc>(layer, epilogue, runs);
}

TEST_CASE("8 bits: every bit of a convolution is that of the definition in integers") {
    int8_laws::Runs runs;
    unsigned turn = 0;
    for (ps::ConvShape const& shape : laws::odd_shapes()) {
        laws::Epilogue const& epilogue = laws::epilogues[turn % std::size(laws::epilogues)];
        check_all(int8_laws::Layer(shape, ++turn), epilogue, runs);
    }
    CHECK(runs.size() == 4);
    for (auto const& [id, count] : runs) CHECK(count >= (quick() ? 5 : 40));
}

TEST_CASE("8 bits: strips of a large image, panels of many outputs, dilation and large weights") {
    std::vector<ps::ConvShape> shapes{laws::same_shape(33, 35, 23, 14, 3), laws::same_shape(19, 70, 23, 14, 1),
                                      laws::same_shape(96, 97, 9, 40, 1),  laws::same_shape(200, 200, 9, 7, 3),
                                      laws::same_shape(3, 40, 31, 40, 7),  laws::same_shape(130, 40, 30, 40, 3)};
    shapes[4].stride_h = shapes[4].stride_w = 2;
    shapes.push_back(laws::same_shape(70, 24, 40, 12, 3));
    shapes.back().dilation_h = shapes.back().dilation_w = 16;
    shapes.back().pad_top = shapes.back().pad_bottom = shapes.back().pad_left = shapes.back().pad_right = 16;
    int8_laws::Runs runs;
    unsigned turn = 5;
    for (ps::ConvShape const& shape : shapes) check_all(int8_laws::Layer(shape, ++turn), laws::epilogues[1], runs);
    CHECK(runs[ps::DirectInt8::id] == 7);
}

TEST_CASE("8 bits: groups that fill a panel, a half of one or a part of it, or lie in two") {
    int8_laws::Runs runs;
    unsigned turn = 3;
    struct Groups {
        int groups, c, k;
    };
    for (auto const& [groups, c, k] :
         {Groups{2, 32, 32}, Groups{3, 16, 16}, Groups{9, 8, 8}, Groups{12, 4, 4}, Groups{5, 12, 24}, Groups{4, 20, 10},
          Groups{3, 7, 40}, Groups{40, 1, 2}, Groups{5, 4, 4}, Groups{3, 4, 4}, Groups{6, 8, 8}}) {
        for (const int f : {1, 3}) {
            ps::ConvShape shape = laws::same_shape(groups * c, groups * k, 9, 11, f);
            shape.groups = groups, shape.stride_w = f == 3 ? static_cast<int>(turn % 2 + 1) : 1;
            check_all(int8_laws::Layer(shape, ++turn), laws::epilogues[1], runs);
        }
    }
    CHECK(runs[ps::DirectInt8::id] == 22);
}

TEST_CASE("8 bits: a result is brought within the bounds of a summand before the residual is added") {
    const laws::Epilogue epilogue{
        .bias = true, .residual = true, .clamp = {-9.0F, 40.0F}, .summand = ps::bounds_of({0.02F, 77})};
    int8_laws::Runs runs;
    unsigned turn = 0;
    for (const int k : {1, 16, 33, 64, 70}) {
        check_all(int8_laws::Layer(laws::same_shape(9, k, 7, 5, 3), ++turn), epilogue, runs);
    }
    CHECK(runs[ps::DirectInt8::id] == 5);
}

TEST_CASE("8 bits: results that no integer holds become the bounds' bytes") {
    int8_laws::Runs runs;
    unsigned turn = 0;
    for (const float scale : {1e-5F, 1e-8F, 1e-12F}) {
        for (laws::Epilogue const& epilogue : laws::epilogues) {
            int8_laws::Layer layer(laws::same_shape(9, 35, 7, 5, 3), turn++);
            layer.dst_range.scale = scale;
            check_all(layer, epilogue, runs);
            layer.bias[1] = 1e30F, layer.bias[20] = -1e30F, layer.dst_range.scale = 0.3F;
            check_all(layer, epilogue, runs);
        }
    }
    CHECK(runs[ps::DirectInt8::id] >= 6);
}

/// The result as a part of larger pixels, between bytes that nothing may touch.
template <class P>
void check_part(int8_laws::Layer const& layer, laws::Epilogue const& epilogue) {
    CAPTURE(std::string(std::string_view(P::id)));
    CAPTURE(to_string(layer.shape));
    using From = typename P::in_layout;
    using Element = ps::element_of<typename P::out_layout>;
    using Traits = ps::PrimitiveTraits<P, ps::default_arch>;
    ps::ConvShape const& s = layer.shape;
    const auto k = static_cast<std::size_t>(s.k), around = 12 / sizeof(Element), stride = k + 2 * around;
    REQUIRE(stride * sizeof(Element) % sizeof(float) == 0);
    std::vector<float> src(From::size(s.in_shape())), packed(Traits::packed_floats(s)),
        scratch(Traits::scratch_floats(s, 1));
    laws::Guarded dst(s.out_pixels() * stride * sizeof(Element) / sizeof(float), laws::Watch::zones, 0);
    int8_laws::to_layout<From>(s.in_shape(), layer.src, src.data(), layer.src_range);
    Traits::pack(s, layer.kernel.data(), packed.data());
    auto* const bytes = reinterpret_cast<unsigned char*>(dst.data());
    std::fill_n(bytes, s.out_pixels() * stride * sizeof(Element), 99);
    ps::Sequential here;
    P::template run<ps::default_arch>(s, {.src = src.data(),
                                          .weights = packed.data(),
                                          .bias = epilogue.bias ? layer.bias.data() : nullptr,
                                          .clamp = epilogue.clamp,
                                          .dst = dst.data() + around * sizeof(Element) / sizeof(float),
                                          .dst_stride = stride * sizeof(Element) / sizeof(float),
                                          .scratch = scratch.data(),
                                          .executor = here,
                                          .src_range = layer.src_range,
                                          .dst_range = layer.dst_range});
    CHECK(dst.intact());
    const auto* const elements = reinterpret_cast<const Element*>(bytes);
    std::vector<float> result(s.out_shape().size());
    std::size_t touched = 0;
    for (std::size_t pixel = 0; pixel < s.out_pixels(); ++pixel) {
        const Element* const of_pixel = elements + pixel * stride;
        for (std::size_t c = 0; c < k; ++c)
            result[c * s.out_pixels() + pixel] = static_cast<float>(of_pixel[around + c]);
        for (std::size_t i = 0; i < stride * sizeof(Element); ++i) {
            const bool own = i >= 12 && i < 12 + k * sizeof(Element);
            touched += !own && bytes[pixel * stride * sizeof(Element) + i] != 99 ? 1U : 0U;
        }
    }
    CHECK(touched == 0);
    CHECK(laws::same_bits(result, int8_laws::expected(layer, epilogue, std::same_as<Element, float>)));
}

TEST_CASE(
    "8 bits: channels that are a part of more channels, and nothing "
    "between them is touched") {
    unsigned turn = 0;
    for (const int k : {4, 16, 28, 32, 48, 72}) {
        const int8_laws::Layer layer(laws::same_shape(9, k, 7, 5, 3), ++turn);
        laws::Epilogue const& epilogue = laws::epilogues[turn % 2 == 0 ? 2 : 5];
        check_part<ps::DirectInt8>(layer, epilogue);
        check_part<ps::DirectHwcInt8>(layer, epilogue);
        check_part<ps::DirectInt8Hwc>(layer, epilogue);
    }
}

TEST_CASE("8 bits: sums that might overflow are refused") {
    CHECK(ps::DirectInt8::supports(laws::same_shape(3640, 1, 3, 3, 3)));
    CHECK(!ps::DirectInt8::supports(laws::same_shape(3641, 1, 3, 3, 3)));
}

TEST_CASE("8 bits: two threads share the results of every layer that is worth it") {
    using Traits = ps::PrimitiveTraits<ps::DirectInt8, ps::default_arch>;
    for (ps::ConvShape const& shape : blocks::shapes()) {
        CAPTURE(to_string(shape));
        ps::AlignedBuffer src(shape.in_shape().size()), dst(shape.out_shape().size()),
            packed(Traits::packed_floats(shape)), scratch(Traits::scratch_floats(shape, 2));
        blocks::Counts counts;
        ps::DirectInt8::run<ps::default_arch>(shape, {.src = src.data(),
                                                      .weights = packed.data(),
                                                      .dst = dst.data(),
                                                      .scratch = scratch.data(),
                                                      .executor = counts});
        CHECK(counts.last >= 2);
    }
}

}  // namespace direct_int8_tests
