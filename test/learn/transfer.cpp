// Laws of transfer: what a model of one machine and a few samples say of another.
#include <primsel/learn/transfer.hpp>

#include "machines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

using machines::executor;

const std::vector<std::string> labels{"direct", "direct", "im2"};

/// Times that grow with operations and are rough in the channels.
struct Machine {
    [[nodiscard]] ps::Table predict(ps::Table const& features) const {
        ps::Table result(features.rows(), 3);
        for (std::size_t row = 0; row < features.rows(); ++row) {
            for (std::size_t i = 0; i < 3; ++i) {
                result(row, i) = features(row, 6) * (1 + 0.1F * static_cast<float>(i)) + features(row, 15);
            }
        }
        return result;
    }
};

/// Another machine: a factor for each primitive and one that depends on the size of the image.
ps::Table elsewhere(ps::Table const& features, float by_image) {
    ps::Table result = Machine{}.predict(features);
    for (std::size_t row = 0; row < features.rows(); ++row) {
        for (std::size_t i = 0; i < 3; ++i) {
            result(row, i) += 0.7F - 0.2F * static_cast<float>(i) + by_image * features(row, 2);
        }
    }
    return result;
}

/// Every `step`th of some 700 configurations.
ps::Table configurations(std::size_t step, std::size_t first = 0) {
    std::vector<float> values;
    std::size_t at = 0;
    for (const int c : {3, 16, 32, 64, 96, 128, 256, 512}) {
        for (const int k : {8, 24, 64, 120, 256}) {
            for (const int im : {7, 13, 14, 28, 56, 112}) {
                for (const int f : {1, 3, 5}) {
                    if (at++ % step != first) continue;
                    const auto row = ps::ConvFeatures::of({.c = c,
                                                           .k = k,
                                                           .h = im,
                                                           .w = im,
                                                           .fh = f,
                                                           .fw = f,
                                                           .pad_top = f / 2,
                                                           .pad_bottom = f / 2,
                                                           .pad_left = f / 2,
                                                           .pad_right = f / 2});
                    values.insert(values.end(), row.begin(), row.end());
                }
            }
        }
    }
    ps::Table table;
    table.columns = ps::ConvFeatures::count;
    table.values = std::move(values);
    return table;
}

double median_error(ps::Table const& predicted, ps::Table const& wanted) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < wanted.values.size(); ++i) {
        errors.push_back(std::abs(static_cast<double>(predicted.values[i] - wanted.values[i])));
    }
    return ps::median(errors);
}

}  // namespace

TEST_CASE("a factor for each primitive is found from one sample, the usual one where there is none") {
    const ps::Table some = configurations(700), test = configurations(7, 3);
    ps::Table targets = elsewhere(some, 0);
    const auto corrected = ps::transfer<ps::FactorCorrection>(Machine{}, some, targets);
    CHECK(median_error(corrected.predict(test), elsewhere(test, 0)) < 1e-4);
    for (std::size_t row = 0; row < targets.rows(); ++row) {
        targets(row, 2) = std::numeric_limits<float>::quiet_NaN();
    }
    const ps::Table predicted = ps::transfer<ps::FactorCorrection>(Machine{}, some, targets).predict(test);
    const ps::Table before = Machine{}.predict(test);
    CHECK(predicted(0, 0) - before(0, 0) == doctest::Approx(0.7).epsilon(1e-3));
    const float usual = predicted(0, 2) - before(0, 2);
    CHECK(std::min(std::abs(usual - 0.7F), std::abs(usual - 0.5F)) < 1e-4F);
}

TEST_CASE("a transferred model finds from few samples what factors do not") {
    const ps::Table some = configurations(20), test = configurations(7, 3);
    const ps::Table targets = elsewhere(some, 0.3F), wanted = elsewhere(test, 0.3F);
    const double factor =
        median_error(ps::transfer<ps::FactorCorrection>(Machine{}, some, targets).predict(test), wanted);
    const auto model = ps::transfer<ps::DeviationCorrection>(Machine{}, some, targets, labels, executor);
    CHECK(factor > 0.1);
    CHECK(median_error(model.predict(test), wanted) < 0.2 * factor);
}

