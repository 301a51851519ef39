// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/standardizer.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/learn/detail/covariance.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

struct GaussianProcessOptions {
    /// Steps of Adam on the marginal likelihood, and how many samples are drawn for each.
    std::size_t steps = 60, rows = 800;
    double learning_rate = 0.08;
    /// Targets with at least this many samples share hyperparameters with targets of the same label that were measured
    /// in the same rows. Targets with fewer samples are cheap to fit and have their own.
    std::size_t shared_from = 500;
    std::uint64_t seed = 1;
};

/// Gaussian process regression (Rasmussen and Williams 2006): a function about linear, with smooth and rough deviations
/// whose amplitudes and weights of features are those that make the samples most likely. Takes n^3 operations to fit n
/// samples.
class GaussianProcess {
public:
    /// Its name in files.
    static constexpr std::string_view kind = "gp";

    /// A row a sample; NaN stands for a target that was not measured. One label a target; none: all are alike.
    [[nodiscard]] static GaussianProcess fit(FloatTable const& features, FloatTable const& targets,
                                             std::span<const std::string> labels, GaussianProcessOptions const& options,
                                             ExecutorRef executor) {
        std::map<std::pair<std::string, std::vector<std::size_t>>, std::vector<std::size_t>> alike;
        for (std::size_t target = 0; target < targets.columns; ++target) {
            std::vector<std::size_t> rows;
            for (std::size_t row = 0; row < targets.rows(); ++row) {
                if (!is_nan(targets(row, target))) rows.push_back(row);
            }
            if (rows.empty()) continue;
            std::string label = labels.empty() ? "" : labels[target];
            if (rows.size() < options.shared_from) label += join('/', target);
            alike[{std::move(label), std::move(rows)}].push_back(target);
        }
        std::vector<std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> groups;
        for (auto& [key, members] : alike) groups.emplace_back(key.second, std::move(members));
        // The largest groups first, so that no thread starts one when the others have finished.
        std::ranges::stable_sort(groups, [](auto const& a, auto const& b) { return a.first.size() > b.first.size(); });

        GaussianProcess model;
        model.targets_ = targets.columns;
        model.groups_.resize(groups.size());
        executor.parallel_for(groups.size(), [&](std::size_t i, std::size_t) {
            auto const& [rows, members] = groups[i];
            model.groups_[i].fit(features.select(rows), targets.select(rows), members, options);
        });
        return model;
    }

    /// Returns a row of targets for each row of features. A prediction is NaN if the target had no sample, or if a
    /// feature that was equal in all samples differs now (such as the kernel size, for a primitive that has only one).
    [[nodiscard]] FloatTable predict(FloatTable const& features) const {
        FloatTable result(features.rows(), targets_);
        for (Group const& group : groups_) group.predict(features, result);
        return result;
    }

    /// Reads or writes the model; `features` and `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        archive(targets_, groups_);
        archive.require(targets_ == targets, "a Gaussian process of ", targets_, " targets where there are ", targets);
        for (Group& group : groups_) {
            group.require_consistent(archive, features, targets);
            if (archive.reads()) group.scale_samples();
        }
    }

