// The strips, the edges and the strides of direct convolution from chw to chw.
#include "laws.hpp"

#include <primsel/primitive/direct_chw.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace direct_chw {

using namespace laws;

std::vector<ps::ConvShape> shapes() {
    std::vector<ps::ConvShape> all;
    // Images read in place, in one strip and in several, that end within a vector.
    all.push_back({.c = 3, .k = 13, .h = 9, .w = 11});
    all.push_back({.c = 6, .k = 8, .h = 131, .w = 257, .groups = 2});
    all.push_back({.c = 260, .k = 3, .h = 23, .w = 37});
    all.push_back({.c = 40, .k = 9, .h = 71, .w = 1, .stride_w = 2});
    // Vectors that run across rows: strides and columns of taps.
    all.push_back({.c = 10, .k = 12, .h = 21, .w = 19, .stride_h = 2, .stride_w = 3, .groups = 2});
    all.push_back({.c = 9, .k = 7, .h = 150, .w = 97, .fh = 5, .pad_top = 4, .pad_bottom = 4, .dilation_h = 2});
    // Rows in parts, by the stride, in one strip and in several.
    for (const int h : {17, 190}) {
        for (const int stride : {1, 2, 3, 4}) {
            for (const int dilation : {1, 3}) {
                ps::ConvShape s = same_shape(7, 9, h, 90, 3);
                s.stride_h = stride % 3 + 1, s.stride_w = stride;
                s.dilation_h = s.dilation_w = dilation;
                s.pad_left = 4;
                all.push_back(s);
            }
        }
    }
    return all;
}

TEST_CASE("direct convolution from chw to chw computes the definition, in place, in strips and with any stride") {
    const List list = all_primitives();
    const ps::PrimitiveEntry entry = chosen(list.primitives, ps::TypeList<ps::DirectChw>{}).at(0);
    ps::Sequential sequential;
    Backwards backwards;
    for (ps::ConvShape const& shape : shapes()) {
        CAPTURE(to_string(shape));
        const Problem problem(shape, Values::integers);
        const std::vector<double> exact = problem.exact(epilogues[1]);
        const Outcome one = run(list, entry, problem, epilogues[1], sequential, Watch::zones);
        const Outcome two = run(list, entry, problem, epilogues[1], backwards, Watch::heap);
        CHECK(one.intact);
        CHECK(two.intact);
        CHECK(same_bits(one.dst, two.dst));
        CHECK(equal(one.dst, exact));
    }
}

}  // namespace direct_chw