TEST_CASE("a transferred model of many samples is as good") {
    const ps::Table some = configurations(1), test = configurations(7, 3);
    const ps::Table targets = elsewhere(some, 0.3F), wanted = elsewhere(test, 0.3F);
    REQUIRE(some.rows() * 3 > ps::DeviationCorrection::many);
    const auto model = ps::transfer<ps::DeviationCorrection>(Machine{}, some, targets, labels, executor);
    CHECK(median_error(model.predict(test), wanted) < 0.02);
}

TEST_CASE("a transferred model of many samples takes a factor where it has nothing else to go by") {
    ps::Table some = configurations(1), targets = elsewhere(some, 0);
    const auto is_3x3 = [](ps::Table const& x, std::size_t row) { return std::abs(x(row, 3) - std::log(3.0F)) < 0.1F; };
    // Nothing was measured of the second target; of the first, kernels of 3 x 3 only.
    for (std::size_t row = 0; row < targets.rows(); ++row) {
        targets(row, 1) = std::numeric_limits<float>::quiet_NaN();
        if (!is_3x3(some, row)) targets(row, 0) = std::numeric_limits<float>::quiet_NaN();
    }
    const auto model = ps::transfer<ps::DeviationCorrection>(Machine{}, some, targets, labels, executor, 0U);
    const ps::Table test = configurations(7, 3), before = Machine{}.predict(test), after = model.predict(test);
    std::size_t other_kernels = 0;
    for (std::size_t row = 0; row < test.rows(); ++row) {
        const float usual = after(row, 1) - before(row, 1);
        CHECK(std::min(std::abs(usual - 0.7F), std::abs(usual - 0.3F)) < 1e-3F);
        if (is_3x3(test, row)) continue;
        CHECK(after(row, 0) - before(row, 0) == doctest::Approx(0.7).epsilon(1e-3));
        ++other_kernels;
    }
    CHECK(other_kernels > 10);
}

TEST_CASE("a transferred model says what the source cannot where samples do") {
    struct Silent {
        [[nodiscard]] static ps::Table predict(ps::Table const& features) {
            ps::Table result = Machine{}.predict(features);
            for (std::size_t row = 0; row < result.rows(); ++row) {
                result(row, 2) = std::numeric_limits<float>::quiet_NaN();
            }
            return result;
        }
    };
    const ps::Table some = configurations(2), test = configurations(7, 3);
    const ps::Table wanted = elsewhere(test, 0.3F);
    const auto model =
        ps::transfer<ps::DeviationCorrection>(Silent{}, some, elsewhere(some, 0.3F), labels, executor, 0U);
    CHECK(median_error(model.predict(test), wanted) < 0.05);
    // Of few samples it is as silent as the source.
    const ps::Table few = configurations(50);
    CHECK(std::isnan(ps::transfer<ps::DeviationCorrection>(Silent{}, few, elsewhere(few, 0.3F), labels, executor)
                         .predict(test)(0, 2)));
}

TEST_CASE("few samples that are not of convolutions are refused") {
    const ps::Table some = configurations(50), targets = elsewhere(some, 0);
    CHECK_THROWS_WITH_AS(
        (void)ps::transfer<ps::DeviationCorrection>(Machine{}, some, targets, std::vector<std::string>{}, executor),
        doctest::Contains("0 labels of 3 targets"), ps::error);
    struct Flat {
        [[nodiscard]] static ps::Table predict(ps::Table const& features) { return {features.rows(), 3, 0.0F}; }
    };
    const ps::Table two(targets.rows(), 2, 1.0F);
    CHECK_THROWS_WITH_AS((void)ps::transfer<ps::DeviationCorrection>(Flat{}, two, targets, labels, executor),
                         doctest::Contains("samples of 2 features"), ps::error);
}
