#include <primsel/learn/configuration.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace ps = primsel;

TEST_CASE("configurations: rows and shapes say the same") {
    constexpr ps::learn::ConvConfiguration at{.c = 3, .k = 64, .im = 28, .f = 7, .s = 2};
    CHECK(at.row() == std::array{3, 64, 28, 7, 2});
    CHECK(ps::learn::ConvConfiguration::of_row(at.row()) == at);
    CHECK(ps::learn::ConvConfiguration::of(at.shape()) == at);
    CHECK(at.shape().pad_top == 3);
    CHECK(at.shape().valid());
    CHECK(ps::learn::ConvConfiguration::inputs() == std::vector<std::string>{"c", "k", "im", "f", "s"});

    constexpr ps::learn::TensorConfiguration tensor{.c = 5, .im = 4};
    CHECK(ps::learn::TensorConfiguration::of_row(tensor.row()) == tensor);
    CHECK(tensor.shape() == ps::Shape{5, 4, 4});
}

TEST_CASE("configurations: what they cannot say is none, padding does not matter") {
    const auto of = [](auto const& change) {
        ps::ConvShape shape = ps::learn::ConvConfiguration{.c = 4, .k = 8, .im = 9, .f = 3, .s = 1}.shape();
        change(shape);
        return ps::learn::ConvConfiguration::of(shape).has_value();
    };
    CHECK(of([](auto& shape) { shape.pad_left = 0; }));
    CHECK_FALSE(of([](auto& shape) { shape.w = 8; }));
    CHECK_FALSE(of([](auto& shape) { shape.fw = 1; }));
    CHECK_FALSE(of([](auto& shape) { shape.stride_w = 2; }));
    CHECK_FALSE(of([](auto& shape) { shape.groups = 2; }));
    CHECK_FALSE(of([](auto& shape) { shape.dilation_h = 2; }));
}
