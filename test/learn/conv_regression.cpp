// Laws of what primitives take: coefficients that made the times are found again, whatever a few wild times say, and
// what no sample shows stays usual.
#include <primsel/learn/conv_regression.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

using ConvSample = ps::learn::ConvRegression::Sample;

std::vector<ConvSample> conv_times_by(ps::learn::ConvRegression::Terms const& coefficients, std::size_t count,
                                      std::string const& primitive) {
    std::mt19937 generator(5);
    const auto draw = [&] { return static_cast<double>(1 + generator() % 1000) * 1e-6; };
    std::vector<ConvSample> samples;
    for (std::size_t i = 0; i < count; ++i) {
        ConvSample sample{primitive, {draw(), draw(), draw(), draw()}, 0};
        for (std::size_t j = 0; j < coefficients.size(); ++j) sample.seconds += coefficients[j] * sample.terms[j];
        samples.push_back(sample);
    }
    return samples;
}

}  // namespace

TEST_CASE("a primitive's coefficients that made the times are found again, though a tenth of the times are wild") {
    for (ps::learn::ConvRegression::Terms const& coefficients :
         {ps::learn::ConvRegression::Terms{1.1, 0.5, 1.5, 2}, ps::learn::ConvRegression::Terms{0.9, 3, 0, 1}}) {
        auto samples = conv_times_by(coefficients, 200, "direct");
        for (std::size_t i = 0; i < samples.size(); i += 10) samples[i].seconds *= 3;
        const ps::learn::ConvRegression model = ps::learn::ConvRegression::fit(samples, {0.1, 0.1, 0.1, 0.1});
        const std::vector<ps::ConvCoefficients> found = model.coefficients();
        REQUIRE(found.size() == 1);
        CHECK(found[0].primitive == "direct");
        for (std::size_t i = 0; i < coefficients.size(); ++i) {
            CHECK(found[0].values[i] == doctest::Approx(coefficients[i]).epsilon(0.03).scale(1));
        }
    }
}

TEST_CASE("what a primitive's samples do not show stays usual, and none of it is negative") {
    auto samples = conv_times_by({2, 1, 0, 1}, 50, "small");
    for (ConvSample& sample : samples) sample.terms[2] = 0;  // no weights worth mentioning
    // More of the second term goes with less time: no coefficient that is not negative says so.
    for (ConvSample sample : conv_times_by({1, 1, 1, 1}, 50, "odd")) {
        sample.seconds = 2e-3 - sample.terms[1];
        samples.push_back(sample);
    }
    for (ConvSample sample : conv_times_by({1, 1, 1, 1}, 5, "never")) {
        sample.seconds = 0;
        samples.push_back(sample);
    }
    const ps::learn::ConvRegression model = ps::learn::ConvRegression::fit(samples);
    const std::vector<ps::ConvCoefficients> found = model.coefficients();
    REQUIRE(found.size() == 2);
    CHECK(std::ranges::is_sorted(found, {}, &ps::ConvCoefficients::primitive));
    CHECK(found[1].primitive == "small");
    CHECK(found[1].values[0] == doctest::Approx(2).epsilon(0.02));
    CHECK(found[1].values[2] == doctest::Approx(ps::ConvCoefficients::usual[2]));
    for (const double value : found[0].values) CHECK(value >= 0);
}

TEST_CASE("what weights cost is drawn towards the usual, the less the more samples there are") {
    const auto weights_by = [](std::size_t count) {
        const auto samples = conv_times_by({1, 1, 0, 1.5}, count, "direct");
        return ps::learn::ConvRegression::fit(samples).coefficients()[0].values[2];
    };
    const double few = weights_by(3), more = weights_by(100), many = weights_by(10'000);
    CHECK(few < ps::ConvCoefficients::usual[2]);
    CHECK(more < few);
    CHECK(many < more);
    CHECK(many == doctest::Approx(0).epsilon(0.02).scale(1));
}

TEST_CASE("coefficients of primitives are written as initializers") {
    ps::learn::ConvRegression::Terms terms{1e-3, 0, 0, 0};
    const std::vector<ConvSample> samples{{"direct", terms, 1e-3}};
    CHECK(ps::learn::ConvRegression::fit(samples).lines() ==
          std::vector<std::string>{"{\"direct\", {1, 1, 0.7, 1.5}}"});
    CHECK(ps::learn::ConvRegression::fit({}).lines().empty());
}
