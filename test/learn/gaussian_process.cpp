// Laws of Gaussian processes.
#include <primsel/learn/gaussian_process.hpp>

#include "machines.hpp"

#include <doctest/doctest.h>
#include <primsel/core/thread_pool.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

using machines::executor;
using machines::missing;

class Draw {
public:
    explicit Draw(unsigned seed) : generator_(seed) {}
    /// Between -1 and 1.
    float operator()() { return static_cast<float>(generator_() % 2001) / 1000.0F - 1; }

private:
    std::mt19937 generator_;
};

/// Two smooth functions of two features (a third is idle, the fourth always the same); the second has holes.
struct Samples {
    ps::FloatTable features, targets;

    explicit Samples(std::size_t rows, unsigned seed) : features(rows, 4), targets(rows, 2) {
        Draw draw(seed);
        for (std::size_t row = 0; row < rows; ++row) {
            const float a = draw(), b = draw(), idle = draw();
            features(row, 0) = a, features(row, 1) = b, features(row, 2) = idle, features(row, 3) = 7;
            targets(row, 0) = 3 * a + std::sin(4 * b) + 2;
            targets(row, 1) = row % 5 == 0 ? missing : std::cos(3 * a) * b - b;
        }
    }
};

double worst(ps::FloatTable const& predicted, ps::FloatTable const& wanted, std::size_t target) {
    double result = 0;
    for (std::size_t row = 0; row < wanted.rows(); ++row) {
        if (std::isnan(wanted(row, target))) continue;
        result = std::max(result, std::abs(static_cast<double>(predicted(row, target) - wanted(row, target))));
    }
    return result;
}

bool same_bits(ps::FloatTable const& a, ps::FloatTable const& b) {
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        if (std::bit_cast<std::uint32_t>(a.values[i]) != std::bit_cast<std::uint32_t>(b.values[i])) return false;
    }
    return a.values.size() == b.values.size();
}

}  // namespace

TEST_CASE("the derivatives of the marginal likelihood are those of its differences") {
    Draw draw(3);
    constexpr Eigen::Index samples = 24, features = 3;
    Eigen::MatrixXd x(samples, features), y(samples, 2);
    for (double& value : x.reshaped()) value = draw();
    for (double& value : y.reshaped()) value = draw();
    ps::learn::detail::Covariance covariance(features);
    for (double& value : covariance.parameters) value += 0.3 * draw();
    const auto surprise = [&](ps::learn::detail::Covariance const& at) {
        const Eigen::LLT<Eigen::MatrixXd> factors(at.among(x));
        double sum = 0.5 * (y.transpose() * factors.solve(y)).trace() / 2;
        for (Eigen::Index i = 0; i < samples; ++i) sum += std::log(factors.matrixLLT()(i, i));
        return sum;
    };
    const Eigen::MatrixXd inverse = covariance.among(x).llt().solve(Eigen::MatrixXd::Identity(samples, samples));
    const Eigen::MatrixXd solved = inverse * y;
    const Eigen::VectorXd gradient = covariance.gradient(x, inverse - solved * solved.transpose() / 2);
    for (Eigen::Index i = 0; i < gradient.size(); ++i) {
        CAPTURE(i);
        constexpr double step = 1e-5;
        ps::learn::detail::Covariance more = covariance, less = covariance;
        more.parameters[i] += step, less.parameters[i] -= step;
        const double difference = (surprise(more) - surprise(less)) / (2 * step);
        CHECK(gradient[i] == doctest::Approx(difference).epsilon(1e-4).scale(1));
    }
}

TEST_CASE("a Gaussian process recovers smooth functions, holes or not") {
    const Samples train(200, 1), test(60, 2);
    const auto model = ps::learn::GaussianProcess::fit(train.features, train.targets, {}, {}, executor);
    const ps::FloatTable predicted = model.predict(test.features);
    CHECK(worst(predicted, test.targets, 0) < 0.05);
    CHECK(worst(predicted, test.targets, 1) < 0.05);
}

TEST_CASE("a Gaussian process that shares hyperparameters recovers them too, with the same bits by any threads") {
    const Samples train(200, 1), test(60, 2);
    const std::vector<std::string> labels{"one", "other"};
    const ps::learn::GaussianProcessOptions options{.steps = 30, .rows = 80, .shared_from = 0};
    const auto alone = ps::learn::GaussianProcess::fit(train.features, train.targets, labels, options, executor);
    ps::ThreadPool pool(3);
    const auto threaded = ps::learn::GaussianProcess::fit(train.features, train.targets, labels, options, pool);
    CHECK(worst(alone.predict(test.features), test.targets, 0) < 0.05);
    CHECK(same_bits(alone.predict(test.features), threaded.predict(test.features)));
}

TEST_CASE("a Gaussian process says nothing of what it never saw") {
    Samples train(50, 1);
    for (std::size_t row = 0; row < 50; ++row) train.targets(row, 1) = missing;
    const auto model = ps::learn::GaussianProcess::fit(train.features, train.targets, {}, {.steps = 5}, executor);
    Samples test(2, 2);
    test.features(1, 3) = 8;  // it was 7 in all samples
    const ps::FloatTable predicted = model.predict(test.features);
    CHECK_FALSE(std::isnan(predicted(0, 0)));
    CHECK(std::isnan(predicted(0, 1)));
    CHECK(std::isnan(predicted(1, 0)));
}
