#include <primsel/op/detail/walk.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

namespace ps = primsel;
using Walk = ps::op::detail::Walk<2, 4>;

TEST_CASE("axes of one element are left out, and those that go on become one") {
    Walk walk;
    CHECK(walk.rank() == 0);
    CHECK(walk.rows() == 1);
    CHECK(walk.row_floats() == 1);
    CHECK(walk.row_step() == Walk::Offsets{0, 0});
    walk.add(2, {60, 0});
    walk.add(1, {7, 7});
    walk.add(3, {20, 0});
    CHECK(walk.rank() == 1);
    CHECK(walk.extent(0) == 6);
    walk.add(4, {5, 1});
    CHECK(walk.rank() == 2);
    walk.add(5, {1, 1});
    CHECK(walk.rank() == 3);  // the second steps over elements
    CHECK(walk.rows() == 24);
    CHECK(walk.row_floats() == 5);
    CHECK(walk.row_step() == Walk::Offsets{1, 1});
}

TEST_CASE("every row is met once in every part, with its offsets") {
    for (const std::size_t element_floats : {1U, 1000U, 20000U}) {
        Walk walk;
        walk.add(3, {1000, -7});
        walk.add(2, {400, 0});
        walk.add(7, {11, 100});
        walk.add(40, {1, 0});
        ps::Sequential sequential;
        std::vector<std::size_t> parts(walk.rows());
        std::size_t each = 0;
        walk.for_each_row(
            sequential,
            [&](std::size_t row, Walk::Offsets const& at, ps::op::detail::Part part) {
                const auto i = static_cast<std::ptrdiff_t>(row);
                CHECK(at == Walk::Offsets{i / 14 * 1000 + i / 7 % 2 * 400 + i % 7 * 11, i / 14 * -7 + i % 7 * 100});
                CHECK(part.index == parts[row]);
                ++parts[row];
                each = part.count;
            },
            element_floats);
        CHECK((each > 1) == (element_floats > 1));
        for (const std::size_t met : parts) CHECK(met == each);
    }
}

}  // namespace
