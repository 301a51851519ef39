#pragma once

#include <primsel/core/error.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/multitask_process.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

/// Returns the positions of `count` candidates (all, if there are fewer) to measure on another machine, the most
/// informative first. Each choice minimises the remaining variance of the targets, given the choices before it, under
/// the usual covariance of deviations between machines (MultitaskProcess). This is greedy A-optimal design (Krause,
/// Singh and Guestrin 2008) and needs no measurement. Rows are ConvFeatures; throws error if they have another number
/// of columns.
[[nodiscard]] inline std::vector<std::size_t> choose_rows(FloatTable const& candidates, FloatTable const& targets,
                                                          std::size_t count) {
    if (candidates.columns != ConvFeatures::count || targets.columns != ConvFeatures::count) {
        fail("choose rows: of ", candidates.columns, " and ", targets.columns, " features, not of ",
             std::size_t{ConvFeatures::count});
    }
    learn::MultitaskProcess process({0});
    const auto add = [&](FloatTable const& rows) {
        for (std::size_t row = 0; row < rows.rows(); ++row) {
            std::array<float, ConvFeatures::count> features{};
            std::ranges::copy(rows.row(row), features.begin());
            process.add_row(features);
        }
    };
    add(candidates);
    add(targets);
    const std::size_t rows = candidates.rows(), aims = targets.rows();

    // The remaining covariance of each target with each candidate, and the candidates' remaining variances.
    std::vector<float> between(aims * rows), told(rows, 0.0F);
    std::vector<double> left(rows);
    for (std::size_t i = 0; i < rows; ++i) left[i] = process.covariance_of_rows(0, i, i);
    for (std::size_t j = 0; j < aims; ++j) {
        for (std::size_t i = 0; i < rows; ++i) {
            const auto value = static_cast<float>(process.covariance_of_rows(0, i, rows + j));
            between[j * rows + i] = value;
            told[i] += value * value;
        }
    }
    std::vector<std::vector<double>> factors;  // of the candidates' covariances, a column a chosen row
    std::vector<std::size_t> chosen;
    std::vector<bool> taken(rows, false);
    while (chosen.size() < std::min(count, rows)) {
        std::size_t best = rows;
        double most = -1;
        for (std::size_t i = 0; i < rows; ++i) {
            if (taken[i]) continue;
            const double gain = static_cast<double>(told[i]) / (left[i] + process.noise_variance());
            if (gain > most) most = gain, best = i;
        }
        chosen.push_back(best);
        taken[best] = true;

        const double scale = 1 / std::sqrt(left[best] + process.noise_variance());
        std::vector<double> column(rows);
        for (std::size_t i = 0; i < rows; ++i) column[i] = process.covariance_of_rows(0, i, best);
        for (std::vector<double> const& before : factors) {
            for (std::size_t i = 0; i < rows; ++i) column[i] -= before[i] * before[best];
        }
        std::vector<float> change(rows);
        for (std::size_t i = 0; i < rows; ++i) {
            column[i] *= scale;
            change[i] = static_cast<float>(column[i]);
            left[i] = std::max(0.0, left[i] - column[i] * column[i]);
        }
        std::ranges::fill(told, 0.0F);
        for (std::size_t j = 0; j < aims; ++j) {
            float* const of_target = between.data() + j * rows;
            const float aimed = of_target[best] * static_cast<float>(scale);
            for (std::size_t i = 0; i < rows; ++i) {
                of_target[i] -= change[i] * aimed;
                told[i] += of_target[i] * of_target[i];
            }
        }
        factors.push_back(std::move(column));
    }
    return chosen;
}

}  // namespace primsel::inline PRIMSEL_ABI::measure
