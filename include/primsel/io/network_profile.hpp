#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/forecast/measure_network.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/io/line_file.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// What is measured: a network by name or file, its images' size, how it was thinned, its batch and pass.
struct ProfileKey {
    std::string network;
    int height = 0, width = 0;
    Thinning thinning;
    int batch = 1;
    bool training = false;
    friend bool operator==(ProfileKey const&, ProfileKey const&) = default;
};
struct ProfileRow {
    ProfileKey key;
    NetworkMeasurement measured;
};

namespace detail {

inline constexpr std::string_view network_profile_columns =
    "network,height,width,level,strategy,seed,batch,pass,outcome,predicted_seconds,seconds,forecast_bytes,held_bytes,"
    "resident_bytes";
inline constexpr std::array<std::string_view, 3> profile_outcomes{"measured", "too large", "failed"};

[[nodiscard]] inline std::string exact_number(double value) {
    std::array<char, 40> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}
[[nodiscard]] inline std::string profile_line(ProfileRow const& row) {
    ProfileKey const& key = row.key;
    NetworkMeasurement const& of = row.measured;
    return join(key.network, ',', key.height, ',', key.width, ',', exact_number(key.thinning.level), ',',
                key.thinning.strategy, ',', key.thinning.seed, ',', key.batch, ',',
                key.training ? "training" : "inference", ',', profile_outcomes[static_cast<std::size_t>(of.outcome)],
                ',', exact_number(of.predicted_seconds), ',', exact_number(of.seconds), ',', of.forecast_bytes, ',',
                of.held_bytes, ',', of.resident_bytes, '\n');
}
/// Whether the cells are a row.
[[nodiscard]] inline bool read_row(std::vector<std::string> const& cells, ProfileRow& row) {
    if (cells.size() != 14) return false;
    ProfileKey& key = row.key;
    NetworkMeasurement& of = row.measured;
    key.network = cells[0], key.thinning.strategy = cells[4], key.training = cells[7] == "training";
    const auto outcome = std::ranges::find(profile_outcomes, cells[8]);
    if (outcome == profile_outcomes.end()) return false;
    of.outcome = static_cast<NetworkMeasurement::Outcome>(outcome - profile_outcomes.begin());
    const bool numbers = read_number(cells[1], key.height) && read_number(cells[2], key.width) &&
                         read_number(cells[3], key.thinning.level) && read_number(cells[5], key.thinning.seed) &&
                         read_number(cells[6], key.batch) && read_number(cells[9], of.predicted_seconds) &&
                         read_number(cells[10], of.seconds) && read_number(cells[11], of.forecast_bytes) &&
                         read_number(cells[12], of.held_bytes) && read_number(cells[13], of.resident_bytes);
    const bool known = std::ranges::find(thinning_strategies, cells[4]) != thinning_strategies.end();
    return numbers && known && (key.training || cells[7] == "inference") && !key.network.empty() && key.height > 0 &&
           key.width > 0 && key.batch > 0 && key.thinning.level >= 0 && key.thinning.level < 1 &&
           std::isfinite(of.predicted_seconds) && of.predicted_seconds >= 0 && std::isfinite(of.seconds) &&
           of.seconds >= 0;
}

}  // namespace detail

/// The rows of a CSV text, whose lines that begin with # are added to `about`. Throws error, naming the file and the
/// line, for anything else.
[[nodiscard]] inline std::vector<ProfileRow> parse_network_profile(std::string const& name, std::string_view text,
                                                                   std::map<std::string, std::string>& about) {
    detail::CsvLines lines(text, about);
    std::string_view line;
    if (!lines.next(line)) return {};
    if (line != detail::network_profile_columns) {
        fail(name, ":", lines.number(), ": expected the columns ", detail::network_profile_columns);
    }
    std::vector<ProfileRow> rows;
    while (lines.next(line)) {
        ProfileRow row;
        if (!detail::read_row(detail::cells_of(line), row)) {
            fail(name, ":", lines.number(), ": is no line of ", detail::network_profile_columns);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

/// A table of measured networks that grows: what was measured is kept at once, and known when the file is opened again.
class NetworkProfileFile {
public:
    /// Opens or creates the file. `about` says where its rows come from. Throws error where the file comes from
    /// elsewhere, or cannot be written.
    NetworkProfileFile(std::string const& path, std::map<std::string, std::string> const& about) : file_(path) {
        const std::string_view whole = std::string_view(file_.text()).substr(0, file_.whole());
        std::map<std::string, std::string> found;
        rows_ = parse_network_profile(path, whole, found);
        if (whole.find(detail::network_profile_columns) == std::string_view::npos) {
            file_.cut(0);
            std::string header;
            for (auto const& [key, value] : about) header += join("# ", key, ": ", value, '\n');
            file_.append(join(header, detail::network_profile_columns, '\n'));
            return;
        }
        for (auto const& [key, value] : about) {
            const auto other = found.find(key);
            const std::string there = other == found.end() ? "not known" : other->second;
            if (there != value) fail(path, ": cannot append to it: its ", key, " is ", there, ", here ", value);
        }
        file_.cut(whole.size());
    }

    /// What was in the file when it was opened, and every row since.
    [[nodiscard]] std::vector<ProfileRow> const& rows() const { return rows_; }
    [[nodiscard]] bool has(ProfileKey const& key) const {
        return std::ranges::find(rows_, key, &ProfileRow::key) != rows_.end();
    }
    /// Throws error when the line cannot be written.
    void append(ProfileRow const& row) {
        if (row.key.network.find_first_of(",\n\r#") != std::string::npos) {
            fail(file_.path(), ": network ", row.key.network, " has a name that no cell of a CSV file can hold");
        }
        file_.append(detail::profile_line(row));
        rows_.push_back(row);
    }

private:
    LineFile file_;
    std::vector<ProfileRow> rows_;
};

}  // namespace primsel::inline PRIMSEL_ABI
