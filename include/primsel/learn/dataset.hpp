#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/learn/configuration.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Measured times: for each configuration (row) that of each subject (column), primitives or changes of layout.
/// Its text is CSV: lines "# key: value" that say where it was measured, a header, then a line a configuration with
/// times in nanoseconds, 0 where there is none (Mulder et al. 2020).
struct Dataset {
    /// The numbers that describe a configuration: c, k, im, f, s for primitives; c, im for layouts. All are positive
    /// integers.
    std::vector<std::string> inputs;
    std::vector<std::string> subjects;
    /// CPU, Arch, compiler and library version, as far as they are known.
    std::map<std::string, std::string> about;
    /// rows x inputs and rows x subjects.
    std::vector<int> configurations;
    std::vector<double> seconds;

    [[nodiscard]] std::size_t rows() const { return inputs.empty() ? 0 : configurations.size() / inputs.size(); }
    [[nodiscard]] std::span<const int> configuration(std::size_t row) const {
        return std::span(configurations).subspan(row * inputs.size(), inputs.size());
    }
    /// Whether it is of changes of layout (c, im), and not of primitives (c, k, im, f, s).
    [[nodiscard]] bool of_layouts() const { return inputs.size() == TensorConfiguration::columns.size(); }
    /// 0: not measured.
    [[nodiscard]] double time(std::size_t row, std::size_t subject) const {
        return seconds[row * subjects.size() + subject];
    }
    [[nodiscard]] std::span<const double> times(std::size_t row) const {
        return std::span(seconds).subspan(row * subjects.size(), subjects.size());
    }
    /// The position of a subject; subjects.size() where there is none of that name.
    [[nodiscard]] std::size_t find(std::string_view subject) const {
        return static_cast<std::size_t>(std::ranges::find(subjects, subject) - subjects.begin());
    }
    /// The convolution of a row of c, k, im, f, s.
    [[nodiscard]] ConvShape conv(std::size_t row) const {
        return ConvConfiguration::of_row(configuration(row)).shape();
    }
    /// Adds a row; as many of each as there are inputs and subjects.
    void add(std::span<const int> configuration, std::span<const double> times) {
        configurations.insert(configurations.end(), configuration.begin(), configuration.end());
        seconds.insert(seconds.end(), times.begin(), times.end());
    }
    /// The rows at those positions, in that order.
    [[nodiscard]] Dataset select(std::span<const std::size_t> rows) const {
        Dataset some{.inputs = inputs, .subjects = subjects, .about = about, .configurations = {}, .seconds = {}};
        for (const std::size_t row : rows) some.add(configuration(row), times(row));
        return some;
    }
};

/// Returns whether the shape is a valid convolution whose sizes do not overflow int.
[[nodiscard]] inline bool plausible(ConvShape const& s) {
    constexpr int largest = 1 << 20, largest_kernel = 1 << 10;
    for (const int extent : {s.c, s.k, s.h, s.w, s.stride_h, s.stride_w}) {
        if (extent > largest) return false;
    }
    for (const int extent :
         {s.fh, s.fw, s.dilation_h, s.dilation_w, s.pad_top, s.pad_bottom, s.pad_left, s.pad_right}) {
        if (extent < 0 || extent > largest_kernel) return false;
    }
    return s.valid() && std::int64_t{s.c} * s.fh * s.fw <= std::numeric_limits<int>::max();
}

/// Columns that describe a configuration, wherever they stand first.
[[nodiscard]] inline bool is_input(std::string_view column) {
    return std::ranges::find(ConvConfiguration::columns, column) != ConvConfiguration::columns.end();
}

