#include <primsel/learn/subjects.hpp>
#include <primsel/primitive/all.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "machines.hpp"

namespace ps = primsel;

TEST_CASE("the family of every published id is the one that its primitive says") {
    const ps::Kernels kernels = machines::kernels();
    static_assert(ps::PublishedPrimitives::size == 75);  // the first of all
    for (ps::PrimitiveEntry const& primitive : kernels.primitives.first(75)) {
        CAPTURE(primitive.id);
        CHECK(ps::learn::family_of_id(primitive.id) == primitive.family);
    }
    CHECK(ps::learn::family_of_id("winograd-") == ps::Family::other);
    CHECK(ps::learn::family_of_id("winograd-3") == ps::Family::other);
    CHECK(ps::learn::family_of_id("") == ps::Family::other);
}

TEST_CASE("a layout changes to itself, or it does not") {
    for (const char* same : {"chw-to-chw", "a-to-a", "-to-"}) CHECK(ps::learn::is_identity(same));
    for (const char* other : {"chw-to-hwc", "chw", "", "a-to-", "a-to-a-to-a"})
        CHECK_FALSE(ps::learn::is_identity(other));
}

TEST_CASE("subjects are chosen by name, with their times, in any order") {
    const ps::learn::Dataset data = machines::primitives(12, 1);
    const std::vector<std::string> wanted{data.subjects[2], "nothing of the kind", data.subjects[0]};
    const ps::learn::Dataset some = ps::learn::with_subjects(data, wanted);
    CHECK(some.subjects == wanted);
    CHECK(some.inputs == data.inputs);
    CHECK(some.about == data.about);
    CHECK(some.configurations == data.configurations);
    for (std::size_t row = 0; row < data.rows(); ++row) {
        CHECK(some.time(row, 0) == data.time(row, 2));
        CHECK(some.time(row, 1) == 0);
        CHECK(some.time(row, 2) == data.time(row, 0));
    }
    // All of them: the same again. None: rows without times.
    CHECK(ps::learn::with_subjects(data, data.subjects).seconds == data.seconds);
    CHECK(ps::learn::with_subjects(data, {}).rows() == data.rows());
}

TEST_CASE("idle is what was never measured, and what changes nothing; what is left stays, and is not idle") {
    for (const bool layouts : {false, true}) {
        const ps::learn::Dataset data = layouts ? machines::layouts(9, 1) : machines::primitives(9, 1);
        const ps::learn::Dataset busy = ps::learn::without_idle(data);
        CHECK(busy.subjects == (layouts ? std::vector<std::string>{"chw-to-hwc", "hwc-to-chw"}
                                        : std::vector<std::string>{"direct-hwc", "kn2row", "winograd-2-3"}));
        CHECK(ps::learn::without_idle(busy).subjects == busy.subjects);
        CHECK(ps::learn::with_subjects(data, busy.subjects).seconds == busy.seconds);
        CHECK(ps::learn::labels_of(busy) ==
              (layouts ? std::vector<std::string>{"", ""} : std::vector<std::string>{"direct", "kn2", "wino3"}));
    }
}
