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
    for (const int c : {17, 70}) {
        ps::ConvShape seven = laws::same_shape(c, c, 9, 13, 7), line = laws::same_shape(c, c, 1, 19, 1);
        line.fw = 5, line.pad_left = 4, line.pad_right = 4, line.dilation_w = 2;
        ps::ConvShape apart = laws::same_shape(c, c, 11, 21, 3);
        apart.stride_h = 3, apart.stride_w = 1 + c % 3, apart.dilation_h = 2;
        for (ps::ConvShape* shape : {&seven, &line, &apart}) shape->groups = c;
        shapes.insert(shapes.end(), {seven, line, apart});
        seven.stride_h = seven.stride_w = 2, seven.pad_left = 1;
        shapes.push_back(seven);
        for (const int w : {2, 7, 20}) {
            ps::ConvShape dilated = laws::same_shape(c, c, 8, w, w == 7 ? 5 : 3);
            dilated.groups = c, dilated.dilation_h = 1 + w % 4, dilated.dilation_w = w == 20 ? 2 : 3;
            dilated.pad_left = 5, dilated.pad_right = 7, dilated.pad_top = dilated.pad_bottom = 8;
            shapes.push_back(dilated);
        }
    }
    int8_laws::Runs runs;
    unsigned turn = 0;
    for (ps::ConvShape const& shape : shapes) {
        laws::Epilogue const& epilogue = laws::epilogues[turn % std::size(laws::epilogues)];
        int8_laws::check<ps::DepthwiseInt8>(int8_laws::Layer(shape, ++turn), epilogue, runs);
    }
    CHECK(runs[ps::DepthwiseInt8::id] >= (quick() ? 5 : 40));
}