/// Parses a dataset; errors call it `name`. Drops a truncated last line, which a profiler that was killed leaves.
/// Throws error, naming the line, for any other value that is missing, negative or not a number.
[[nodiscard]] inline Dataset parse_dataset(std::string_view name, std::string_view text) {
    Dataset data;
    core::CsvLines lines(text, data.about);
    std::vector<int> configuration;
    std::vector<double> times;
    for (std::string_view line; lines.next(line);) {
        const std::size_t number = lines.number();
        const bool whole = lines.whole();
        if (data.inputs.empty()) {
            for (std::string& column : core::cells_of(line)) {
                if (data.subjects.empty() && learn::is_input(column)) {
                    data.inputs.push_back(std::move(column));
                } else if (column.empty() || std::ranges::find(data.subjects, column) != data.subjects.end()) {
                    fail(name, ": line ", number, ": column '", column, "' is there twice or has no name");
                } else {
                    data.subjects.push_back(std::move(column));
                }
            }
            if (data.inputs.empty() || data.subjects.empty()) {
                fail(name, ": line ", number, ": no header of c, k, im, f, s or c, im and what was measured");
            }
            continue;
        }
        configuration.clear();
        times.clear();
        core::Pieces cells(line, ',');
        for (std::string_view cell; cells.next(cell);) {
            if (configuration.size() < data.inputs.size()) {
                int value = 0;
                if (!read_number(cell, value) || value < 1) {
                    if (!whole) return data;
                    fail(name, ": line ", number, ": ", data.inputs[configuration.size()], " is '", cell,
                         "', no positive integer");
                }
                configuration.push_back(value);
            } else if (times.size() < data.subjects.size()) {
                double value = 0;
                if (!cell.empty() && (!read_number(cell, value) || !(value >= 0 && value < 1e15))) {
                    if (!whole) return data;
                    fail(name, ": line ", number, ": ", data.subjects[times.size()], " is '", cell,
                         "', no time in nanoseconds");
                }
                times.push_back(value * 1e-9);
            } else {
                fail(name, ": line ", number, ": more than ", data.inputs.size() + data.subjects.size(), " cells");
            }
        }
        if (times.size() < data.subjects.size()) {
            if (!whole) return data;
            fail(name, ": line ", number, ": ", configuration.size() + times.size(), " cells where the header has ",
                 data.inputs.size() + data.subjects.size());
        }
        if (!whole) return data;  // its last number may be cut short
        data.add(configuration, times);
        if (data.inputs.size() == ConvConfiguration::columns.size() && !learn::plausible(data.conv(data.rows() - 1))) {
            fail(name, ": line ", number, ": is no convolution");
        }
    }
    if (data.inputs.empty()) fail(name, ": no header");
    return data;
}

[[nodiscard]] inline std::string lines_about(std::map<std::string, std::string> const& about) {
    std::string text;
    for (auto const& [key, value] : about) text += join("# ", key, ": ", value, '\n');
    return text;
}
/// Returns the time in nanoseconds, rounded, and at least 1: 0 stands for "not measured".
[[nodiscard]] inline std::int64_t nanoseconds(double seconds) {
    return std::max<std::int64_t>(1, std::llround(seconds * 1e9));
}

/// The lines before the rows: what parse_dataset reads back.
[[nodiscard]] inline std::string header_of(Dataset const& data) {
    std::string text = learn::lines_about(data.about);
    const char* comma = "";
    for (auto const* columns : {&data.inputs, &data.subjects}) {
        for (std::string const& column : *columns) text += join(std::exchange(comma, ","), column);
    }
    return text + '\n';
}
/// One row as a line; times are rounded to nanoseconds, but none that was measured to zero.
[[nodiscard]] inline std::string line_of(std::span<const int> configuration, std::span<const double> seconds) {
    std::string text;
    const char* comma = "";
    for (const int value : configuration) text += join(std::exchange(comma, ","), value);
    for (const double time : seconds) {
        text += join(',', time > 0 ? learn::nanoseconds(time) : 0);
    }
    return text + '\n';
}
[[nodiscard]] inline std::string to_csv(Dataset const& data) {
    std::string text = header_of(data);
    for (std::size_t row = 0; row < data.rows(); ++row) text += line_of(data.configuration(row), data.times(row));
    return text;
}

/// Rows for training, for deciding when to stop, and for judging: 80, 10 and 10 % of them, drawn by the seed.
struct Split {
    std::vector<std::size_t> train, validation, test;
};
/// Positions 0 to count - 1 in an order drawn by the seed, the same with every standard library.
[[nodiscard]] inline std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::mt19937_64 generator(seed);
    for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[generator() % left]);
    return order;
}
[[nodiscard]] inline Split split_rows(std::size_t rows, std::uint64_t seed) {
    const std::vector<std::size_t> order = shuffled(rows, seed);
    const auto validation = order.begin() + static_cast<std::ptrdiff_t>(rows * 8 / 10),
               test = order.begin() + static_cast<std::ptrdiff_t>(rows * 9 / 10);
    return {{order.begin(), validation}, {validation, test}, {test, order.end()}};
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
