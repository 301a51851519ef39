// Spaces: every share stands for a value of its parameter, and every value for a share of its own.
#include <primsel/search/space.hpp>

#include "../error_of.hpp"
#include "spaces.hpp"

#include <doctest/doctest.h>
#include <primsel/search/detail/draw.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace space {
namespace {

namespace ps = primsel;
using tests::error_of;

TEST_CASE("a share stands for a value in the space, whose share stands for it again") {
    ps::search::detail::Draw draw(1, 0);
    for (ps::search::Space const& all : spaces::any()) {
        for (int i = 0; i < 300; ++i) {
            std::vector<double> shares(all.parameters().size());
            for (double& share : shares) share = i < 2 ? i : 3 * draw.uniform() - 1;
            const ps::search::SearchPoint point = all.at(shares);
            CHECK(all.has(point));
            const ps::search::SearchPoint again = all.at(all.shares_of(point));
            for (std::size_t k = 0; k < shares.size(); ++k) {
                const double a = ps::search::number_of(point.values[k]), b = ps::search::number_of(again.values[k]);
                CHECK((point.values[k] == again.values[k] || std::abs(a - b) <= 1e-12 * std::abs(a)));
                CHECK(all.parameters()[k].read(point.values[k]) == point.values[k]);
            }
            CHECK(ps::search::PointFeatures(all).of(point).size() == ps::search::PointFeatures(all).count());
        }
    }
}

TEST_CASE("all values of a finite parameter are found, each as often as another") {
    for (auto const& parameter :
         {ps::search::Parameter::integer("i", -3, 6), ps::search::Parameter::values("v", {"a", "b", "c"}),
          ps::search::Parameter::constant("c", 7)}) {
        std::map<std::string, int> found;
        for (int i = 0; i < 3000; ++i) ++found[ps::search::text_of(parameter.at((i + 0.5) / 3000))];
        CHECK(found.size() == parameter.count());
        for (auto const& [text, times] : found) CHECK(std::abs(times * static_cast<int>(found.size()) - 3000) < 30);
    }
    std::set<std::int64_t> found;
    const ps::search::Parameter parameter =
        ps::search::Parameter::integer("i", 1, 1000, ps::search::Spacing::logarithmic);
    for (std::int64_t i = 1; i <= 1000; ++i) found.insert(std::get<std::int64_t>(parameter.at(parameter.share_of(i))));
    CHECK(found.size() == 1000);
}

TEST_CASE("what is no parameter is refused by name") {
    CHECK(error_of([] { (void)ps::search::Parameter::real("x", 2, 1); }) == "parameter x: no range from 2 to 1");
    CHECK(error_of([] { (void)ps::search::Parameter::real("x", 0, 1, ps::search::Spacing::logarithmic); }) ==
          "parameter x: no logarithm of 0");
    CHECK(
        error_of([] { (void)ps::search::Parameter::real("x", 0, std::nan("")); }).starts_with("parameter x: no range"));
    CHECK(error_of([] { (void)ps::search::Parameter::values("x", {}); }) == "parameter x: has no values");
    CHECK(error_of([] {
              (void)ps::search::Parameter::values("x", {1, 2, 1});
          }) == "parameter x: has the value 1 twice");
    CHECK(error_of([] { (void)ps::search::Parameter::real("x", 0, 1).read(std::string("big")); }) ==
          "parameter x: cannot be big");
    CHECK(
        error_of([] {
            (void)ps::search::Space({ps::search::Parameter::constant("x", 1), ps::search::Parameter::constant("x", 1)});
        }) == "two parameters are called x");
    CHECK(error_of([] { (void)ps::search::Space({}); }) == "a space without parameters");
    CHECK(ps::search::Parameter::real("x", 0, 1).read(std::int64_t{1}) == ps::search::Value(1.0));
}

}  // namespace
}  // namespace space
