// The list as a table, and a primitive and a layout of a user's own in it.
#include "laws.hpp"
#include "own_primitive.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

using namespace laws;

namespace {

using Primitives = ps::MecPrimitives::with<Own>;
using Layouts = ps::TypeList<ps::chw, ps::hcw, ps::hwc, chw8c>;
static_assert(Primitives::size == ps::MecPrimitives::size + 1);

}  // namespace

TEST_CASE("ids are unique, families filled, and every entry is complete") {
    std::set<std::string_view> ids;
    std::map<ps::Family, int> families;
    const List list = all_primitives();
    CHECK(list.primitives.size() == ps::AllPrimitives::size);
    std::ifstream file("README.md");
    const std::string page(std::istreambuf_iterator<char>(file), {});
    CHECK(page.find(ps::join("can be computed in ", list.primitives.size(), " ways")) != std::string::npos);
    for (ps::PrimitiveEntry const& entry : list.primitives) {
        CAPTURE(std::string(entry.id));
        CHECK(ids.insert(entry.id).second);
        ++families[entry.family];
        CHECK(entry.in_layout < list.layouts.size());
        CHECK(entry.out_layout < list.layouts.size());
        CHECK((entry.error_bound > 0 && entry.error_bound < 1e-3));
    }
    for (const ps::Family family : {ps::Family::direct, ps::Family::im2, ps::Family::kn2, ps::Family::wino3,
                                    ps::Family::wino5, ps::Family::conv_1x1, ps::Family::mec}) {
        CAPTURE(std::string(to_string_view(family)));
        CHECK(families[family] >= 2);
    }
}

TEST_CASE("a primitive and a layout of a user's own stand in the table like any other") {
    constexpr auto const& table = ps::primitive_table<Primitives, ps::default_arch, Layouts>;
    const List known = make_list(ps::primitive_table<ps::MecPrimitives, ps::default_arch, ps::AllLayouts>,
                                 ps::AllLayouts{}),
               list = make_list(table, Layouts{});
    REQUIRE(table.size() == known.primitives.size() + 1);
    for (std::size_t i = 0; i < known.primitives.size(); ++i) {
        CAPTURE(std::string(table[i].id));
        CHECK(table[i].id == known.primitives[i].id);
        CHECK(table[i].in_layout == known.primitives[i].in_layout);
        CHECK(table[i].out_layout == known.primitives[i].out_layout);
    }
    ps::PrimitiveEntry const& own = table.back();
    CHECK(own.id == "own");
    CHECK(list.layouts[own.in_layout].name == "chw8c");
    CHECK(list.layouts[own.out_layout].name == "chw");
    CHECK_FALSE(own.fuses_epilogue);
    CHECK(own.supports({.c = 4, .k = 4, .groups = 2}).reason() == "needs one group");
    CHECK(own.packed_bytes({.c = 4, .k = 4, .fh = 3, .fw = 3}) == 4 * 144);

    ps::Sequential sequential;
    Backwards backwards;
    for (ps::ConvShape const& shape : odd_shapes()) {
        if (!own.supports(shape) || shape.operations() > 5e5) continue;
        CAPTURE(to_string(shape));
        const Problem problem(shape, Values::integers);
        const Outcome outcome = run(list, own, problem, {}, sequential, Watch::zones);
        CHECK(outcome.intact);
        CHECK(equal(outcome.dst, problem.exact({})));
        CHECK(same_bits(run(list, own, problem, {}, backwards, Watch::heap).dst, outcome.dst));
    }
}
