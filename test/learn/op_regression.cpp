// Laws of what ops take: coefficients that made the times are found again, and text keeps them.
#include <primsel/learn/op_regression.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

using Sample = ps::learn::OpRegression::Sample;

std::vector<Sample> made_by(ps::learn::OpRegression::Terms const& coefficients, std::size_t count,
                            std::string const& op) {
    std::mt19937 generator(3);
    const auto draw = [&] { return static_cast<double>(1 + generator() % 1000) * 1e-7; };
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < count; ++i) {
        Sample sample{op, "chw", "", {1, draw(), draw(), draw(), 1e7 * draw(), draw()}, 0};
        for (std::size_t j = 0; j < coefficients.size(); ++j) sample.seconds += coefficients[j] * sample.terms[j];
        samples.push_back(sample);
    }
    return samples;
}

}  // namespace

TEST_CASE("coefficients that made the times are found again, and so predict others") {
    for (ps::learn::OpRegression::Terms const& coefficients :
         {ps::learn::OpRegression::Terms{1e-6, 1, 0.5, 2, 3e-9, 1.5},
          ps::learn::OpRegression::Terms{0, 0.2, 0, 0, 1e-8}}) {
        const ps::learn::OpRegression model = ps::learn::OpRegression::fit(made_by(coefficients, 60, "relu"));
        const std::vector<ps::OpCoefficients> found = model.coefficients();
        REQUIRE(found.size() == 1);
        CHECK(found[0].op == "relu");
        CHECK(found[0].layout == "chw");
        for (std::size_t j = 1; j < 4; ++j) {
            CHECK(found[0].values[j] == doctest::Approx(coefficients[j]).epsilon(0.01).scale(1));
        }
        const std::vector<Sample> all = made_by(coefficients, 90, "relu");
        for (std::size_t i = 60; i < all.size(); ++i) {
            double predicted = 0;
            for (std::size_t j = 0; j < coefficients.size(); ++j) predicted += found[0].values[j] * all[i].terms[j];
            CHECK(predicted == doctest::Approx(all[i].seconds).epsilon(0.01));
        }
    }
}

TEST_CASE("what only weights or arithmetic can explain is the way of the weights") {
    std::vector<Sample> samples;
    for (int i = 1; i <= 20; ++i) {
        const double weights = 1e-4 * i;
        samples.push_back({"dense", "chw", "", {1, 1e-8, 0.3 * weights, weights, 1}, 0.9 * weights});
    }
    const ps::learn::OpRegression model = ps::learn::OpRegression::fit(samples);
    const ps::learn::OpRegression::Terms found = model.coefficients()[0].values;
    CHECK(found[3] > 0.8);
    CHECK(found[3] + 0.3 * found[2] == doctest::Approx(0.9).epsilon(0.01));
}

TEST_CASE("a few samples whose counts are a hundred times too large do not make all the others free") {
    ps::learn::OpRegression::Terms const coefficients{0, 0, 0, 0, 9e-9, 0};
    std::vector<Sample> samples = made_by(coefficients, 24, "max_pool");
    for (Sample& sample : samples) {
        for (const std::size_t j : {1UL, 2UL, 3UL, 5UL}) sample.terms[j] *= 1e-3;
        sample.terms[4] *= 1e3, sample.seconds = coefficients[4] * sample.terms[4];
    }
    std::vector<Sample> all = samples;
    for (std::size_t i = 0; i < 6; ++i) {
        all.push_back(samples[i]);
        all.back().seconds /= 300;
    }
    const ps::learn::OpRegression::Terms found = ps::learn::OpRegression::fit(all).coefficients()[0].values;
    CHECK(found[4] / coefficients[4] == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("few samples teach nothing, and an op in a layout is an entry of its own") {
    CHECK(ps::learn::OpRegression::fit(made_by({0, 1, 0, 0, 0}, 7, "relu")).coefficients().empty());
    CHECK(ps::learn::OpRegression::fit(made_by({0, 1, 0, 0, 0}, 7, "relu"), 7).coefficients().size() == 1);
    auto samples = made_by({0, 1, 0, 0, 0}, 20, "relu");
    for (Sample more : made_by({0, 2, 0, 0, 0}, 20, "relu")) {
        more.layout = "hwc";
        samples.push_back(more);
        more.form = "gathered";
        more.seconds *= 2;
        samples.push_back(more);
    }
    for (Sample const& more : made_by({0, 3, 0, 0, 0}, 7, "add")) samples.push_back(more);
    for (Sample more : made_by({0, 4, 0, 0, 0}, 20, "add")) {
        more.seconds = 0;  // not measured
        samples.push_back(more);
    }
    const ps::learn::OpRegression model = ps::learn::OpRegression::fit(samples);
    const std::vector<ps::OpCoefficients> found = model.coefficients();
    REQUIRE(found.size() == 3);
    CHECK(found[0].layout == "chw");
    CHECK(found[0].values[1] == doctest::Approx(1).epsilon(0.01));
    CHECK(found[1].layout == "hwc");
    CHECK(found[1].values[1] == doctest::Approx(2).epsilon(0.01));
    CHECK(found[2].form == "gathered");
    CHECK(found[2].values[1] == doctest::Approx(4).epsilon(0.01));
    CHECK(model.lines()[2].ends_with(", \"gathered\"}"));
}

TEST_CASE("lines are what a header needs") {
    const ps::learn::OpRegression model = ps::learn::OpRegression::fit(made_by({0, 0, 0, 0, 3e-9}, 20, "relu"));
    REQUIRE(model.lines().size() == 1);
    CHECK(model.lines()[0].starts_with("{\"relu\", \"chw\", {"));
    CHECK(model.lines()[0].ends_with("e-09, 0}}"));
    CHECK(std::ranges::count(model.lines()[0], ',') == 7);
}
