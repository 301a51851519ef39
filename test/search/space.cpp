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
                // Near its ends a normal distribution has many numbers for one share.
                const double close = all.parameters()[k].name() == "normal" ? 1e-7 : 1e-12;
                CHECK((point.values[k] == again.values[k] || std::abs(a - b) <= close * std::abs(a)));
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

TEST_CASE("multiples lie within the range, and each has the share of the numbers that are rounded to it") {
    using ps::search::Parameter;
    // 1 and 2 are rounded to 0, which is below the range, and count for 4.
    const Parameter four = Parameter::multiples(Parameter::real("q", 1, 10), 4);
    CHECK(four.count() == 2);
    CHECK(four.nth(0) == ps::search::Value(4));
    CHECK(four.nth(1) == ps::search::Value(8));
    CHECK_FALSE(four.has(0));
    CHECK_FALSE(four.has(5));
    CHECK_FALSE(four.has(12));
    CHECK(four.at(4.99 / 9) == ps::search::Value(4));
    CHECK(four.at(5.01 / 9) == ps::search::Value(8));
    for (Parameter const& parameter :
         {four, Parameter::multiples(Parameter::real("r", -1, 1), 0.1),
          Parameter::multiples(Parameter::real("l", 1e-2, 1e2, ps::search::Spacing::logarithmic), 2.5),
          Parameter::multiples(Parameter::normal("n", 1, 2), 3),
          Parameter::multiples(Parameter::normal("m", 0, 0.3, ps::search::Spacing::logarithmic), 0.5)}) {
        std::set<std::string> found, all;
        for (int i = 0; i <= 20'000; ++i) found.insert(ps::search::text_of(parameter.at(i / 2e4)));
        for (std::size_t i = 0; i < parameter.count(); ++i) {
            const ps::search::Value value = parameter.nth(i);
            all.insert(ps::search::text_of(value));
            CHECK(parameter.has(value));
            CHECK(parameter.at(parameter.share_of(value)) == value);
        }
        CAPTURE(parameter.name());
        for (std::string const& text : found) CHECK(all.contains(text));
        CHECK(all.size() == parameter.count());
    }
}

TEST_CASE("shares drawn evenly give the distribution") {
    using ps::search::Parameter;
    constexpr int count = 10'000;
    for (const auto spacing : {ps::search::Spacing::linear, ps::search::Spacing::logarithmic}) {
        const Parameter parameter = Parameter::normal("n", -1, 0.5, spacing);
        double sum = 0, squares = 0;
        for (int i = 0; i < count; ++i) {
            const double number = ps::search::number_of(parameter.at((i + 0.5) / count));
            const double value = spacing == ps::search::Spacing::linear ? number : std::log(number);
            sum += value, squares += value * value;
        }
        const double mean = sum / count;
        CHECK(mean == doctest::Approx(-1).epsilon(1e-6));
        CHECK(std::sqrt(squares / count - mean * mean) == doctest::Approx(0.5).epsilon(1e-3));
    }
    std::map<std::string, int> drawn;
    const Parameter likely = Parameter::values("v", {3, 1, 2}, {0.5, 0.2, 0.3});
    for (int i = 0; i < count; ++i) ++drawn[ps::search::text_of(likely.at((i + 0.5) / count))];
    CHECK(drawn == std::map<std::string, int>{{"1", 2000}, {"2", 3000}, {"3", 5000}});
}

TEST_CASE("what is no parameter is refused by name") {
    using ps::search::Parameter;
    CHECK(error_of([] {
              (void)Parameter::values("x", {1, 2}, {0.5});
          }) == "parameter x: has 2 values and 1 probabilities");
    CHECK(error_of([] {
              (void)Parameter::values("x", {1, 2}, {0.5, 0.6});
          }) == "parameter x: the probabilities sum to 1.1, not to 1");
    CHECK(error_of([] {
              (void)Parameter::values("x", {1, 2}, {0, 1});
          }) == "parameter x: a probability of 0 draws nothing");
    CHECK(error_of([] { (void)Parameter::normal("x", 0, 0); }).starts_with("parameter x: no normal distribution"));
    CHECK(error_of([] { (void)Parameter::multiples(Parameter::real("x", 1, 3), 4); }) ==
          "parameter x: no multiple of 4 from 1 to 3");
    CHECK(error_of([] { (void)Parameter::multiples(Parameter::real("x", 0, 1), 0); }) ==
          "parameter x: no multiples of 0");
    CHECK(error_of([] {
              (void)Parameter::multiples(Parameter::real("x", 0, 1), 1e-20);
          }).starts_with("parameter x: more than 2^52"));
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
