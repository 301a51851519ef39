#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// The time of one convolution of any shape with one primitive. A Dataset has square ones, each with all primitives.
struct Sample {
    ConvShape shape;
    std::string primitive;
    double seconds = 0;

    friend bool operator==(Sample const&, Sample const&) = default;
};
/// Samples, and what was true of all of them (cpu, arch, ...).
struct Samples {
    std::map<std::string, std::string> about;
    std::vector<Sample> all;
    /// Other timed things, by names without commas.
    std::map<std::string, double> others = {};
};

namespace detail {

/// The numbers of a shape in the order of the text's columns.
template <class Shape>
[[nodiscard]] auto numbers_of(Shape& s) {
    return std::array{&s.c,        &s.k,         &s.h,          &s.w,          &s.fh,
                      &s.fw,       &s.stride_h,  &s.stride_w,   &s.pad_top,    &s.pad_bottom,
                      &s.pad_left, &s.pad_right, &s.dilation_h, &s.dilation_w, &s.groups};
}
inline constexpr std::string_view sample_columns =
    "c,k,h,w,fh,fw,stride_h,stride_w,pad_top,pad_bottom,pad_left,pad_right,dilation_h,dilation_w,groups,primitive,ns";

}  // namespace detail

/// As text: lines "# key: value", a header, a line a sample, and lines "name,time" of what else there is; times in
/// nanoseconds.
[[nodiscard]] inline std::string to_csv(Samples const& samples) {
    using learn::nanoseconds;
    std::string text = join(learn::lines_about(samples.about), detail::sample_columns, '\n');
    for (auto const& [shape, primitive, seconds] : samples.all) {
        for (const int* number : detail::numbers_of(shape)) text += join(*number, ',');
        text += join(primitive, ',', nanoseconds(seconds), '\n');
    }
    for (auto const& [name, seconds] : samples.others) text += join(name, ',', nanoseconds(seconds), '\n');
    return text;
}

/// Parses the text that to_csv writes; errors call it `name`. A last line that is cut short is left out. Throws error,
/// naming the line, for anything else.
[[nodiscard]] inline Samples parse_samples(std::string_view name, std::string_view text) {
    Samples samples;
    bool header = false;
    core::CsvLines lines(text, samples.about);
    for (std::string_view line; lines.next(line);) {
        const std::size_t number = lines.number();
        if (!lines.whole()) continue;
        if (!std::exchange(header, true)) {
            if (line != detail::sample_columns) fail(name, ": line ", number, ": its columns are not those of samples");
            continue;
        }
        const std::vector<std::string> cells = core::cells_of(line);
        Sample sample;
        const auto numbers = detail::numbers_of(sample.shape);
        bool good = cells.size() == 2 || cells.size() == numbers.size() + 2;
        for (std::size_t i = 0; good && i + 2 < cells.size(); ++i) good = read_number(cells[i], *numbers[i]);
        std::int64_t nanoseconds = 0;
        good = good && read_number(cells.back(), nanoseconds) && nanoseconds > 0 &&
               nanoseconds < std::int64_t{1'000'000'000'000'000};
        if (!good) fail(name, ": line ", number, ": is no sample");
        const double seconds = 1e-9 * static_cast<double>(nanoseconds);
        if (cells.size() == 2) {
            samples.others[cells[0]] = seconds;
            continue;
        }
        if (!learn::plausible(sample.shape)) fail(name, ": line ", number, ": is no convolution");
        sample.primitive = cells[numbers.size()];
        sample.seconds = seconds;
        samples.all.push_back(std::move(sample));
    }
    if (!header) fail(name, ": no header");
    return samples;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
