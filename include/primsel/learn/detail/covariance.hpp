// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/config.hpp>

#include <Eigen/Core>

#include <cmath>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::learn::detail {

/// ScaledPoints, a row each, with their squared lengths.
template <class Real>
struct ScaledPoints {
    Eigen::MatrixX<Real> rows;
    Eigen::VectorX<Real> lengths;

    ScaledPoints() = default;
    explicit ScaledPoints(Eigen::MatrixX<Real> points)
        : rows(std::move(points)), lengths(rows.rowwise().squaredNorm()) {}

    /// `scale` times the squared distances of each of these to each of others, no less than 0: rounding may go below.
    [[nodiscard]] Eigen::MatrixX<Real> squared_distances(ScaledPoints const& others, Real scale) const {
        Eigen::MatrixX<Real> result(rows.rows(), others.rows.rows());
        result.noalias() = (-2 * scale) * (rows * others.rows.transpose());
        for (Eigen::Index i = 0; i < result.cols(); ++i) {
            result.col(i) =
                (result.col(i) + scale * lengths).array().max(-scale * others.lengths[i]) + scale * others.lengths[i];
        }
        return result;
    }
};

/// How the values of a function at two points go together: a linear part, a smooth one (Matern 5/2) and a rough one
/// (Matern 3/2), each with a weight a feature (Rasmussen and Williams 2006, section 4.2 and eq. 5.1). ScaledPoints are
/// rows. All hyperparameters are logarithms, in one vector: amplitudes of smooth, rough and noise, then the weights of
/// the features in the smooth, the rough and the linear part.
class Covariance {
public:
    explicit Covariance(Eigen::Index features = 0) : parameters(Eigen::VectorXd::Constant(3 + 3 * features, -2)) {
        parameters.head<3>() << 0, -3, -8;
        parameters.segment(3 + features, features).setConstant(-0.5);
    }

    Eigen::VectorXd parameters;

    [[nodiscard]] Eigen::Index features() const { return (parameters.size() - 3) / 3; }
    [[nodiscard]] double smooth() const { return std::exp(parameters[0]); }
    [[nodiscard]] double rough() const { return std::exp(parameters[1]); }
    [[nodiscard]] double noise() const { return std::exp(parameters[2]); }
    /// ScaledPoints as one of the parts sees them: 0 smooth, 1 rough, 2 linear.
    template <class Matrix>
    [[nodiscard]] Matrix scaled(Matrix const& points, Eigen::Index part) const {
        const Eigen::VectorXd weights = parameters.segment(3 + part * features(), features()).array().exp();
        return points * weights.cast<typename Matrix::Scalar>().asDiagonal();
    }
    /// The smooth and the rough part of the covariance, of points scaled for each.
    template <class Real>
    [[nodiscard]] Eigen::MatrixX<Real> deviations(ScaledPoints<Real> const& smooth_a,
                                                  ScaledPoints<Real> const& smooth_b, ScaledPoints<Real> const& rough_a,
                                                  ScaledPoints<Real> const& rough_b) const {
        const auto smooth_amplitude = static_cast<Real>(smooth()), rough_amplitude = static_cast<Real>(rough());
        Eigen::ArrayXX<Real> r = smooth_a.squared_distances(smooth_b, 5).cwiseSqrt();
        Eigen::ArrayXX<Real> sum = smooth_amplitude * (1 + r + r.square() / 3) * (-r).exp();
        r = rough_a.squared_distances(rough_b, 3).cwiseSqrt();
        sum += rough_amplitude * (1 + r) * (-r).exp();
        return sum;
    }
    /// Covariances of each point with each, noise on the diagonal.
    [[nodiscard]] Eigen::MatrixXd among(Eigen::MatrixXd const& points) const {
        const ScaledPoints<double> smooth(scaled(points, 0)), rough(scaled(points, 1));
        const Eigen::MatrixXd line = scaled(points, 2);
        Eigen::MatrixXd all = deviations(smooth, smooth, rough, rough);
        all.noalias() += line * line.transpose();
        all.diagonal().array() += noise();
        return all;
    }

    /// The derivative of -log p(y) by each parameter is half the sum of `pull` times the derivative of among(), where
    /// pull is the inverse of among() less the outer product of what it makes of y (eq. 5.9 there).
    [[nodiscard]] Eigen::VectorXd gradient(Eigen::MatrixXd const& points, Eigen::MatrixXd const& pull) const {
        Eigen::VectorXd result = Eigen::VectorXd::Zero(parameters.size());
        result[2] = 0.5 * noise() * pull.trace();
        const auto by_weights = [&](Eigen::Index part, Eigen::MatrixXd const& z, Eigen::MatrixXd const& g) {
            // Half of sum g_ij (z_i - z_j)^2, a feature at a time.
            const Eigen::VectorXd sums = g.rowwise().sum();
            result.segment(3 + part * features(), features()) =
                (z.cwiseAbs2().transpose() * sums) - (z.cwiseProduct(g * z)).colwise().sum().transpose();
        };
        {
            const Eigen::MatrixXd z = scaled(points, 0);
            const ScaledPoints<double> p(z);
            const Eigen::ArrayXXd r = p.squared_distances(p, 5).cwiseSqrt(), decay = smooth() * (-r).exp();
            result[0] = 0.5 * (pull.array() * (1 + r + r.square() / 3) * decay).sum();
            by_weights(0, z, (pull.array() * decay * (1 + r) * (-10.0 / 6)).matrix());
        }
        {
            const Eigen::MatrixXd z = scaled(points, 1);
            const ScaledPoints<double> p(z);
            const Eigen::ArrayXXd r = p.squared_distances(p, 3).cwiseSqrt(), decay = rough() * (-r).exp();
            result[1] = 0.5 * (pull.array() * (1 + r) * decay).sum();
            by_weights(1, z, (pull.array() * decay * -3).matrix());
        }
        const Eigen::MatrixXd z = scaled(points, 2);
        result.tail(features()) = (z.cwiseProduct(pull * z)).colwise().sum();
        return result;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::learn::detail
