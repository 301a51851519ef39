// Laws of what learns times from features: linear regression, perceptrons, forests, boosted trees.
#include <primsel/learn/forest.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/linear.hpp>
#include <primsel/learn/mlp.hpp>
#include <primsel/learn/non_negative.hpp>
#include <primsel/learn/process_posterior.hpp>
#include <primsel/learn/small_process.hpp>

#include "machines.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace ps = primsel;

namespace {

using machines::missing;

/// TwoTargets of two targets: one linear in three features, one with a step; some are missing, some features idle.
struct TwoTargets {
    ps::FloatTable features, targets;

    explicit TwoTargets(std::size_t rows, unsigned seed, bool holes = true)
        : features(rows, 4, 0.0F), targets(rows, 2, 0.0F) {
        std::mt19937 generator(seed);
        const auto draw = [&] { return static_cast<float>(generator() % 1000) / 500.0F - 1; };
        for (std::size_t row = 0; row < rows; ++row) {
            const float a = draw(), b = draw(), c = draw();
            features(row, 0) = a, features(row, 1) = b, features(row, 2) = c, features(row, 3) = 7;
            targets(row, 0) = holes && generator() % 4 == 0 ? missing : 2 * a - 3 * b + 0.5F * c - 4;
            targets(row, 1) = holes && generator() % 4 == 0 ? missing : a > 0.25F ? 1.0F + b : -1.0F;
        }
    }
};

/// The root mean square of the errors of one target, relative to the deviation of the target itself.
double error(ps::FloatTable const& predicted, ps::FloatTable const& wanted, std::size_t target) {
    double squares = 0, mean = 0, spread = 0;
    for (std::size_t row = 0; row < wanted.rows(); ++row) mean += wanted(row, target);
    mean /= static_cast<double>(wanted.rows());
    for (std::size_t row = 0; row < wanted.rows(); ++row) {
        squares += std::pow(predicted(row, target) - wanted(row, target), 2);
        spread += std::pow(wanted(row, target) - mean, 2);
    }
    return std::sqrt(squares / spread);
}

auto three_threads() {
    return ps::CallerPool(3, [](std::size_t n, auto const& task) noexcept {
        std::vector<std::thread> workers;
        for (std::size_t i = 0; i < n; ++i) workers.emplace_back([&task, i] { task(i); });
        for (std::thread& worker : workers) worker.join();
    });
}

/// Fits the same samples with one thread and with three: the results must have the same bits.
template <class Fit>
ps::FloatTable fit_twice(Fit const& fit, ps::FloatTable const& test) {
    ps::Sequential alone;
    auto pool = three_threads();
    const ps::FloatTable predicted = fit(ps::ExecutorRef(alone)).predict(test);
    CHECK(fit(ps::ExecutorRef(pool)).predict(test).values == predicted.values);
    CHECK(fit(ps::ExecutorRef(alone)).predict(test).values == predicted.values);
    return predicted;
}

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
        for (std::size_t row = 0; row < rows; ++row) few.targets(row, 1) = missing;
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

TEST_CASE("a perceptron learns both, stops early and goes on from where it was") {
    const TwoTargets train(1500, 6), validation(200, 7), test(500, 8, false);
    ps::learn::MlpOptions options;
    options.hidden = {32, 32};
    options.learning_rate = 5e-3;
    options.batch = 256;
    options.most_epochs = 150;
    options.patience = 40;
    ps::learn::MlpTraining training;
    ps::Sequential alone;
    const ps::FloatTable predicted = fit_twice(
        [&](ps::ExecutorRef executor) {
            return ps::learn::Mlp::fit(train.features, train.targets, validation.features, validation.targets, options,
                                       executor, &training);
        },
        test.features);
    CHECK(error(predicted, test.targets, 0) < 0.05);
    CHECK(error(predicted, test.targets, 1) < 0.25);
    CHECK(training.epochs <= options.most_epochs);
    CHECK(training.best_epoch < training.epochs);

    // Another machine, on which everything takes e times as long: a few samples move the model there.
    TwoTargets moved(60, 9, false);
    for (float& value : moved.targets.values) value += 1;
    TwoTargets there(300, 10, false);
    for (float& value : there.targets.values) value += 1;
    ps::learn::Mlp model =
        ps::learn::Mlp::fit(train.features, train.targets, validation.features, validation.targets, options, alone);
    const double before = error(model.predict(there.features), there.targets, 0);
    options.learning_rate /= 10;
    model.fine_tune(moved.features, moved.targets, moved.features, moved.targets, options, alone);
    CHECK(error(model.predict(there.features), there.targets, 0) < 0.5 * before);
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
