#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/learn/predicted.hpp>
#include <primsel/learn/subjects.hpp>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// How far predictions lie from measurements: the median of |predicted - measured| / measured (MdRAE).
struct RelativeError {
    std::string subject;
    std::size_t samples = 0;
    double median = 0;
};

/// Errors of predicted logarithms of times against what was measured: of each subject that was, of each family of
/// subjects if they are primitives, and of all samples ("all").
struct Evaluation {
    std::vector<RelativeError> subjects, families;
    RelativeError all;
    std::size_t rows = 0;
    /// Measurements without a prediction (is_prediction), of which no error is known.
    std::size_t not_predicted = 0;

    /// The mean over the subjects of their medians.
    [[nodiscard]] double mean_of_medians() const {
        double sum = 0;
        for (RelativeError const& one : subjects) sum += one.median;
        return subjects.empty() ? 0 : sum / static_cast<double>(subjects.size());
    }
};

/// Judges predicted logarithms of seconds: a row for each row of the data, a column for each subject. Throws error when
/// the table is of another size.
[[nodiscard]] inline Evaluation evaluate(Dataset const& measured, FloatTable const& predicted) {
    if (predicted.rows() != measured.rows() || predicted.columns != measured.subjects.size()) {
        fail("evaluate: ", predicted.rows(), " x ", predicted.columns, " predictions for ", measured.rows(), " x ",
             measured.subjects.size(), " measurements");
    }
    Evaluation result;
    result.rows = measured.rows();
    std::vector<double> all;
    std::map<Family, std::vector<double>> families;
    for (std::size_t subject = 0; subject < measured.subjects.size(); ++subject) {
        std::vector<double> errors;
        for (std::size_t row = 0; row < measured.rows(); ++row) {
            const double seconds = measured.time(row, subject);
            if (seconds <= 0) continue;
            if (const float logarithm = predicted(row, subject); is_prediction(logarithm)) {
                errors.push_back(std::abs(std::exp(static_cast<double>(logarithm)) / seconds - 1));
            } else {
                ++result.not_predicted;
            }
        }
        if (errors.empty()) continue;
        all.insert(all.end(), errors.begin(), errors.end());
        auto& family = families[family_of_id(measured.subjects[subject])];
        family.insert(family.end(), errors.begin(), errors.end());
        result.subjects.push_back({measured.subjects[subject], errors.size(), median(errors)});
    }
    if (!measured.of_layouts()) {
        for (auto const& [family, errors] : families) {
            result.families.push_back({std::string(to_string_view(family)), errors.size(), median(errors)});
        }
    }
    result.all = {"all", all.size(), median(all)};
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
