#include "int8_laws.hpp"

#include <primsel/primitive/depthwise_int8.hpp>

#include <doctest/doctest.h>

#include <iterator>

namespace ps = primsel;

TEST_CASE("depthwise in 8 bits: every bit is that of the definition in integers") {
    std::vector<ps::ConvShape> shapes = laws::odd_shapes();
    for (const int c : {40, 300}) {
        shapes.push_back(laws::same_shape(c, c, 13, 31, 5));
        shapes.back().groups = c;
    }
    int8_laws::Runs runs;
    unsigned turn = 0;
    for (ps::ConvShape const& shape : shapes) {
        laws::Epilogue const& epilogue = laws::epilogues[turn % std::size(laws::epilogues)];
        int8_laws::check<ps::DepthwiseInt8>(int8_laws::Layer(shape, ++turn), epilogue, runs);
    }
    CHECK(runs[ps::DepthwiseInt8::id] >= (quick() ? 5 : 40));
}
