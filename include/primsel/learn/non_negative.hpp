#pragma once

#include <primsel/core/error.hpp>
#include <primsel/learn/detail/cholesky.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

namespace detail {

/// Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23, on the normal equations of columns and targets
/// of length 1.
class NonNegativeSolver {
public:
    NonNegativeSolver(std::vector<double> normal, std::vector<double> right)
        : normal_(std::move(normal)), right_(std::move(right)), x_(right_.size(), 0.0), free_(right_.size(), false) {}

    [[nodiscard]] std::vector<double> run() {
        for (std::size_t round = 0; round < 4 * x_.size(); ++round) {
            const std::size_t next = steepest();
            if (next == x_.size()) break;
            free_[next] = true;
            settle();
        }
        return x_;
    }

private:
    [[nodiscard]] std::size_t steepest() const {
        std::size_t best = x_.size();
        double most = 1e-9;
        for (std::size_t i = 0; i < x_.size(); ++i) {
            if (free_[i]) continue;
            double gradient = right_[i];
            for (std::size_t j = 0; j < x_.size(); ++j) gradient -= normal_[i * x_.size() + j] * x_[j];
            if (gradient > most) most = gradient, best = i;
        }
        return best;
    }
    [[nodiscard]] std::vector<double> unbounded() const {
        std::vector<std::size_t> in;
        for (std::size_t i = 0; i < x_.size(); ++i) {
            if (free_[i]) in.push_back(i);
        }
        std::vector<double> matrix(in.size() * in.size()), right(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) {
            right[i] = right_[in[i]];
            for (std::size_t j = 0; j < in.size(); ++j) matrix[i * in.size() + j] = normal_[in[i] * x_.size() + in[j]];
        }
        const std::vector<double> some = Cholesky(std::move(matrix), in.size()).solve(std::move(right));
        std::vector<double> all(x_.size(), 0.0);
        for (std::size_t i = 0; i < in.size(); ++i) all[in[i]] = some[i];
        return all;
    }
    /// Moves to the best point of the free ones, and fixes at 0 those that would leave.
    void settle() {
        for (std::size_t round = 0; round < x_.size(); ++round) {
            const std::vector<double> best = unbounded();
            double step = 1;
            for (std::size_t i = 0; i < x_.size(); ++i) {
                if (free_[i] && best[i] <= 0) step = std::min(step, x_[i] / std::max(x_[i] - best[i], 1e-300));
            }
            bool left = false;
            for (std::size_t i = 0; i < x_.size(); ++i) {
                if (!free_[i]) continue;
                x_[i] += step * (best[i] - x_[i]);
                if (best[i] <= 0 && x_[i] <= 1e-12) x_[i] = 0, free_[i] = false, left = true;
            }
            if (!left) return;
        }
    }

    std::vector<double> normal_, right_, x_;
    std::vector<bool> free_;
};

}  // namespace detail

/// Returns the x >= 0 with the least |rows * x - targets|^2. `rows` is a row-major matrix of targets.size() x columns;
/// its columns may differ in scale. Throws error if rows.size() != columns * targets.size().
[[nodiscard]] inline std::vector<double> non_negative_least_squares(std::span<const double> rows, std::size_t columns,
                                                                    std::span<const double> targets) {
    if (rows.size() != columns * targets.size())
        fail("least squares: ", rows.size(), " values for ", columns, " x ", targets.size());
    std::vector<double> scale(columns, 0.0), normal(columns * columns, 0.0), right(columns, 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) scale[i % columns] += rows[i] * rows[i];
    for (double& size : scale) size = size > 0 ? 1 / std::sqrt(size) : 0;
    double length = 0;
    for (const double target : targets) length += target * target;
    length = length > 0 ? std::sqrt(length) : 1;
    for (std::size_t row = 0; row < targets.size(); ++row) {
        const std::span<const double> values = rows.subspan(row * columns, columns);
        for (std::size_t i = 0; i < columns; ++i) {
            right[i] += scale[i] * values[i] * (targets[row] / length);
            for (std::size_t j = 0; j < columns; ++j) {
                normal[i * columns + j] += scale[i] * values[i] * scale[j] * values[j];
            }
        }
    }
    // Columns may repeat each other.
    for (std::size_t i = 0; i < columns; ++i) normal[i * columns + i] += 1e-10;
    std::vector<double> factors = detail::NonNegativeSolver(std::move(normal), std::move(right)).run();
    for (std::size_t i = 0; i < columns; ++i) factors[i] *= scale[i] * length;
    return factors;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
