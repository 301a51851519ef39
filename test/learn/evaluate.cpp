#include <primsel/learn/correction.hpp>
#include <primsel/learn/evaluate.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>

namespace ps = primsel;

TEST_CASE("relative errors: medians of subjects and families, without what was not measured") {
    ps::learn::Dataset data{.inputs = {"c", "k", "im", "f", "s"},
                            .subjects = {"im2row-scan-ab-ik", "kn2row", "direct-sum2d"},
                            .about = {},
                            .configurations = {},
                            .seconds = {}};
    const int configuration[] = {8, 8, 8, 3, 1};
    for (const double factor : {1.0, 2.0, 4.0}) {
        const double times[] = {factor, factor > 1 ? factor : 0, 0};
        data.add(configuration, times);
    }
    ps::FloatTable predicted(3, 3, 0.0F);
    for (std::size_t row = 0; row < 3; ++row) {
        predicted(row, 0) = static_cast<float>(std::log(data.time(row, 0) * (row == 0 ? 1.1 : row == 1 ? 0.8 : 1.5)));
        predicted(row, 1) = static_cast<float>(std::log(std::max(data.time(row, 1), 1e-9) * 1.25));
    }
    const ps::learn::Evaluation result = ps::learn::evaluate(data, predicted);
    REQUIRE(result.subjects.size() == 2);
    CHECK(result.subjects[0].samples == 3);
    CHECK(result.subjects[0].median == doctest::Approx(0.2).epsilon(1e-5));
    CHECK(result.subjects[1].samples == 2);
    CHECK(result.subjects[1].median == doctest::Approx(0.25).epsilon(1e-5));
    CHECK(result.mean_of_medians() == doctest::Approx(0.225).epsilon(1e-5));
    CHECK(result.families.size() == 2);
    CHECK(result.all.samples == 5);
    CHECK_THROWS_AS((void)ps::learn::evaluate(data, ps::FloatTable(2, 3)), ps::error);
}

TEST_CASE("relative errors: what was not predicted is counted and not judged") {
    ps::learn::Dataset data{
        .inputs = {"c", "im"}, .subjects = {"a-to-b", "b-to-a"}, .about = {}, .configurations = {}, .seconds = {}};
    const int configuration[] = {8, 8};
    const double times[] = {1.0, 0.0};
    for (int row = 0; row < 5; ++row) data.add(configuration, times);
    ps::FloatTable predicted(5, 2, 0.0F);
    for (std::size_t unknown = 0; unknown <= 5; ++unknown) {
        CAPTURE(unknown);
        const ps::learn::Evaluation result = ps::learn::evaluate(data, predicted);
        CHECK(result.rows == 5);
        CHECK(result.not_predicted == unknown);
        CHECK(result.all.samples == 5 - unknown);
        CHECK(result.all.median == 0);
        CHECK(result.subjects.size() == (unknown < 5 ? 1 : 0));
        CHECK(result.families.empty());
        // Where nothing was measured nothing is missing.
        if (unknown < 5) predicted(unknown, 0) = predicted(unknown, 1) = std::numeric_limits<float>::quiet_NaN();
    }
}

TEST_CASE("what is not finite is no prediction, for those that judge and those that correct") {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    ps::learn::Dataset data{
        .inputs = {"c", "im"}, .subjects = {"a-to-b"}, .about = {}, .configurations = {}, .seconds = {}};
    const int configuration[] = {8, 8};
    const double time[] = {1.0};
    for (const float none : {std::numeric_limits<float>::quiet_NaN(), infinite, -infinite}) {
        CHECK_FALSE(ps::learn::is_prediction(none));
        data.add(configuration, time);
        ps::FloatTable predicted(data.rows(), 1, none);
        const ps::learn::Evaluation result = ps::learn::evaluate(data, predicted);
        CHECK(result.not_predicted == data.rows());
        CHECK(result.all.samples == 0);

        predicted = ps::FloatTable(2, 1, none);
        predicted(0, 0) = 0.25F;
        const ps::FloatTable features(2, 1, 0.0F), targets(2, 1, 0.0F);
        CHECK(ps::learn::FactorCorrection::fit({features, targets, predicted}).of(0) == 0.25F);
    }
    CHECK(ps::learn::is_prediction(0));
}
