#include <primsel/learn/profile.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <string>

#include "machines.hpp"

namespace ps = primsel;

TEST_CASE("a fingerprint is of the rows: whatever changes in one changes it, and nothing else does") {
    ps::learn::Dataset data = machines::primitives(5, 1);
    const std::string original = ps::learn::fingerprint(data);
    CHECK(original.size() == 16);
    data.about["cpu"] = "another";
    data.subjects[0] = "another";
    CHECK(ps::learn::fingerprint(data) == original);
    std::set<std::string> all{original};
    for (int& number : data.configurations) {
        ++number;
        CHECK(all.insert(ps::learn::fingerprint(data)).second);
    }
    for (double& seconds : data.seconds) {
        seconds += 1e-9;
        CHECK(all.insert(ps::learn::fingerprint(data)).second);
    }
}

TEST_CASE("both parts of a profile are of one instruction set, as far as it is known") {
    ps::learn::Profile profile = machines::profile(3, 1);
    CHECK(ps::learn::what_of(profile.primitives.data) == "primitives");
    CHECK(ps::learn::what_of(profile.layouts->data) == "layouts");
    const auto error = [&] { return machines::error_of([&] { ps::learn::require_one_arch(profile); }); };
    CHECK(error().empty());
    profile.layouts->data.about["arch"] = "slate";
    CHECK(error() == "l.csv: its arch is slate, that of p.csv is abacus");
    profile.primitives.data.about.erase("arch");
    CHECK(error().empty());
    profile.layouts.reset();
    CHECK(error().empty());
}
