#include <primsel/network/weights.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace ps = primsel;

using Dims = std::vector<std::int64_t>;

TEST_CASE("weights: found by name, in the order of their names") {
    ps::Weights weights;
    weights.add("b.weight", {2, 3}, {1, 2, 3, 4, 5, 6});
    weights.add("a.bias", {2}, {7, 8});
    weights.add("scalar", {}, {9});
    CHECK(weights.size() == 3);
    CHECK(weights.at("b.weight").values[5] == 6);
    CHECK(weights.at("b.weight").dims == Dims{2, 3});
    CHECK(weights.find("a.weight") == nullptr);
    REQUIRE(weights.find("scalar") != nullptr);
    CHECK(weights.find("scalar")->values[0] == 9);
    std::vector<std::string> names;
    for (auto const& [name, tensor] : weights) names.push_back(name);
    CHECK(names == std::vector<std::string>{"a.bias", "b.weight", "scalar"});
    CHECK_THROWS_WITH_AS((void)weights.at("a.weight"), "weight a.weight: missing", ps::error);
}

TEST_CASE("weights: dimensions as text") {
    CHECK(ps::to_string(Dims{64, 3, 7, 7}) == "64x3x7x7");
    CHECK(ps::to_string(Dims{5}) == "5");
    CHECK(ps::to_string(Dims{}) == "scalar");
}

TEST_CASE("weights: copies share the values, and outlive the original") {
    ps::Weights copy;
    const float* place = nullptr;
    {
        ps::Weights weights;
        weights.add("w", {3}, {1, 2, 3});
        place = weights.at("w").values.data();
        copy = weights;
        weights.add("x", {1}, {4});
    }
    CHECK(copy.size() == 1);
    CHECK(copy.at("w").values.data() == place);
    CHECK(copy.at("w").values[2] == 3);
}

TEST_CASE("weights: values that live elsewhere") {
    const std::vector<float> values{1, 2, 3, 4};
    ps::Weights weights;
    weights.add("all", {{4}, values, nullptr});
    weights.add("half", {{1, 2}, std::span(values).subspan(2), nullptr});
    CHECK(weights.at("all").values.data() == values.data());
    CHECK(weights.at("half").values[0] == 3);
}

TEST_CASE("weights: what does not fit is refused") {
    ps::Weights weights;
    const std::vector<float> four{1, 2, 3, 4};
    const auto add = [&](Dims const& dims) { weights.add("w", dims, four); };
    CHECK_THROWS_WITH_AS(add({3}), "weight w: 4 values cannot fill 3", ps::error);
    CHECK_THROWS_WITH_AS(add({2, 3}), "weight w: 4 values cannot fill 2x3", ps::error);
    CHECK_THROWS_WITH_AS(add({}), "weight w: 4 values cannot fill scalar", ps::error);
    CHECK_THROWS_WITH_AS(add({0}), "weight w: 4 values cannot fill 0", ps::error);
    CHECK_THROWS_WITH_AS(add({4, 0}), "weight w: 4 values cannot fill 4x0", ps::error);
    CHECK_THROWS_WITH_AS(add({-2, -2}), "weight w: impossible dimensions -2x-2", ps::error);
    CHECK_THROWS_WITH_AS(add({4, -1}), "weight w: impossible dimensions 4x-1", ps::error);
    // Products that wrap around to 4, 0 and 4.
    constexpr std::int64_t quarter = std::int64_t{1} << 62;
    CHECK_THROWS_AS(add({4, quarter + 1}), ps::error);
    CHECK_THROWS_AS(add({quarter, quarter}), ps::error);
    CHECK_THROWS_AS(add({2, quarter + 1, 2}), ps::error);
    CHECK_THROWS_AS(add({std::numeric_limits<std::int64_t>::max(), 4}), ps::error);
    CHECK(weights.size() == 0);

    add({2, 1, 2, 1});
    CHECK_THROWS_WITH_AS(add({4}), "weight w: given twice", ps::error);
    CHECK(weights.at("w").dims == Dims{2, 1, 2, 1});
    // Nothing is a thing, too, in any shape that has none.
    weights.add("empty", Dims{3, 0}, {});
    weights.add("also", Dims{0, 3}, {});
    weights.add("vast", Dims{quarter, quarter, 0}, {});
    CHECK(weights.at("empty").values.empty());
    CHECK_THROWS_WITH_AS(weights.add("none", Dims{3}, {}), "weight none: 0 values cannot fill 3", ps::error);
}
