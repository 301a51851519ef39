// Laws of transfer: what a model of one machine and a few samples say of another.
#include <primsel/learn/transfer.hpp>

#include "deviating.hpp"
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

using deviating::configurations;
using deviating::elsewhere;
using deviating::labels;
using deviating::Machine;
using deviating::median_error;

}  // namespace

TEST_CASE("a factor for each primitive is found from one sample, the usual one where there is none") {
    const ps::FloatTable some = configurations(700), test = configurations(7, 3);
    ps::FloatTable targets = elsewhere(some, 0);
    const auto corrected = ps::learn::transfer<ps::learn::FactorCorrection>(Machine{}, some, targets);
    CHECK(median_error(corrected.predict(test), elsewhere(test, 0)) < 1e-4);
    for (std::size_t row = 0; row < targets.rows(); ++row) {
        targets(row, 2) = std::numeric_limits<float>::quiet_NaN();
    }
    const ps::FloatTable predicted =
        ps::learn::transfer<ps::learn::FactorCorrection>(Machine{}, some, targets).predict(test);
    const ps::FloatTable before = Machine{}.predict(test);
    CHECK(predicted(0, 0) - before(0, 0) == doctest::Approx(0.7).epsilon(1e-3));
    const float usual = predicted(0, 2) - before(0, 2);
    CHECK(std::min(std::abs(usual - 0.7F), std::abs(usual - 0.5F)) < 1e-4F);
}

TEST_CASE("a transferred model finds from few samples what factors do not") {
    const ps::FloatTable some = configurations(20), test = configurations(7, 3);
    const ps::FloatTable targets = elsewhere(some, 0.3F), wanted = elsewhere(test, 0.3F);
    const double factor =
        median_error(ps::learn::transfer<ps::learn::FactorCorrection>(Machine{}, some, targets).predict(test), wanted);
    const auto model = ps::learn::transfer<ps::learn::DeviationCorrection>(Machine{}, some, targets, labels, executor);
    CHECK(factor > 0.1);
    CHECK(median_error(model.predict(test), wanted) < 0.2 * factor);
}

TEST_CASE("a transferred model of many samples is as good") {
    const ps::FloatTable some = configurations(1), test = configurations(7, 3);
    const ps::FloatTable targets = elsewhere(some, 0.3F), wanted = elsewhere(test, 0.3F);
    REQUIRE(some.rows() * 3 > ps::learn::DeviationCorrection::many);
    const auto model = ps::learn::transfer<ps::learn::DeviationCorrection>(Machine{}, some, targets, labels, executor);
    CHECK(median_error(model.predict(test), wanted) < 0.02);
}

TEST_CASE("a transferred model of many samples takes a factor where it has nothing else to go by") {
    ps::FloatTable some = configurations(1), targets = elsewhere(some, 0);
    const auto is_3x3 = [](ps::FloatTable const& x, std::size_t row) {
        return std::abs(x(row, 3) - std::log(3.0F)) < 0.1F;
    };
    // Nothing was measured of the second target; of the first, kernels of 3 x 3 only.
    for (std::size_t row = 0; row < targets.rows(); ++row) {
        targets(row, 1) = std::numeric_limits<float>::quiet_NaN();
        if (!is_3x3(some, row)) targets(row, 0) = std::numeric_limits<float>::quiet_NaN();
    }
    const auto model =
        ps::learn::transfer<ps::learn::DeviationCorrection>(Machine{}, some, targets, labels, executor, 0U);
    const ps::FloatTable test = configurations(7, 3), before = Machine{}.predict(test), after = model.predict(test);
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
        [[nodiscard]] static ps::FloatTable predict(ps::FloatTable const& features) {
            ps::FloatTable result = Machine{}.predict(features);
            for (std::size_t row = 0; row < result.rows(); ++row) {
                result(row, 2) = std::numeric_limits<float>::quiet_NaN();
            }
            return result;
        }
    };
    const ps::FloatTable some = configurations(2), test = configurations(7, 3);
    const ps::FloatTable wanted = elsewhere(test, 0.3F);
    const auto model = ps::learn::transfer<ps::learn::DeviationCorrection>(Silent{}, some, elsewhere(some, 0.3F),
                                                                           labels, executor, 0U);
    CHECK(median_error(model.predict(test), wanted) < 0.05);
    // With few samples it is as silent as the source.
    const ps::FloatTable few = configurations(50);
    CHECK(std::isnan(
        ps::learn::transfer<ps::learn::DeviationCorrection>(Silent{}, few, elsewhere(few, 0.3F), labels, executor)
            .predict(test)(0, 2)));
}

TEST_CASE("few samples that are not of convolutions are refused") {
    const ps::FloatTable some = configurations(50), targets = elsewhere(some, 0);
    CHECK_THROWS_WITH_AS((void)ps::learn::transfer<ps::learn::DeviationCorrection>(
                             Machine{}, some, targets, std::vector<std::string>{}, executor),
                         doctest::Contains("0 labels of 3 targets"), ps::error);
    struct Flat {
        [[nodiscard]] static ps::FloatTable predict(ps::FloatTable const& features) {
            return {features.rows(), 3, 0.0F};
        }
    };
    const ps::FloatTable two(targets.rows(), 2, 1.0F);
    CHECK_THROWS_WITH_AS(
        (void)ps::learn::transfer<ps::learn::DeviationCorrection>(Flat{}, two, targets, labels, executor),
        doctest::Contains("samples of 2 features"), ps::error);
}
