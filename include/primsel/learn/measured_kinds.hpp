#pragma once

#include <primsel/cost/learned_cost.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/learn/tables.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// The kinds of convolutions that each subject was measured by, for Trained::kinds; empty for changes of layout.
[[nodiscard]] inline std::vector<std::vector<KernelKind>> measured_kinds(Dataset const& data) {
    if (data.of_layouts()) return {};
    std::vector<std::vector<KernelKind>> kinds;
    for (std::size_t subject = 0; subject < data.subjects.size(); ++subject) {
        std::set<KernelKind> known;
        for (std::size_t row = 0; row < data.rows(); ++row) {
            const auto at = ConvConfiguration::of_row(data.configuration(row));
            if (data.time(row, subject) > 0) known.insert({at.f, at.s});
        }
        kinds.emplace_back(known.begin(), known.end());
    }
    return kinds;
}

/// Predicts each row and subject of the data, which are the model's subjects; NaN for kinds that it does not know.
template <Regression R>
[[nodiscard]] FloatTable predict(Trained<R> const& trained, Dataset const& data) {
    FloatTable result = trained.regression.predict(features_of(data));
    if (data.of_layouts() || trained.kinds.empty()) return result;
    for (std::size_t row = 0; row < data.rows(); ++row) {
        const ConvShape shape = data.conv(row);
        for (std::size_t subject = 0; subject < result.columns; ++subject) {
            if (!trained.knows(subject, shape)) result(row, subject) = std::numeric_limits<float>::quiet_NaN();
        }
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
