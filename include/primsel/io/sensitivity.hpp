#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/io/line_file.hpp>
#include <primsel/prune/sensitivity.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

inline constexpr std::string_view sensitivity_columns = "layer,sparsity,channels,left,accuracy,predicted_seconds";

[[nodiscard]] inline std::string sensitivity_number(double value) {
    std::array<char, 40> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}
[[nodiscard]] inline std::string sensitivity_line(SensitivityPoint const& point) {
    return join(point.layer, ',', sensitivity_number(point.sparsity), ',', point.channels, ',', point.left, ',',
                sensitivity_number(point.accuracy), ',', sensitivity_number(point.seconds), '\n');
}

}  // namespace detail

/// The points of a CSV text, whose lines that begin with # are added to `about`. Throws error, naming the file and the
/// line, for anything else.
[[nodiscard]] inline std::vector<SensitivityPoint> parse_sensitivity(std::string const& name, std::string_view text,
                                                                     std::map<std::string, std::string>& about) {
    detail::CsvLines lines(text, about);
    std::string_view line;
    if (!lines.next(line)) return {};
    if (line != detail::sensitivity_columns) {
        fail(name, ":", lines.number(), ": expected the columns ", detail::sensitivity_columns);
    }
    std::vector<SensitivityPoint> points;
    while (lines.next(line)) {
        std::vector<std::string> cells = detail::cells_of(line);
        SensitivityPoint point;
        const bool sound = cells.size() == 6 && read_number(cells[1], point.sparsity) &&
                           read_number(cells[2], point.channels) && read_number(cells[3], point.left) &&
                           read_number(cells[4], point.accuracy) && read_number(cells[5], point.seconds) &&
                           std::isfinite(point.sparsity) && std::isfinite(point.accuracy) &&
                           std::isfinite(point.seconds);
        if (!sound) fail(name, ":", lines.number(), ": is no line of ", detail::sensitivity_columns);
        point.layer = std::move(cells[0]);
        points.push_back(std::move(point));
    }
    return points;
}

/// A file of points that grows: what was computed is kept at once, and known when the file is opened again.
class SensitivityFile {
public:
    /// Opens or creates the file. `about` says what its points are of. Throws error where the file is of something
    /// else, names a layer with a comma, or cannot be written.
    SensitivityFile(std::string const& path, std::map<std::string, std::string> const& about) : file_(path) {
        const std::string_view whole = std::string_view(file_.text()).substr(0, file_.whole());
        std::map<std::string, std::string> found;
        points_ = parse_sensitivity(path, whole, found);
        // Of a file that ends within its first lines nothing is known.
        if (whole.find(detail::sensitivity_columns) == std::string_view::npos) {
            if (!found.empty() && !std::ranges::includes(about, found)) fail(path, ": is not of this network");
            file_.cut(0);
            std::string header;
            for (auto const& [key, value] : about) header += join("# ", key, ": ", value, '\n');
            file_.append(join(header, detail::sensitivity_columns, '\n'));
            return;
        }
        for (auto const& [key, value] : about) {
            const auto other = found.find(key);
            const std::string there = other == found.end() ? "not known" : other->second;
            if (there != value) fail(path, ": cannot append to it: its ", key, " is ", there, ", here ", value);
        }
        file_.cut(whole.size());
    }

    /// What was in the file when it was opened, and every point since.
    [[nodiscard]] std::vector<SensitivityPoint> const& points() const { return points_; }
    /// Throws error when the line cannot be written.
    void append(SensitivityPoint const& point) {
        if (point.layer.find_first_of(",\n\r#") != std::string::npos) {
            fail(file_.path(), ": layer ", point.layer, " has a name that no cell of a CSV file can hold");
        }
        file_.append(detail::sensitivity_line(point));
        points_.push_back(point);
    }

private:
    LineFile file_;
    std::vector<SensitivityPoint> points_;
};

}  // namespace primsel::inline PRIMSEL_ABI
