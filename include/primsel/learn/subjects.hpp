#pragma once

#include <primsel/learn/dataset.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

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

/// Whether a subject is the change of a layout to itself ("chw-to-chw"), which costs nothing.
[[nodiscard]] inline bool is_identity(std::string_view subject) {
    constexpr std::string_view to = "-to-";
    const std::size_t at = subject.find(to);
    return at != std::string_view::npos && subject.substr(0, at) == subject.substr(at + to.size());
}

/// A label for each subject, the same for those that are alike: the families of primitives; changes of layout are all
/// alike.
[[nodiscard]] inline std::vector<std::string> labels_of(Dataset const& data) {
    std::vector<std::string> labels;
    for (std::string const& subject : data.subjects) {
        labels.emplace_back(data.of_layouts() ? "" : to_string_view(family_of_id(subject)));
    }
    return labels;
}

/// The same rows with those subjects, in that order; without times for those that the data does not have.
[[nodiscard]] inline Dataset with_subjects(Dataset const& data, std::vector<std::string> subjects) {
    std::vector<std::size_t> positions;
    for (std::string const& subject : subjects) positions.push_back(data.find(subject));
    Dataset some{.inputs = data.inputs,
                 .subjects = std::move(subjects),
                 .about = data.about,
                 .configurations = {},
                 .seconds = {}};
    std::vector<double> times(positions.size());
    for (std::size_t row = 0; row < data.rows(); ++row) {
        for (std::size_t i = 0; i < positions.size(); ++i) {
            times[i] = positions[i] < data.subjects.size() ? data.time(row, positions[i]) : 0;
        }
        some.add(data.configuration(row), times);
    }
    return some;
}

/// Without the subjects that were measured in no row, and the changes of a layout to itself.
[[nodiscard]] inline Dataset without_idle(Dataset const& data) {
    std::vector<std::string> kept;
    for (std::size_t subject = 0; subject < data.subjects.size(); ++subject) {
        bool measured = false;
        for (std::size_t row = 0; row < data.rows() && !measured; ++row) measured = data.time(row, subject) > 0;
        if (measured && !is_identity(data.subjects[subject])) kept.push_back(data.subjects[subject]);
    }
    return with_subjects(data, std::move(kept));
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
