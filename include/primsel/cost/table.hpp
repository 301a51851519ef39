#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/config.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A row-major table of floats. NaN marks a missing value.
struct FloatTable {
    std::size_t columns = 0;
    std::vector<float> values;

    FloatTable() = default;
    FloatTable(std::size_t rows, std::size_t columns_of_each, float value = std::numeric_limits<float>::quiet_NaN())
        : columns(columns_of_each), values(rows * columns_of_each, value) {}

    [[nodiscard]] std::size_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
    [[nodiscard]] std::span<const float> row(std::size_t at) const {
        return std::span(values).subspan(at * columns, columns);
    }
    [[nodiscard]] float& operator()(std::size_t row, std::size_t column) { return values[row * columns + column]; }
    [[nodiscard]] float operator()(std::size_t row, std::size_t column) const { return values[row * columns + column]; }

    /// Returns the rows at these positions, in this order. A position may repeat.
    [[nodiscard]] FloatTable select(std::span<const std::size_t> rows) const {
        FloatTable some;
        some.columns = columns;
        some.values.reserve(rows.size() * columns);
        for (const std::size_t at : rows) some.values.insert(some.values.end(), row(at).begin(), row(at).end());
        return some;
    }
    /// Returns the first columns of each row.
    [[nodiscard]] FloatTable first_columns(std::size_t count) const {
        FloatTable some;
        some.columns = count;
        some.values.reserve(rows() * count);
        for (std::size_t at = 0; at < values.size(); at += columns) {
            const std::span<const float> first = std::span(values).subspan(at, count);
            some.values.insert(some.values.end(), first.begin(), first.end());
        }
        return some;
    }

    void archive(Archive& archive) {
        archive(columns, values);
        archive.require(columns == 0 ? values.empty() : values.size() % columns == 0, values.size(),
                        " values in rows of ", columns);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
