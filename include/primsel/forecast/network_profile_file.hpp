#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/forecast/measure_network.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/io/table_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// The subject of a measurement: a network by name or file, its images' size, how it was thinned, its batch and pass.
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

/// A TableFormat.
struct NetworkProfileFormat {
    using Row = ProfileRow;
    static constexpr std::string_view columns =
        "network,height,width,level,strategy,seed,batch,pass,outcome,predicted_seconds,seconds,forecast_bytes,held_"
        "bytes,"
        "resident_bytes";
    static constexpr std::array<std::string_view, 3> outcomes{"measured", "too large", "failed"};

    [[nodiscard]] static std::string line(ProfileRow const& row) {
        using core::exact_text;
        ProfileKey const& key = row.key;
        NetworkMeasurement const& of = row.measured;
        return join(key.network, ',', key.height, ',', key.width, ',', exact_text(key.thinning.level), ',',
                    key.thinning.strategy, ',', key.thinning.seed, ',', key.batch, ',',
                    key.training ? "training" : "inference", ',', outcomes[static_cast<std::size_t>(of.outcome)], ',',
                    exact_text(of.predicted_seconds), ',', exact_text(of.seconds), ',', of.forecast_bytes, ',',
                    of.held_bytes, ',', of.resident_bytes);
    }
    [[nodiscard]] static bool read(std::vector<std::string> const& cells, ProfileRow& row) {
        if (cells.size() != 14) return false;
        ProfileKey& key = row.key;
        NetworkMeasurement& of = row.measured;
        key.network = cells[0], key.thinning.strategy = cells[4], key.training = cells[7] == "training";
        const auto outcome = std::ranges::find(outcomes, cells[8]);
        if (outcome == outcomes.end()) return false;
        of.outcome = static_cast<NetworkMeasurement::Outcome>(outcome - outcomes.begin());
        const bool numbers = read_number(cells[1], key.height) && read_number(cells[2], key.width) &&
                             read_number(cells[3], key.thinning.level) && read_number(cells[5], key.thinning.seed) &&
                             read_number(cells[6], key.batch) && read_number(cells[9], of.predicted_seconds) &&
                             read_number(cells[10], of.seconds) && read_number(cells[11], of.forecast_bytes) &&
                             read_number(cells[12], of.held_bytes) && read_number(cells[13], of.resident_bytes);
        const bool known = std::ranges::find(thinning_strategies, cells[4]) != thinning_strategies.end();
        return numbers && known && (key.training || cells[7] == "inference") && !key.network.empty() &&
               key.height > 0 && key.width > 0 && key.batch > 0 && key.thinning.level >= 0 && key.thinning.level < 1 &&
               is_finite(of.predicted_seconds) && of.predicted_seconds >= 0 && is_finite(of.seconds) && of.seconds >= 0;
    }
};

/// Measurements that are kept as they are made.
using NetworkProfileFile = TableFile<NetworkProfileFormat>;

[[nodiscard]] inline bool has_row(std::span<const ProfileRow> rows, ProfileKey const& key) {
    return std::ranges::find(rows, key, &ProfileRow::key) != rows.end();
}
/// Parses a network profile; see parse_table for the arguments and errors.
[[nodiscard]] inline std::vector<ProfileRow> parse_network_profile(std::string const& name, std::string_view text,
                                                                   std::map<std::string, std::string>& about) {
    return parse_table<NetworkProfileFormat>(name, text, about);
}

}  // namespace primsel::inline PRIMSEL_ABI::forecast
