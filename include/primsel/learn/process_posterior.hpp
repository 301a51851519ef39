// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/config.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::learn {

/// A Gaussian process over few samples that knows how sure it is: mean and variance, in double precision.
/// GaussianProcess is for many samples, and has means only. A smooth function (Matern 5/2) whose amplitude, noise and
/// weights of features are those that make the samples most likely, not far from typical ones where they say little
/// (Rasmussen and Williams 2006, sections 2.2 and 5.4). Features are expected from 0 to 1. Takes n^3 operations for n
/// samples.
class ProcessPosterior {
public:
    struct Beliefs {
        Eigen::VectorXd mean, variance;
    };

    /// A sample a row of the points, of which there is at least one. The same samples give the same bits.
    static ProcessPosterior fit(Eigen::MatrixXd points, Eigen::VectorXd const& values, int steps = 40) {
        ProcessPosterior process(std::move(points), values);
        process.maximize(steps);
        process.factorize();
        return process;
    }

    /// Beliefs about the function, without noise, at points that are rows.
    [[nodiscard]] Beliefs at(Eigen::MatrixXd const& points) const {
        Eigen::MatrixXd across = covariance(distances(scaled(points_), scaled(points)));
        Beliefs beliefs;
        beliefs.mean = (across.transpose() * weights_ * scale_).array() + mean_;
        factors_.matrixL().solveInPlace(across);
        const Eigen::VectorXd known = across.colwise().squaredNorm().transpose();
        beliefs.variance = scale_ * scale_ * (amplitude() - known.array()).max(1e-12 * amplitude());
        return beliefs;
    }
    /// The same with more samples, of the same hyperparameters.
    [[nodiscard]] ProcessPosterior with(Eigen::MatrixXd const& points, Eigen::VectorXd const& values) const {
        ProcessPosterior more = *this;
        more.points_.conservativeResize(points_.rows() + points.rows(), Eigen::NoChange);
        more.points_.bottomRows(points.rows()) = points;
        more.values_.conservativeResize(values_.size() + values.size());
        more.values_.tail(values.size()) = (values.array() - mean_) / scale_;
        more.factorize();
        return more;
    }
    /// The variance of a sample's noise.
    [[nodiscard]] double noise_variance() const { return scale_ * scale_ * noise(); }

private:
    // Logarithms: amplitude, noise, then the length over which each feature matters.
    static constexpr double typical_noise = -9, least_noise = -14;

    ProcessPosterior(Eigen::MatrixXd points, Eigen::VectorXd const& values) : points_(std::move(points)) {
        mean_ = values.mean();
        const double spread = std::sqrt((values.array() - mean_).square().mean());
        scale_ = spread > 1e-12 * std::abs(mean_) ? spread : 1;
        values_ = (values.array() - mean_) / scale_;
        parameters_ = Eigen::VectorXd::Constant(2 + points_.cols(), typical_length());
        parameters_[0] = 0;
        parameters_[1] = typical_noise;
    }
    [[nodiscard]] double typical_length() const {
        return std::log(0.5 * std::sqrt(static_cast<double>(std::max<Eigen::Index>(points_.cols(), 1))));
    }
    [[nodiscard]] double amplitude() const { return std::exp(parameters_[0]); }
    [[nodiscard]] double noise() const { return std::exp(std::max(parameters_[1], least_noise)); }

    [[nodiscard]] Eigen::MatrixXd scaled(Eigen::MatrixXd const& points) const {
        const Eigen::VectorXd weights = (-parameters_.tail(points_.cols())).array().exp();
        return points * weights.asDiagonal();
    }
    /// Distances of each point of a to each of b, times the root of 5.
    [[nodiscard]] static Eigen::MatrixXd distances(Eigen::MatrixXd const& a, Eigen::MatrixXd const& b) {
        Eigen::MatrixXd squares = -2 * a * b.transpose();
        squares.colwise() += a.rowwise().squaredNorm();
        squares.rowwise() += b.rowwise().squaredNorm().transpose();
        return (5 * squares.array().max(0)).sqrt();
    }
    [[nodiscard]] Eigen::MatrixXd covariance(Eigen::MatrixXd const& r) const {
        return amplitude() * (1 + r.array() + r.array().square() / 3) * (-r.array()).exp();
    }
    void factorize() {
        Eigen::MatrixXd all = covariance(distances(scaled(points_), scaled(points_)));
        all.diagonal().array() += noise();
        factors_.compute(all);
        weights_ = factors_.solve(values_);
    }

    /// The gradient of the logarithm of the probability of samples and hyperparameters, by each hyperparameter.
    [[nodiscard]] Eigen::VectorXd gradient() {
        const Eigen::MatrixXd z = scaled(points_), r = distances(z, z), near = covariance(r);
        Eigen::MatrixXd all = near;
        all.diagonal().array() += noise();
        factors_.compute(all);
        weights_ = factors_.solve(values_);
        Eigen::MatrixXd pull = weights_ * weights_.transpose();
        pull -= factors_.solve(Eigen::MatrixXd::Identity(all.rows(), all.cols()));
        Eigen::VectorXd result(parameters_.size());
        result[0] = 0.5 * pull.cwiseProduct(near).sum() - parameters_[0];
        result[1] = 0.5 * noise() * pull.trace() - (parameters_[1] - typical_noise) / 4;
        // Half of sum g_ij (z_i - z_j)^2 of each feature.
        const Eigen::MatrixXd g =
            (pull.array() * (5.0 / 3) * amplitude() * (1 + r.array()) * (-r.array()).exp()).matrix();
        const Eigen::VectorXd sums = g.rowwise().sum();
        const Eigen::Index features = points_.cols();
        result.tail(features) = (z.cwiseAbs2().transpose() * sums) - z.cwiseProduct(g * z).colwise().sum().transpose();
        result.tail(features).array() -= parameters_.tail(features).array() - typical_length();
        return result;
    }
    /// Steps whose length grows while a slope keeps its sign and shrinks when it turns (Riedmiller and Braun 1993).
    void maximize(int steps) {
        Eigen::VectorXd length = Eigen::VectorXd::Constant(parameters_.size(), 0.2),
                        before = Eigen::VectorXd::Zero(parameters_.size());
        for (int step = 0; step < steps; ++step) {
            const Eigen::VectorXd slope = gradient();
            for (Eigen::Index i = 0; i < slope.size(); ++i) {
                const double rotated = slope[i] * before[i];
                if (rotated > 0) length[i] = std::min(1.2 * length[i], 1.0);
                if (rotated < 0) length[i] = std::max(0.5 * length[i], 1e-4);
                before[i] = rotated < 0 ? 0 : slope[i];
                if (before[i] != 0) parameters_[i] += before[i] > 0 ? length[i] : -length[i];
            }
            parameters_ = parameters_.array().max(least_noise).min(8);
        }
    }

    Eigen::MatrixXd points_;
    Eigen::VectorXd values_;  // of mean 0 and variance 1
    double mean_ = 0, scale_ = 1;
    Eigen::VectorXd parameters_, weights_;
    Eigen::LLT<Eigen::MatrixXd> factors_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
