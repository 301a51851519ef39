#pragma once

#include <primsel/core/simd.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn::detail {

/// The factor U of a positive definite matrix A = U' U. For some hundred rows, where a model that comes with every
/// engine must not need a library of its own; all inner loops run along rows, in vectors
/// however the unit is optimised.
class Cholesky {
public:
    Cholesky() = default;
    /// From the upper triangle of A, size x size values, row after row; what lies below the diagonal is not read.
    Cholesky(std::vector<double> upper, std::size_t size) : u_(std::move(upper)), size_(size) {
        std::vector<double> least(size_);
        for (std::size_t k = 0; k < size_; ++k) least[k] = std::max(1e-12 * row(k)[k], 1e-300);
        for (std::size_t k = 0; k < size_; ++k) {
            double* const pivot = row(k);
            // Rounding may take what little is left of a row that repeats others.
            const double root = std::sqrt(std::max(pivot[k], least[k]));
            for (std::size_t j = k; j < size_; ++j) pivot[j] /= root;
            pivot[k] = root;
            for (std::size_t i = k + 1; i < size_; ++i) subtract(pivot + i, pivot[i], row(i) + i, size_ - i);
        }
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    /// Half the logarithm of A's determinant.
    [[nodiscard]] double half_log_determinant() const {
        double sum = 0;
        for (std::size_t k = 0; k < size_; ++k) sum += std::log(row(k)[k]);
        return sum;
    }
    /// Solves U' Z = B in place; B has size() rows of so many columns.
    void solve_lower(std::span<double> b, std::size_t columns) const {
        for (std::size_t first = 0; first < size_; first += pivots) {
            const std::size_t last = std::min(first + pivots, size_);
            for (std::size_t k = first; k < last; ++k) {
                double* const pivot = b.data() + k * columns;
                const double divisor = row(k)[k];
                for (std::size_t j = 0; j < columns; ++j) pivot[j] /= divisor;
                for (std::size_t i = k + 1; i < last; ++i) {
                    subtract(pivot, row(k)[i], b.data() + i * columns, columns);
                }
            }
            for (std::size_t i = last; i < size_; ++i) {
                subtract_all(b.data() + first * columns, first, i, b.data() + i * columns, columns);
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
    using Doubles = xsimd::batch<double, default_arch>;

    [[nodiscard]] double* row(std::size_t i) { return u_.data() + i * size_; }
    [[nodiscard]] const double* row(std::size_t i) const { return u_.data() + i * size_; }
    /// to -= factor * from.
    static void subtract(const double* from, double factor, double* to, std::size_t count) {
        const Doubles factors(factor);
        std::size_t j = 0;
        for (; j + Doubles::size <= count; j += Doubles::size) {
            xsimd::fnma(factors, Doubles::load_unaligned(from + j), Doubles::load_unaligned(to + j))
                .store_unaligned(to + j);
        }
        for (; j < count; ++j) to[j] -= factor * from[j];
    }

    /// The rows that are subtracted at a time from each of the others, which are then read and written once for all.
    static constexpr std::size_t pivots = 4;
    /// to -= U' from, of the pivots from the first on, which precede i.
    void subtract_all(const double* from, std::size_t first, std::size_t i, double* to, std::size_t columns) const {
        Doubles factors[pivots];
        for (std::size_t k = 0; k < pivots; ++k) factors[k] = Doubles(row(first + k)[i]);
        std::size_t j = 0;
        for (; j + Doubles::size <= columns; j += Doubles::size) {
            Doubles left = Doubles::load_unaligned(to + j);
            for (std::size_t k = 0; k < pivots; ++k) {
                left = xsimd::fnma(factors[k], Doubles::load_unaligned(from + k * columns + j), left);
            }
            left.store_unaligned(to + j);
        }
        for (; j < columns; ++j) {
            for (std::size_t k = 0; k < pivots; ++k) to[j] -= row(first + k)[i] * from[k * columns + j];
        }
    }

    std::vector<double> u_;
    std::size_t size_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn::detail
