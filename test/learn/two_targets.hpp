// Samples to learn from, for the tests of regressions.
#pragma once

#include "machines.hpp"

#include <primsel/core/executor.hpp>
#include <primsel/cost/table.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

namespace two_targets {

/// Samples of two targets: one linear in three features, one with a step; some are missing, some features idle.
struct TwoTargets {
    primsel::FloatTable features, targets;

    explicit TwoTargets(std::size_t rows, unsigned seed, bool holes = true)
        : features(rows, 4, 0.0F), targets(rows, 2, 0.0F) {
        std::mt19937 generator(seed);
        const auto draw = [&] { return static_cast<float>(generator() % 1000) / 500.0F - 1; };
        for (std::size_t row = 0; row < rows; ++row) {
            const float a = draw(), b = draw(), c = draw();
            features(row, 0) = a, features(row, 1) = b, features(row, 2) = c, features(row, 3) = 7;
            targets(row, 0) = holes && generator() % 4 == 0 ? machines::missing : 2 * a - 3 * b + 0.5F * c - 4;
            targets(row, 1) = holes && generator() % 4 == 0 ? machines::missing : a > 0.25F ? 1.0F + b : -1.0F;
        }
    }
};

/// The root mean square of the errors of one target, relative to the deviation of the target itself.
inline double error(primsel::FloatTable const& predicted, primsel::FloatTable const& wanted, std::size_t target) {
    double squares = 0, mean = 0, spread = 0;
    for (std::size_t row = 0; row < wanted.rows(); ++row) mean += wanted(row, target);
    mean /= static_cast<double>(wanted.rows());
    for (std::size_t row = 0; row < wanted.rows(); ++row) {
        squares += std::pow(predicted(row, target) - wanted(row, target), 2);
        spread += std::pow(wanted(row, target) - mean, 2);
    }
    return std::sqrt(squares / spread);
}

inline auto three_threads() {
    return primsel::CallerPool(3, [](std::size_t n, auto const& task) noexcept {
        std::vector<std::thread> workers;
        for (std::size_t i = 0; i < n; ++i) workers.emplace_back([&task, i] { task(i); });
        for (std::thread& worker : workers) worker.join();
    });
}

/// Fits the same samples with one thread and with three: the results must have the same bits.
template <class Fit>
primsel::FloatTable fit_twice(Fit const& fit, primsel::FloatTable const& test) {
    primsel::Sequential alone;
    auto pool = three_threads();
    const primsel::FloatTable predicted = fit(primsel::ExecutorRef(alone)).predict(test);
    CHECK(fit(primsel::ExecutorRef(pool)).predict(test).values == predicted.values);
    CHECK(fit(primsel::ExecutorRef(alone)).predict(test).values == predicted.values);
    return predicted;
}

}  // namespace two_targets
