// Laws of what learns times from features: linear regression, perceptrons, forests, boosted trees.
#include <primsel/learn/forest.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/linear.hpp>
#include <primsel/learn/mlp.hpp>
#include <primsel/learn/non_negative.hpp>
#include <primsel/learn/process_posterior.hpp>
#include <primsel/learn/small_process.hpp>

#include "two_targets.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

using two_targets::error, two_targets::fit_twice, two_targets::TwoTargets;

}  // namespace

TEST_CASE("linear regression finds a linear law, whatever is missing or idle") {
    const TwoTargets train(200, 1), test(100, 2, false);
    const ps::FloatTable predicted =
        ps::learn::LinearRegression::fit(train.features, train.targets).predict(test.features);
    CHECK(error(predicted, test.targets, 0) < 1e-3);
    CHECK(error(predicted, test.targets, 1) > 0.1);  // no line
}

TEST_CASE("a target that was never measured, and one row: predictions are finite") {
    for (const std::size_t rows : {1U, 2U, 5U}) {
        TwoTargets few(rows, 3, false);
        for (std::size_t row = 0; row < rows; ++row) few.targets(row, 1) = machines::missing;
        ps::Sequential alone;
        ps::learn::MlpOptions options;
        options.most_epochs = 3;
        for (ps::FloatTable const& predicted :
             {ps::learn::LinearRegression::fit(few.features, few.targets).predict(few.features),
              ps::learn::Forest::fit(few.features, few.targets, {.trees = 3}, alone).predict(few.features),
              ps::learn::BoostedTrees::fit(few.features, few.targets, {.trees = 3}, alone).predict(few.features),
              ps::learn::Mlp::fit(few.features, few.targets, few.features, few.targets, options, alone)
                  .predict(few.features)}) {
            REQUIRE(predicted.values.size() == 2 * rows);
            for (const float value : predicted.values) CHECK(std::isfinite(value));
        }
    }
}

TEST_CASE("trees find a step and more than a line does") {
    const TwoTargets train(2000, 4), test(500, 5, false);
    const double line =
        error(ps::learn::LinearRegression::fit(train.features, train.targets).predict(test.features), test.targets, 1);
    const ps::FloatTable forest = fit_twice(
        [&](ps::ExecutorRef executor) {
            return ps::learn::Forest::fit(train.features, train.targets, {.trees = 20}, executor);
        },
        test.features);
    const ps::FloatTable boosted = fit_twice(
        [&](ps::ExecutorRef executor) {
            return ps::learn::BoostedTrees::fit(train.features, train.targets, {.trees = 200}, executor);
        },
        test.features);
    CHECK(error(forest, test.targets, 1) < 0.3 * line);
    CHECK(error(boosted, test.targets, 1) < 0.3 * line);
    CHECK(error(boosted, test.targets, 0) < 0.1);
}

TEST_CASE("predictions are in the unit of the targets: those of targets times 2^n are 2^n times as large, to the bit") {
    const TwoTargets train(150, 11), test(40, 12, false);
    ps::Sequential alone;
    const auto check = [&](auto const& fit) {
        const ps::FloatTable expected = fit(train.targets).predict(test.features);
        CHECK(error(expected, test.targets, 0) < 0.9);
        for (const int exponent : {-60, -30, 30, 60}) {
            CAPTURE(exponent);
            ps::FloatTable targets = train.targets;
            for (float& value : targets.values) value = std::ldexp(value, exponent);
            ps::FloatTable actual = fit(targets).predict(test.features);
            for (float& value : actual.values) value = std::ldexp(value, -exponent);
            CHECK(actual.values == expected.values);
        }
    };
    SUBCASE("linear") {
        check([&](ps::FloatTable const& targets) { return ps::learn::LinearRegression::fit(train.features, targets); });
    }
    SUBCASE("forest") {
        check([&](ps::FloatTable const& targets) {
            return ps::learn::Forest::fit(train.features, targets, {.trees = 5}, alone);
        });
    }
    SUBCASE("boosted") {
        check([&](ps::FloatTable const& targets) {
            return ps::learn::BoostedTrees::fit(train.features, targets, {.trees = 30}, alone);
        });
    }
    SUBCASE("perceptron") {
        ps::learn::MlpOptions options;
        options.hidden = {8};
        options.learning_rate = 1e-2;
        options.most_epochs = 30;
        check([&](ps::FloatTable const& targets) {
            return ps::learn::Mlp::fit(train.features, targets, train.features, targets, options, alone);
        });
    }
    SUBCASE("Gaussian process") {
        const std::vector<std::string> labels{"a", "b"};
        ps::learn::GaussianProcessOptions options;
        options.steps = 10;
        check([&](ps::FloatTable const& targets) {
            return ps::learn::GaussianProcess::fit(train.features, targets, labels, options, alone);
        });
    }
}

TEST_CASE("models of doubles know no unit either") {
    constexpr std::size_t rows = 12;
    std::vector<double> points, terms, values;
    for (std::size_t i = 0; i < rows; ++i) {
        const double x = static_cast<double>(i) / rows;
        points.push_back(x);
        // The third column repeats the first, and the fourth would be of use with a factor below 0 alone.
        terms.insert(terms.end(), {1 + x, x * x, 2 + 2 * x, 3 - x});
        values.push_back(1 + 2 * x + 0.1 * std::sin(9 * x));
    }
    const auto predictions = [&](int exponent) {
        std::vector<double> scaled = values, result;
        for (double& value : scaled) value = std::ldexp(value, exponent);
        const Eigen::VectorXd targets = Eigen::Map<const Eigen::VectorXd>(scaled.data(), rows);
        const auto posterior =
            ps::learn::ProcessPosterior::fit(Eigen::Map<const Eigen::MatrixXd>(points.data(), rows, 1), targets);
        const ps::learn::ProcessPosterior::Beliefs beliefs = posterior.at(Eigen::MatrixXd::Constant(1, 1, 0.3));
        const double unit = std::ldexp(1.0, exponent);
        // Less noise than rounding leaves of points that are as near as these.
        const auto small =
            ps::learn::SmallProcess::fit(points, scaled, {{.deviation = unit, .lengths = {3}}}, 1e-9 * unit);
        result = ps::learn::non_negative_least_squares(terms, 4, scaled);
        result.insert(result.end(), {beliefs.mean[0], std::sqrt(beliefs.variance[0]), small.predict({{0.3}}).mean,
                                     small.predict({{0.3}}).deviation});
        for (double& value : result) value = std::ldexp(value, -exponent);
        return result;
    };
    const std::vector<double> expected = predictions(0);
    for (const int exponent : {-90, -40, 40, 90}) {
        CAPTURE(exponent);
        CHECK(predictions(exponent) == expected);
    }
}
