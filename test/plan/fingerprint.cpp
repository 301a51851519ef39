#include <primsel/plan/fingerprint.hpp>

#include "fakes.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace ps = primsel;

TEST_CASE("kernels differ with their primitives, the primitives' layouts and order, and the layouts") {
    using fakes::primitive, fakes::chw, fakes::hwc;
    const std::vector<std::vector<ps::PrimitiveEntry>> lists{{primitive("a", chw, chw), primitive("b", chw, chw)},
                                                             {primitive("b", chw, chw), primitive("a", chw, chw)},
                                                             {primitive("a", chw, chw)},
                                                             {primitive("a", hwc, chw), primitive("b", chw, chw)},
                                                             {primitive("a", chw, hwc), primitive("b", chw, chw)},
                                                             {primitive("ab", chw, chw)}};
    std::set<std::string> prints;
    for (auto const& list : lists) {
        CHECK(ps::fingerprint(fakes::kernels(list)) == ps::fingerprint(fakes::kernels(list)));
        prints.insert(ps::fingerprint(fakes::kernels(list)));
    }
    ps::Kernels fewer = fakes::kernels(lists[0]);
    fewer.layouts = fewer.layouts.first(2);
    prints.insert(ps::fingerprint(fewer));
    CHECK(prints.size() == lists.size() + 1);
}
