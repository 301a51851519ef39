// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/mlp.hpp>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// A perceptron for each target, which sees the samples that have it: NN1 of Mulder et al. 2020. Its functions take
/// what those of Mlp take.
class MlpEach {
public:
    /// Its name in files.
    static constexpr std::string_view kind = "mlp_each";

    [[nodiscard]] static MlpEach fit(FloatTable const& features, FloatTable const& targets,
                                     FloatTable const& validation_features, FloatTable const& validation_targets,
                                     MlpOptions const& options, ExecutorRef executor) {
        MlpEach model;
        for (std::size_t target = 0; target < targets.columns; ++target) {
            const Measured train(features, targets, target),
                validation(validation_features, validation_targets, target);
            model.each_.push_back(
                Mlp::fit(train.features, train.targets, validation.features, validation.targets, options, executor));
        }
        return model;
    }
    /// Perceptrons of targets without a sample stay as they are.
    void fine_tune(FloatTable const& features, FloatTable const& targets, FloatTable const& validation_features,
                   FloatTable const& validation_targets, MlpOptions const& options, ExecutorRef executor) {
        for (std::size_t target = 0; target < targets.columns; ++target) {
            const Measured train(features, targets, target),
                validation(validation_features, validation_targets, target);
            if (train.targets.rows() == 0) continue;
            each_[target].fine_tune(train.features, train.targets, validation.features, validation.targets, options,
                                    executor);
        }
    }

    [[nodiscard]] FloatTable predict(FloatTable const& features) const {
        FloatTable result(features.rows(), each_.size());
        for (std::size_t target = 0; target < each_.size(); ++target) {
            const FloatTable one = each_[target].predict(features);
            for (std::size_t row = 0; row < one.rows(); ++row) result(row, target) = one(row, 0);
        }
        return result;
    }

    /// Reads or writes the model; `features` are the most that it may see, `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        if (archive.reads()) each_.assign(targets, Mlp());
        for (Mlp& one : each_) one.archive(archive, features, 1);
    }

private:
    /// The samples that have a target.
    struct Measured {
        FloatTable features, targets;

        Measured(FloatTable const& all_features, FloatTable const& all_targets, std::size_t target) {
            std::vector<std::size_t> rows;
            targets.columns = 1;
            for (std::size_t row = 0; row < all_targets.rows(); ++row) {
                const float value = all_targets(row, target);
                if (is_nan(value)) continue;
                rows.push_back(row);
                targets.values.push_back(value);
            }
            features = all_features.select(rows);
        }
    };

    std::vector<Mlp> each_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
