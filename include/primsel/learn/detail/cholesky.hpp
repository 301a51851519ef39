#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// The factor U of a positive definite matrix A = U' U. For some hundred rows, where a model that comes with every
/// engine must not need a library of its own; all inner loops run along rows.
class Cholesky {
public:
    Cholesky() = default;
    /// From the upper triangle of A, size x size values, row after row; what lies below the diagonal is not read.
    Cholesky(std::vector<double> upper, std::size_t size) : u_(std::move(upper)), size_(size) {
        for (std::size_t k = 0; k < size_; ++k) {
            double* const pivot = row(k);
            // Rounding may take what little is left of a row that repeats others.
            const double root = std::sqrt(std::max(pivot[k], 1e-12));
            for (std::size_t j = k; j < size_; ++j) pivot[j] /= root;
            pivot[k] = root;
            for (std::size_t i = k + 1; i < size_; ++i) subtract(pivot + i, pivot[i], row(i) + i, size_ - i);
        }
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    /// Of A, its half.
    [[nodiscard]] double half_log_determinant() const {
        double sum = 0;
        for (std::size_t k = 0; k < size_; ++k) sum += std::log(row(k)[k]);
        return sum;
    }
    /// Solves U' Z = B in place; B has size() rows of so many columns.
    void solve_lower(std::span<double> b, std::size_t columns) const {
        for (std::size_t k = 0; k < size_; ++k) {
            double* const pivot = b.data() + k * columns;
            const double divisor = row(k)[k];
            for (std::size_t j = 0; j < columns; ++j) pivot[j] /= divisor;
            for (std::size_t i = k + 1; i < size_; ++i) {
                subtract(pivot, row(k)[i], b.data() + i * columns, columns);
            }
        }
    }
    /// Solves A x = b.
    [[nodiscard]] std::vector<double> solve(std::vector<double> b) const {
        solve_lower(b, 1);
        for (std::size_t i = size_; i-- > 0;) {
            double sum = b[i];
            for (std::size_t j = i + 1; j < size_; ++j) sum -= row(i)[j] * b[j];
            b[i] = sum / row(i)[i];
        }
        return b;
    }

private:
    [[nodiscard]] double* row(std::size_t i) { return u_.data() + i * size_; }
    [[nodiscard]] const double* row(std::size_t i) const { return u_.data() + i * size_; }
    /// to -= factor * from.
    static void subtract(const double* from, double factor, double* to, std::size_t count) {
        for (std::size_t j = 0; j < count; ++j) to[j] -= factor * from[j];
    }

    std::vector<double> u_;
    std::size_t size_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
