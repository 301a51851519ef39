#include <primsel/core/work.hpp>

#include <doctest/doctest.h>

namespace ps = primsel;

TEST_CASE("Work: phases in their order; those of another are repeated on the same working set") {
    const ps::Work inner = ps::Work{}
                               .add({.rate = ps::Rate::gemm, .operations = 10, .bytes = 4, .working_set = 100})
                               .add({.rate = ps::Rate::scalar, .operations = 1, .narrow = 2, .working_set = 8});
    const ps::Work work = ps::Work{}.add({.bytes = 5}).append(inner, 3);
    REQUIRE(work.end() - work.begin() == 3);
    CHECK(work.begin()[0].bytes == 5);
    CHECK(work.begin()[0].rate == ps::Rate::vector);
    CHECK(work.begin()[1].rate == ps::Rate::gemm);
    CHECK(work.begin()[1].operations == 30);
    CHECK(work.begin()[1].bytes == 12);
    CHECK(work.begin()[1].working_set == 100);
    CHECK(work.begin()[2].operations == 3);
    CHECK(work.begin()[2].narrow == 2);
    CHECK(work.begin()[2].working_set == 8);
}
