#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/table.hpp>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Scales each column of a table to mean 0 and standard deviation 1 (Mulder et al. 2020, section 3.3). Columns that do
/// not vary become 0. NaN values do not count towards mean and deviation.
class Standardizer {
public:
    Standardizer() = default;
    Standardizer(std::vector<float> mean, std::vector<float> scale)
        : mean_(std::move(mean)), scale_(std::move(scale)) {}
    explicit Standardizer(FloatTable const& table) : mean_(table.columns), scale_(table.columns) {
        auto const& values = table.values;
        const std::size_t columns = table.columns;
        for (std::size_t column = 0; column < columns; ++column) {
            double sum = 0, squares = 0, count = 0;
            for (std::size_t i = column; i < values.size(); i += columns) {
                if (!is_nan(values[i])) sum += values[i], count += 1;
            }
            const double mean = count > 0 ? sum / count : 0;
            for (std::size_t i = column; i < values.size(); i += columns) {
                if (!is_nan(values[i])) squares += (values[i] - mean) * (values[i] - mean);
            }
            const double deviation = count > 0 ? std::sqrt(squares / count) : 0;
            mean_[column] = static_cast<float>(mean);
            // A deviation below 1e-12 of the mean is rounding of the sums in double.
            scale_[column] = deviation > 1e-12 * std::abs(mean) ? static_cast<float>(deviation) : 0;
        }
    }

    [[nodiscard]] std::size_t columns() const { return mean_.size(); }
    [[nodiscard]] std::vector<float> const& mean() const { return mean_; }
    [[nodiscard]] std::vector<float> const& scale() const { return scale_; }
    [[nodiscard]] float forward(float value, std::size_t column) const {
        return scale_[column] > 0 ? (value - mean_[column]) / scale_[column] : 0;
    }
    [[nodiscard]] float back(float value, std::size_t column) const { return value * scale_[column] + mean_[column]; }
    [[nodiscard]] FloatTable forward(FloatTable table) const {
        for (std::size_t i = 0; i < table.values.size(); ++i) {
            table.values[i] = forward(table.values[i], i % table.columns);
        }
        return table;
    }
    [[nodiscard]] FloatTable back(FloatTable table) const {
        for (std::size_t i = 0; i < table.values.size(); ++i)
            table.values[i] = back(table.values[i], i % table.columns);
        return table;
    }

    void archive(Archive& archive) {
        archive(mean_, scale_);
        archive.require(mean_.size() == scale_.size(), mean_.size(), " means and ", scale_.size(), " scales");
        for (const float scale : scale_) archive.require(scale >= 0, "a negative scale");
    }

private:
    std::vector<float> mean_, scale_;
};

}  // namespace primsel::inline PRIMSEL_ABI
