#include "chw8c.hpp"

#include <primsel/tensor/tensor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

namespace {

namespace ps = primsel;

TEST_CASE("a tensor owns zeros, aligned to a cache line") {
    ps::Tensor<ps::hwc> tensor({3, 4, 5}, 2);
    CHECK(tensor.shape() == ps::Shape{3, 4, 5});
    CHECK(tensor.batch() == 2);
    CHECK(tensor.size() == 2 * 60);
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % ps::alignment == 0);
    CHECK(std::ranges::all_of(tensor, [](float x) { return x == 0; }));
    tensor(2, 3, 4) = 1;
    CHECK(tensor.data()[59] == 1);
    CHECK(tensor.view()(0, 2, 3, 4) == 1);
    CHECK(std::accumulate(tensor.begin(), tensor.end(), 0.0F) == 1);
    CHECK(ps::Tensor<chw8c>({9, 4, 5}).size() == 16 * 20);
    CHECK(ps::Tensor({1, 1, 1}).view().size() == 1);
}

TEST_CASE("an impossible shape is an error that names it") {
    for (const ps::Shape shape : {ps::Shape{0, 1, 1}, ps::Shape{1, -1, 1}, ps::Shape{1, 1, 0}}) {
        CHECK_THROWS_AS(ps::Tensor<>{shape}, ps::error);
    }
    CHECK_THROWS_WITH_AS(ps::Tensor<>({3, 0, 5}, 2), "tensor: impossible shape 2x3x0x5", ps::error);
    CHECK_THROWS_AS(ps::Tensor<>({1, 1, 1}, 0), ps::error);
}

TEST_CASE("a shape of more floats than there can be is an error, not a small tensor") {
    constexpr int most = std::numeric_limits<int>::max();
    // 2^66 and 2^64 floats: as many as none, in 64 bits.
    CHECK_THROWS_AS(ps::Tensor<>({1 << 22, 1 << 22, 1 << 22}), ps::error);
    CHECK_THROWS_AS(ps::Tensor<>({1 << 16, 1 << 16, 1 << 16}, 1 << 16), ps::error);
    CHECK_THROWS_AS(ps::Tensor<ps::hwc>({most, most, most}, most), ps::error);
    CHECK_THROWS_AS(ps::Tensor<chw8c>({most, most, 1}), ps::error);
}

}  // namespace
