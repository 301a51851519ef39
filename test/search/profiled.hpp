// Profiles whose times are computed at once, and what must hold of a file that several measured.
#pragma once

#include <primsel/search/run_profile.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace profiled {

namespace ps = primsel;

inline ps::learn::Dataset header_of(std::vector<std::string> inputs, std::vector<std::string> subjects) {
    ps::learn::Dataset header;
    header.inputs = std::move(inputs), header.subjects = std::move(subjects);
    header.about = {{"arch", "a"}, {"cpu", "c"}, {"version", "1"}};
    return header;
}
inline ps::learn::Dataset convolutions() {
    return header_of(ps::learn::ConvConfiguration::inputs(), {"fast", "slow", "none"});
}
inline ps::learn::Dataset layouts() { return header_of(ps::learn::TensorConfiguration::inputs(), {"chw-to-hwc"}); }

inline std::vector<std::vector<int>> rows_of(std::size_t count, bool of_layouts) {
    std::vector<std::vector<int>> rows;
    for (int i = 1; i <= static_cast<int>(count); ++i) {
        rows.push_back(of_layouts ? std::vector{i, 7} : std::vector{i, 2 * i, 14, 3, 1});
    }
    return rows;
}
/// Whole nanoseconds, as a file keeps them; 0 for the subject "none".
inline std::vector<double> times_of(std::span<const int> row, std::size_t subjects) {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < subjects; ++i)
        seconds.push_back(i == 2 ? 0 : (row[0] * 100 + static_cast<int>(i)) * 1e-9);
    return seconds;
}
inline ps::search::ProfileWork work_of() {
    return {.machine = {.arch = "a",
                        .cpu = "c",
                        .compiler = "g",
                        .version = "1",
                        .lanes = 8,
                        .reference_seconds = 1e-5,
                        .peak_flops = 1e11},
            .tables = {{"layouts", layouts().inputs, layouts().subjects, 1e-5},
                       {"convolutions", convolutions().inputs, convolutions().subjects, 1e-5}},
            .sample = "s"};
}
/// Each row is there once, with its times.
inline void check_whole(ps::learn::Dataset const& data, std::vector<std::vector<int>> const& rows) {
    CHECK(data.rows() == rows.size());
    for (std::vector<int> const& row : rows) {
        std::size_t found = 0;
        for (std::size_t i = 0; i < data.rows(); ++i) {
            if (!std::ranges::equal(data.configuration(i), row)) continue;
            ++found;
            const std::vector<double> wanted = times_of(row, data.subjects.size());
            for (std::size_t s = 0; s < wanted.size(); ++s) CHECK(data.time(i, s) == doctest::Approx(wanted[s]));
        }
        CHECK(found == 1);
    }
}
/// The tables of work_of in two files.
struct Files {
    ps::learn::DatasetFile layouts, convolutions;
    explicit Files(std::string const& folder)
        : layouts(folder + "l.csv", profiled::layouts()), convolutions(folder + "c.csv", profiled::convolutions()) {}
    [[nodiscard]] ps::search::ProfileRun run(std::size_t rows, std::size_t at_once) {
        return ps::search::ProfileRun(
            {{"layouts", &layouts, rows_of(rows / 2, true)}, {"convolutions", &convolutions, rows_of(rows, false)}},
            at_once);
    }
};

}  // namespace profiled
