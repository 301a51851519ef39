#pragma once

#include <primsel/core/error.hpp>
#include <primsel/cost/learned_cost.hpp>
#include <primsel/learn/evaluate.hpp>
#include <primsel/learn/log_predictions.hpp>
#include <primsel/learn/measured_kinds.hpp>
#include <primsel/learn/profile.hpp>
#include <primsel/learn/subjects.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// The errors of a model on the subjects of a dataset that it knows. Subjects without any measurement, and transforms
/// of a layout to itself, are ignored.
struct ModelEvaluation {
    Evaluation errors;
    /// Subjects that were measured and that the model does not know.
    std::vector<std::string> unknown;
};

namespace detail {

/// The part of the data whose subjects are known. Throws error when none is.
template <class IsKnown>
[[nodiscard]] Dataset known_part(NamedDataset const& measured, std::vector<std::string>& unknown,
                                 IsKnown const& is_known) {
    std::vector<std::string> known;
    const Dataset data = without_idle(measured.data);
    for (std::string const& subject : data.subjects) (is_known(subject) ? known : unknown).push_back(subject);
    if (known.empty()) {
        fail(measured.name, ": of none of its ", what_of(data), " do these costs know anything");
    }
    return with_subjects(data, std::move(known));
}

}  // namespace detail

/// Judges a learned model. Throws error when it knows none of the subjects.
template <Regression R>
[[nodiscard]] ModelEvaluation evaluate(NamedDataset const& measured, Trained<R> const& trained) {
    const auto position = [&](std::string const& subject) {
        return static_cast<std::size_t>(std::ranges::find(trained.subjects, subject) - trained.subjects.begin());
    };
    ModelEvaluation result;
    const Dataset some = detail::known_part(measured, result.unknown, [&](std::string const& subject) {
        return position(subject) < trained.subjects.size();
    });
    const FloatTable all = predict(trained, with_subjects(some, trained.subjects));
    FloatTable predicted(some.rows(), some.subjects.size());
    for (std::size_t i = 0; i < some.subjects.size(); ++i) {
        const std::size_t column = position(some.subjects[i]);
        for (std::size_t row = 0; row < some.rows(); ++row) predicted(row, i) = all(row, column);
    }
    result.errors = evaluate(some, predicted);
    return result;
}

/// Judges a cost model. Throws error when none of the subjects is one of the kernels.
template <CostModel Model>
[[nodiscard]] ModelEvaluation evaluate(NamedDataset const& measured, Kernels const& kernels, Model& model) {
    ModelEvaluation result;
    const Dataset some = detail::known_part(measured, result.unknown, [&](std::string const& subject) {
        return is_subject(kernels, measured.data, subject);
    });
    result.errors = evaluate(some, log_predictions(some, kernels, model));
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
