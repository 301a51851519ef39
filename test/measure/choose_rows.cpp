// Law of chosen rows: each is the one that a Gaussian process, asked again with every candidate, would choose.
#include <primsel/measure/choose_rows.hpp>

#include <primsel/core/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace ps = primsel;

namespace {

using Features = std::array<float, ps::ConvFeatures::count>;

std::vector<Features> draw(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    const auto below = [&](unsigned bound) { return static_cast<int>(generator() % bound); };
    std::vector<Features> rows;
    for (std::size_t i = 0; i < count; ++i) {
        const int f = 1 + 2 * below(3), im = 7 + below(60);
        ps::ConvShape shape{.c = 1 + below(300), .k = 1 + below(300), .h = im, .w = im, .fh = f, .fw = f};
        shape.pad_top = shape.pad_bottom = shape.pad_left = shape.pad_right = f / 2;
        shape.stride_h = shape.stride_w = 1 + below(2);
        rows.push_back(ps::ConvFeatures::of(shape));
    }
    return rows;
}

ps::FloatTable table(std::vector<Features> const& rows) {
    ps::FloatTable result(0, ps::ConvFeatures::count);
    for (Features const& row : rows) result.values.insert(result.values.end(), row.begin(), row.end());
    return result;
}

/// The variances of the targets, once those rows were measured.
double unknown(std::vector<Features> const& measured, std::vector<Features> const& targets) {
    ps::learn::MultitaskProcess process({0});
    for (Features const& row : measured) process.observe(process.add_row(row), 0, 0.0);
    process.fit();
    double sum = 0;
    for (Features const& target : targets) {
        const ps::learn::PredictedPrimitive primitive;
        ps::learn::Belief belief;
        process.predict(target, std::span(&primitive, 1), std::span(&belief, 1));
        sum += belief.variance;
    }
    return sum;
}

}  // namespace

TEST_CASE("each chosen row leaves least unknown of the targets") {
    for (const unsigned seed : {1U, 2U, 3U}) {
        CAPTURE(seed);
        const std::vector<Features> candidates = draw(12, seed), targets = draw(7, 100 + seed);
        const std::vector<std::size_t> chosen = ps::measure::choose_rows(table(candidates), table(targets), 5);
        REQUIRE(chosen.size() == 5);
        std::vector<Features> measured;
        for (const std::size_t row : chosen) {
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t other = 0; other < candidates.size(); ++other) {
                std::vector<Features> with = measured;
                with.push_back(candidates[other]);
                least = std::min(least, unknown(with, targets));
            }
            measured.push_back(candidates[row]);
            CHECK(unknown(measured, targets) == doctest::Approx(least).epsilon(1e-5));
        }
    }
}

TEST_CASE("rows are chosen once each, the first of many as the first of few") {
    const ps::FloatTable candidates = table(draw(20, 5)), targets = table(draw(30, 6));
    const std::vector<std::size_t> all = ps::measure::choose_rows(candidates, targets, 100);
    REQUIRE(all.size() == 20);
    std::vector<bool> seen(20, false);
    for (const std::size_t row : all) {
        REQUIRE(row < 20);
        CHECK(!seen[row]);
        seen[row] = true;
    }
    const std::vector<std::size_t> few = ps::measure::choose_rows(candidates, targets, 4);
    CHECK(few == std::vector<std::size_t>(all.begin(), all.begin() + 4));
    CHECK(ps::measure::choose_rows(candidates, targets, 0).empty());
    CHECK(ps::measure::choose_rows(table({}), targets, 3).empty());
    CHECK(ps::measure::choose_rows(candidates, table({}), 3).size() == 3);
}

TEST_CASE("rows of other features are refused") {
    CHECK_THROWS_WITH_AS(static_cast<void>(ps::measure::choose_rows(ps::FloatTable(3, 5), table(draw(1, 1)), 1)),
                         doctest::Contains("choose rows"), ps::error);
}
