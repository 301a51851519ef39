#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/error.hpp>
#include <primsel/learn/detail/cholesky.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// A part of a covariance: the deviation that it explains, and over what distance in each direction it changes.
struct SmoothPart {
    double deviation = 1;
    std::vector<double> lengths;
    void archive(Archive& archive) { archive(deviation, lengths); }
};

/// Gaussian process regression (Rasmussen and Williams 2006, algorithm 2.1) for some hundred points, with a sum of
/// squared-exponential covariances that are given, and no library.
class SmallProcess {
public:
    /// No more points: fitting takes their cube.
    static constexpr std::size_t most_points = 4096;
    struct Prediction {
        double mean = 0;
        /// The standard deviation of the function, without noise.
        double deviation = 0;
    };

    SmallProcess() = default;
    /// Points one after the other, of as many coordinates as the parts have lengths. Throws error where they do not
    /// fit, or there are too many.
    [[nodiscard]] static SmallProcess fit(std::vector<double> points, std::vector<double> values,
                                          std::vector<SmoothPart> parts, double noise) {
        SmallProcess process;
        process.points_ = std::move(points), process.values_ = std::move(values);
        process.parts_ = std::move(parts), process.noise_ = noise;
        const std::string_view fault = process.fault();
        if (!fault.empty()) fail("Gaussian process: ", fault);
        process.solve();
        return process;
    }

    [[nodiscard]] Prediction predict(std::span<const double> point) const {
        std::vector<double> near(values_.size());
        Prediction result;
        for (std::size_t i = 0; i < near.size(); ++i) {
            near[i] = covariance(point, this->point(i));
            result.mean += near[i] * weights_[i];
        }
        double variance = covariance(point, point);
        factor_.solve_lower(near, 1);
        for (const double value : near) variance -= value * value;
        result.deviation = std::sqrt(variance > 0 ? variance : 0);
        return result;
    }
    /// The mean alone, which takes less time.
    [[nodiscard]] double mean(std::span<const double> point) const {
        double sum = 0;
        for (std::size_t i = 0; i < values_.size(); ++i) sum += covariance(point, this->point(i)) * weights_[i];
        return sum;
    }
    /// The logarithm of the probability density of the values, by which parts are compared (section 5.4.1).
    [[nodiscard]] double log_likelihood() const {
        double sum = -factor_.half_log_determinant() - 0.9189385332046727 * static_cast<double>(values_.size());
        for (std::size_t i = 0; i < values_.size(); ++i) sum -= 0.5 * values_[i] * weights_[i];
        return sum;
    }
    [[nodiscard]] double noise() const { return noise_; }
    [[nodiscard]] std::size_t dimensions() const { return parts_.empty() ? 0 : parts_[0].lengths.size(); }

    void archive(Archive& archive) {
        archive(points_, values_, parts_, noise_);
        const std::string_view wrong = fault();
        archive.require(wrong.empty(), "a Gaussian process: ", wrong);
        if (archive.reads()) solve();
    }

private:
    [[nodiscard]] std::span<const double> point(std::size_t i) const {
        return std::span(points_).subspan(i * dimensions(), dimensions());
    }
    [[nodiscard]] std::string_view fault() const {
        if (values_.size() > most_points) return "more than 4096 points";
        if (points_.size() != values_.size() * dimensions()) return "its points and values do not fit";
        if (!(noise_ > 0)) return "no noise";
        for (SmoothPart const& part : parts_) {
            if (part.lengths.size() != dimensions()) return "its parts are of different dimensions";
            for (const double length : part.lengths) {
                if (!(length > 0)) return "a length that is not positive";
            }
        }
        return "";
    }
    [[nodiscard]] double covariance(std::span<const double> a, std::span<const double> b) const {
        double sum = 0;
        for (SmoothPart const& part : parts_) {
            double squares = 0;
            for (std::size_t i = 0; i < a.size(); ++i) {
                const double apart = (a[i] - b[i]) / part.lengths[i];
                squares += apart * apart;
            }
            sum += part.deviation * part.deviation * std::exp(-0.5 * squares);
        }
        return sum;
    }
    void solve() {
        const std::size_t size = values_.size();
        std::vector<double> matrix(size * size);
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t j = i; j < size; ++j) matrix[i * size + j] = covariance(point(i), point(j));
            matrix[i * size + i] += noise_ * noise_;
        }
        factor_ = detail::Cholesky(std::move(matrix), size);
        weights_ = factor_.solve(values_);
    }

    std::vector<double> points_, values_, weights_;
    std::vector<SmoothPart> parts_;
    double noise_ = 1;
    detail::Cholesky factor_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
