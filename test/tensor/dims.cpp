#include <primsel/tensor/dims.hpp>

#include <doctest/doctest.h>

namespace ps = primsel;

static_assert(ps::Dims{}.size() == 1);
static_assert(ps::Dims{2, 3, 4}.size() == 24);
static_assert(ps::Dims{2, 0}.size() == 0);
static_assert(ps::Dims{2, 3} != ps::Dims{3, 2});
static_assert(ps::Dims{2} != ps::Dims{2, 1});

TEST_CASE("Dims: extents, rank and text") {
    ps::Dims dims{2, 3};
    dims.push_back(4);
    CHECK(dims == ps::Dims{2, 3, 4});
    CHECK(dims.rank() == 3);
    dims[1] = 7;
    CHECK(dims[1] == 7);
    CHECK(dims.end() - dims.begin() == 3);
    CHECK(dims.size() == 56);
    CHECK(to_string(dims) == "2x7x4");
    CHECK(to_string(ps::Dims{}) == "scalar");
    CHECK(ps::Dims{1 << 20, 1 << 20}.size() == std::size_t{1} << 40);
}