private:
    /// Targets that share a covariance.
    struct Group {
        std::vector<std::size_t> targets;
        /// The features that vary.
        std::vector<std::size_t> columns;
        Standardizer inputs, outputs;
        detail::Covariance covariance;
        Eigen::MatrixXf samples;  // samples x columns
        /// The samples as those parts see them, in blocks that stay in the cache.
        static constexpr Eigen::Index block = 256;
        std::vector<detail::ScaledPoints<float>> smooth, rough;
        Eigen::MatrixXf weights;  // samples x targets
        Eigen::MatrixXf slope;    // columns x targets

        void archive(Archive& archive) {
            archive(targets, columns, inputs, outputs, covariance.parameters, samples, weights, slope);
        }
        /// Throws error where it was read and its parts do not fit.
        void require_consistent(Archive const& archive, std::size_t features, std::size_t of_targets) const {
            const auto in = static_cast<Eigen::Index>(columns.size()), out = static_cast<Eigen::Index>(targets.size());
            for (const std::size_t target : targets) {
                archive.require(target < of_targets, "target ", target, " of ", of_targets);
            }
            for (const std::size_t column : columns) {
                archive.require(column < features, "feature ", column, " of ", features);
            }
            archive.require(inputs.columns() == features && outputs.columns() == targets.size(), "scales of ",
                            inputs.columns(), " features and ", outputs.columns(), " targets where there are ",
                            features, " and ", targets.size());
            archive.require(covariance.parameters.size() == 3 + 3 * in && slope.rows() == in && slope.cols() == out &&
                                weights.cols() == out && samples.cols() == in && samples.rows() == weights.rows(),
                            "the parts of a Gaussian process differ in size");
        }

        void fit(FloatTable const& features, FloatTable const& wanted, std::vector<std::size_t> const& members,
                 GaussianProcessOptions const& options) {
            targets = members;
            inputs = Standardizer(features);
            for (std::size_t i = 0; i < features.columns; ++i) {
                if (inputs.scale()[i] > 0) columns.push_back(i);
            }
            const Eigen::MatrixXd x = points<double>(features);
            FloatTable own(wanted.rows(), targets.size());
            for (std::size_t row = 0; row < own.rows(); ++row) {
                for (std::size_t i = 0; i < targets.size(); ++i) own(row, i) = wanted(row, targets[i]);
            }
            outputs = Standardizer(own);
            Eigen::MatrixXd y(x.rows(), static_cast<Eigen::Index>(targets.size()));
            for (std::size_t i = 0; i < own.values.size(); ++i) {
                y(static_cast<Eigen::Index>(i / own.columns), static_cast<Eigen::Index>(i % own.columns)) =
                    outputs.forward(own.values[i], i % own.columns);
            }
            covariance = detail::Covariance(x.cols());
            maximize_likelihood(x, y, options);

            Eigen::MatrixXd among = covariance.among(x);
            const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factors(among);
            const Eigen::MatrixXd solved = factors.solve(y);
            weights = solved.cast<float>();
            const Eigen::MatrixXd line = covariance.scaled(x, 2);
            slope = covariance.scaled<Eigen::MatrixXd>(solved.transpose() * line, 2).transpose().cast<float>();
            samples = x.cast<float>();
            scale_samples();
        }
        void scale_samples() {
            smooth.clear(), rough.clear();
            for (Eigen::Index first = 0; first < samples.rows(); first += block) {
                const Eigen::MatrixXf some = samples.middleRows(first, std::min(block, samples.rows() - first));
                smooth.emplace_back(covariance.scaled(some, 0));
                rough.emplace_back(covariance.scaled(some, 1));
            }
        }

        /// A row a sample, of its columns only.
        template <class Real>
        [[nodiscard]] Eigen::MatrixX<Real> points(FloatTable const& features) const {
            Eigen::MatrixX<Real> x(features.rows(), columns.size());
            for (Eigen::Index row = 0; row < x.rows(); ++row) {
                for (Eigen::Index i = 0; i < x.cols(); ++i) {
                    const std::size_t column = columns[static_cast<std::size_t>(i)];
                    x(row, i) = inputs.forward(features(static_cast<std::size_t>(row), column), column);
                }
            }
            return x;
        }

        void maximize_likelihood(Eigen::MatrixXd const& x, Eigen::MatrixXd const& y,
                                 GaussianProcessOptions const& options) {
            const auto all = static_cast<std::size_t>(x.rows());
            const std::size_t count = std::min(options.rows, all);
            Eigen::VectorXd m = Eigen::VectorXd::Zero(covariance.parameters.size()), v = m;
            for (std::size_t step = 1; step <= options.steps; ++step) {
                const std::vector<std::size_t> order = shuffled(all, options.seed * 7919 + step);
                Eigen::VectorX<Eigen::Index> drawn(count);
                for (std::size_t i = 0; i < count; ++i) {
                    drawn[static_cast<Eigen::Index>(i)] = static_cast<Eigen::Index>(order[i]);
                }
                const Eigen::MatrixXd points = x(drawn, Eigen::all), values = y(drawn, Eigen::all);
                Eigen::MatrixXd among = covariance.among(points);
                const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factors(among);
                Eigen::MatrixXd pull = factors.solve(Eigen::MatrixXd::Identity(points.rows(), points.rows()));
                const Eigen::MatrixXd solved = pull * values;
                pull.noalias() -= solved * solved.transpose() / static_cast<double>(values.cols());
                Eigen::VectorXd gradient = covariance.gradient(points, pull);
                // Weights of features are small until the samples say otherwise.
                gradient.tail(gradient.size() - 3).array() +=
                    0.02 * covariance.parameters.tail(gradient.size() - 3).array().exp();
                m = 0.9 * m + 0.1 * gradient;
                v = 0.999 * v + 0.001 * gradient.cwiseAbs2();
                const auto t = static_cast<double>(step);
                covariance.parameters.array() -= options.learning_rate * m.array() / (1 - std::pow(0.9, t)) /
                                                 ((v.array() / (1 - std::pow(0.999, t))).sqrt() + 1e-8);
            }
        }

        /// Whether a feature differs that was the same in all samples.
        [[nodiscard]] bool unlike_samples(std::span<const float> row) const {
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (inputs.scale()[i] == 0 && std::abs(row[i] - inputs.mean()[i]) > 1e-4F) return true;
            }
            return false;
        }

        void predict(FloatTable const& features, FloatTable& result) const {
            std::vector<std::size_t> rows;
            for (std::size_t row = 0; row < features.rows(); ++row) {
                if (!unlike_samples(features.row(row))) rows.push_back(row);
            }
            if (rows.empty()) return;
            const Eigen::MatrixXf x = points<float>(features.select(rows));
            const detail::ScaledPoints<float> at_smooth(covariance.scaled(x, 0)), at_rough(covariance.scaled(x, 1));
            Eigen::MatrixXf values = x * slope;
            for (std::size_t i = 0; i < smooth.size(); ++i) {
                const Eigen::MatrixXf deviations = covariance.deviations(smooth[i], at_smooth, rough[i], at_rough);
                const Eigen::Index first = static_cast<Eigen::Index>(i) * block;
                values.noalias() += deviations.transpose() * weights.middleRows(first, deviations.rows());
            }
            for (std::size_t at = 0; at < rows.size(); ++at) {
                for (std::size_t i = 0; i < targets.size(); ++i) {
                    const float value = values(static_cast<Eigen::Index>(at), static_cast<Eigen::Index>(i));
                    result(rows[at], targets[i]) = outputs.back(value, i);
                }
            }
        }
    };

    std::size_t targets_ = 0;
    std::vector<Group> groups_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
