#pragma once

#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The family of a primitive by its published id, also of one that is not in any list here.
[[nodiscard]] inline Family family_of_id(std::string_view id) {
    constexpr std::pair<std::string_view, Family> prefixes[] = {
        {"conv-1x1", Family::conv_1x1}, {"direct", Family::direct}, {"im2win", Family::other},
        {"im2", Family::im2},           {"kn2", Family::kn2},       {"mec", Family::mec}};
    for (auto const& [prefix, family] : prefixes) {
        if (id.starts_with(prefix)) return family;
    }
    if (!id.starts_with("winograd-")) return Family::other;
    // winograd-<m>-<r>... or winograd-<m>x<m>-<r>x<r>...: r decides.
    id.remove_prefix(std::string_view("winograd-").size());
    const std::string_view kernel = id.substr(std::min(id.find('-'), id.size() - 1) + 1);
    const std::string_view side = kernel.substr(0, kernel.find('-'));
    return side == "3" || side == "3x3" ? Family::wino3 : side == "5" || side == "5x5" ? Family::wino5 : Family::other;
}

/// How far predictions lie from measurements: the median of |predicted - measured| / measured (MdRAE).
struct RelativeError {
    std::string subject;
    std::size_t samples = 0;
    double median = 0;
};

[[nodiscard]] inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// Errors of predicted logarithms of times against what was measured: of each subject that was, of each family of
/// subjects if they are primitives, and of all samples ("all").
struct Evaluation {
    std::vector<RelativeError> subjects, families;
    RelativeError all;

    /// The mean over the subjects of their medians.
    [[nodiscard]] double mean_of_medians() const {
        double sum = 0;
        for (RelativeError const& one : subjects) sum += one.median;
        return subjects.empty() ? 0 : sum / static_cast<double>(subjects.size());
    }
};

[[nodiscard]] inline Evaluation evaluate(Dataset const& measured, Table const& predicted) {
    if (predicted.rows() != measured.rows() || predicted.columns != measured.subjects.size()) {
        fail("evaluate: ", predicted.rows(), " x ", predicted.columns, " predictions for ", measured.rows(), " x ",
             measured.subjects.size(), " measurements");
    }
    Evaluation result;
    std::vector<double> all;
    std::map<Family, std::vector<double>> families;
    for (std::size_t subject = 0; subject < measured.subjects.size(); ++subject) {
        std::vector<double> errors;
        for (std::size_t row = 0; row < measured.rows(); ++row) {
            const double seconds = measured.time(row, subject);
            if (seconds <= 0) continue;
            errors.push_back(std::abs(std::exp(static_cast<double>(predicted(row, subject))) / seconds - 1));
        }
        if (errors.empty()) continue;
        all.insert(all.end(), errors.begin(), errors.end());
        auto& family = families[family_of_id(measured.subjects[subject])];
        family.insert(family.end(), errors.begin(), errors.end());
        result.subjects.push_back({measured.subjects[subject], errors.size(), median(errors)});
    }
    if (measured.inputs.size() == 5) {
        for (auto const& [family, errors] : families) {
            result.families.push_back({std::string(to_string_view(family)), errors.size(), median(errors)});
        }
    }
    result.all = {"all", all.size(), median(all)};
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
