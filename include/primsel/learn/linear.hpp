// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/standardizer.hpp>
#include <primsel/cost/table.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <cstddef>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Linear regression, a target at a time: least squares with a little ridge, over the rows that have the target.
class LinearRegression {
public:
    /// Its name in files.
    static constexpr std::string_view kind = "linear";

    /// Features and targets, a row a sample; NaN stands for a target that was not measured.
    [[nodiscard]] static LinearRegression fit(FloatTable const& features, FloatTable const& targets,
                                              double ridge = 1e-6) {
        LinearRegression model;
        model.inputs_ = Standardizer(features);
        const FloatTable x = model.inputs_.forward(features);
        const auto size = static_cast<Eigen::Index>(features.columns + 1);
        model.weights_ = FloatTable(targets.columns, features.columns + 1, 0.0F);
        for (std::size_t target = 0; target < targets.columns; ++target) {
            Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(size, size);
            Eigen::VectorXd right = Eigen::VectorXd::Zero(size), sample(size);
            double count = 0;
            for (std::size_t row = 0; row < targets.rows(); ++row) {
                if (is_nan(targets(row, target))) continue;
                for (std::size_t i = 0; i < x.columns; ++i) sample[static_cast<Eigen::Index>(i)] = x(row, i);
                sample[size - 1] = 1;
                normal.selfadjointView<Eigen::Lower>().rankUpdate(sample);
                right += targets(row, target) * sample;
                count += 1;
            }
            normal.diagonal().array() += ridge * (count + 1);
            const Eigen::VectorXd solution = normal.selfadjointView<Eigen::Lower>().ldlt().solve(right);
            for (std::size_t i = 0; i < model.weights_.columns; ++i) {
                model.weights_(target, i) = static_cast<float>(solution[static_cast<Eigen::Index>(i)]);
            }
        }
        return model;
    }

    [[nodiscard]] FloatTable predict(FloatTable const& features) const {
        const FloatTable x = inputs_.forward(features);
        FloatTable result(x.rows(), weights_.rows(), 0.0F);
        for (std::size_t row = 0; row < x.rows(); ++row) {
            for (std::size_t target = 0; target < weights_.rows(); ++target) {
                float sum = weights_(target, x.columns);
                for (std::size_t i = 0; i < x.columns; ++i) sum += weights_(target, i) * x(row, i);
                result(row, target) = sum;
            }
        }
        return result;
    }

    /// Reads or writes the model; `features` and `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        archive(inputs_, weights_);
        archive.require(inputs_.columns() == features && weights_.columns == features + 1 && weights_.rows() == targets,
                        "a linear regression of ", inputs_.columns(), " features and ", weights_.rows(), " x ",
                        weights_.columns, " weights where there are ", features, " features and ", targets, " targets");
    }

private:
    Standardizer inputs_;
    FloatTable weights_;  // a row a target: one for each feature, then the constant
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
