#include "laws.hpp"

#include <primsel/op/as_strided.hpp>

#include <algorithm>

namespace {

namespace ps = primsel;
using ps::AsStridedParams;

TEST_CASE("as_strided transposes in every way") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        const int extents[] = {shape.c, shape.h, shape.w};
        const std::ptrdiff_t strides[] = {static_cast<std::ptrdiff_t>(shape.pixels()), shape.w, 1};
        int order[] = {0, 1, 2};
        do {
            AsStridedParams params;
            for (std::size_t i = 0; i < 3; ++i) {
                params.dims.push_back(extents[order[i]]);
                params.strides[i] = strides[order[i]];
            }
            params.shape = {params.dims[0], params.dims[1], params.dims[2]};
            laws::check(params, shape, 0);
        } while (std::next_permutation(std::begin(order), std::end(order)));
    }
}

TEST_CASE("as_strided broadcasts, flips, and steps over elements") {
    // The last row of every other channel, backwards, three times.
    laws::check(AsStridedParams{{3, 4, 9}, {0, 126, -1}, 62, {4, 3, 9}}, ps::Shape{7, 7, 9}, 0);
    // One element.
    laws::check(AsStridedParams{{}, {}, 5, {1, 1, 1}}, ps::Shape{2, 3, 2}, 0);
    laws::check(AsStridedParams{{2, 40000}, {1, 0}, 3, {2, 200, 200}}, ps::Shape{1, 1, 5}, 0);
    laws::check(AsStridedParams{{40000}, {2}, 0, {1, 200, 200}}, ps::Shape{1, 8, 10000}, 0);
    laws::check(AsStridedParams{{40000, 2}, {1, 40000}, 0, {1, 400, 200}}, ps::Shape{1, 8, 10000}, 0);
    // Few columns of very many rows, in parts of rows.
    laws::check(AsStridedParams{{21, 20011}, {1, 21}, 0, {21, 1, 20011}}, ps::Shape{1, 20011, 21}, 0);
    // Pixels of one to five colours: their planes.
    for (int colours = 1; colours <= 5; ++colours) {
        for (const int pixels : {3, 4, 5, 8, 9, 20001}) {
            laws::check(AsStridedParams{{colours, pixels}, {1, colours}, 0, {colours, 1, pixels}},
                        ps::Shape{1, pixels, colours}, 0);
        }
    }
    // Every second, third and fourth element, up to the last one of the tensor.
    for (int step = 2; step <= 4; ++step) {
        for (const int count : {1, 5, 15, 16, 17, 32, 33, 50, 20001}) {
            laws::check(AsStridedParams{{3, count}, {0, step}, 0, {3, 1, count}},
                        ps::Shape{1, 1, step * (count - 1) + 1}, 0);
        }
    }
    // Pairs from two rows, and two rows from pairs.
    for (const int count : {1, 3, 15, 16, 17, 32, 33, 50, 20001}) {
        laws::check(AsStridedParams{{2, count, 2}, {2 * count, 1, count}, 0, {2, count, 2}}, ps::Shape{4, 1, count}, 0);
        laws::check(AsStridedParams{{2, 2, count}, {1, 2 * count, 2}, 0, {4, 1, count}}, ps::Shape{2, count, 2}, 0);
    }
    // Windows of eight that overlap.
    laws::check(AsStridedParams{{57, 8}, {1, 1}, 0, {57, 1, 8}}, ps::Shape{1, 1, 64}, 0);
}

TEST_CASE("as_strided of eight axes: depth to space, then transposed") {
    const AsStridedParams params{{2, 1, 3, 2, 1, 5, 2, 3}, {1, 0, 2, 6, 7, 12, 60, 120}, 0, {6, 20, 3}};
    laws::check(params, ps::Shape{3, 20, 6}, 0);
    // From PyTorch 1.13: PixelShuffle(2) of 4 channels of 1 x 2.
    const AsStridedParams shuffle{{1, 1, 2, 2, 2}, {8, 2, 4, 1, 2}, 0, {1, 2, 4}};
    CHECK(laws::run_one<ps::chw>(shuffle, {4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}) ==
          std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7});
}

}  // namespace
