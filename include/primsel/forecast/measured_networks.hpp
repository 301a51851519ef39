// Tables of measurements that other programs made: of network files, or of convolutions as perf4sight publishes them.
#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/forecast/forecaster.hpp>
#include <primsel/io/table_file.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// The measurement of a network file at a batch; NaN for what was not measured.
struct MeasuredNetwork {
    std::string network;
    int batch = 1;
    double seconds = 0, bytes = 0;
};

namespace detail {

/// Reads a positive number; an empty cell is NaN.
[[nodiscard]] inline bool read_measured(std::string const& cell, double factor, double& value) {
    value = std::numeric_limits<double>::quiet_NaN();
    if (cell.empty()) return true;
    if (!read_number(cell, value) || !is_finite(value) || !(value > 0)) return false;
    value *= factor;
    return true;
}
[[nodiscard]] inline std::string measured_text(double value) {
    return is_nan(value) ? std::string() : core::exact_text(value);
}

}  // namespace detail

/// A TableFormat. An empty cell was not measured.
struct MeasuredNetworkFormat {
    using Row = MeasuredNetwork;
    static constexpr std::string_view columns = "network,batch,seconds,bytes";

    [[nodiscard]] static std::string line(MeasuredNetwork const& row) {
        return join(row.network, ',', row.batch, ',', detail::measured_text(row.seconds), ',',
                    detail::measured_text(row.bytes));
    }
    [[nodiscard]] static bool read(std::vector<std::string> const& cells, MeasuredNetwork& row) {
        if (cells.size() != 4 || cells[0].empty()) return false;
        row.network = cells[0];
        return read_number(cells[1], row.batch) && row.batch > 0 && detail::read_measured(cells[2], 1, row.seconds) &&
               detail::read_measured(cells[3], 1, row.bytes);
    }
};

/// The measurement of a thinned network of which a second table has the convolutions; NaN for what was not measured.
struct MeasuredLevel {
    std::string network;
    int level = 0, batch = 1;
    double seconds = 0, bytes = 0;
};

/// A TableFormat: perf4sight's times in ms and memory in MB.
struct MeasuredLevelFormat {
    using Row = MeasuredLevel;
    static constexpr std::string_view columns = "network,level,bs,latency_ms,memory_mb";

    [[nodiscard]] static std::string line(MeasuredLevel const& row) {
        return join(row.network, ',', row.level, ',', row.batch, ',', detail::measured_text(row.seconds * 1e3), ',',
                    detail::measured_text(row.bytes / 1e6));
    }
    [[nodiscard]] static bool read(std::vector<std::string> const& cells, MeasuredLevel& row) {
        if (cells.size() != 5 || cells[0].empty()) return false;
        row.network = cells[0];
        return read_number(cells[1], row.level) && read_number(cells[2], row.batch) && row.batch > 0 &&
               detail::read_measured(cells[3], 1e-3, row.seconds) && detail::read_measured(cells[4], 1e6, row.bytes);
    }
};

/// A convolution of a network and level: n filters over m channels, kernel, stride, padding, groups, and the side of
/// its square input and output.
struct LevelConv {
    std::string network;
    int level = 0, layer = 0, stride = 1, pad_h = 0, pad_w = 0;
    ConvSizes sizes;
};

/// A TableFormat.
struct LevelConvFormat {
    using Row = LevelConv;
    static constexpr std::string_view columns = "network,level,layer,n,m,kh,kw,s,ph,pw,g,ip,op";

    [[nodiscard]] static std::string line(LevelConv const& row) {
        ConvSizes const& conv = row.sizes;
        return join(row.network, ',', row.level, ',', row.layer, ',', conv.n, ',', conv.m, ',', conv.kernel_h, ',',
                    conv.kernel_w, ',', row.stride, ',', row.pad_h, ',', row.pad_w, ',', conv.groups, ',', conv.in_h,
                    ',', conv.out_h);
    }
    [[nodiscard]] static bool read(std::vector<std::string> const& cells, LevelConv& row) {
        if (cells.size() != 13 || cells[0].empty()) return false;
        row.network = cells[0];
        ConvSizes& conv = row.sizes;
        const std::array numbers{&row.level,  &row.layer, &conv.n,    &conv.m,      &conv.kernel_h, &conv.kernel_w,
                                 &row.stride, &row.pad_h, &row.pad_w, &conv.groups, &conv.in_h,     &conv.out_h};
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (!read_number(cells[i + 1], *numbers[i])) return false;
        }
        conv.in_w = conv.in_h, conv.out_w = conv.out_h;
        const std::array sizes{conv.n, conv.m, conv.kernel_h, conv.kernel_w, conv.groups, conv.in_h, conv.out_h};
        return std::ranges::min(sizes) > 0 && std::max(conv.kernel_h, conv.kernel_w) < 1 << 16 &&
               conv.m % conv.groups == 0 && conv.n % conv.groups == 0;
    }
};

/// A measurement with its load, and its network's name and level.
struct ProfiledLevel {
    std::string network;
    int level = 0;
    ProfiledNetwork profile;
};

/// Joins perf4sight's tables: the rows whose convolutions are known. Networks named alexnet, squeezenet or vgg have no
/// batch norms, all others one behind each convolution, which the tables do not say. Throws error, naming file and
/// line, for what is no such table, and where no row has convolutions.
[[nodiscard]] inline std::vector<ProfiledLevel> join_levels(std::string const& layers_name, std::string_view layers,
                                                            std::string const& times_name, std::string_view times,
                                                            bool training = true) {
    std::map<std::string, std::string> about;
    std::map<std::pair<std::string, int>, std::vector<ConvSizes>> networks;
    // The layers between convolutions follow from the order of these.
    std::vector<LevelConv> convolutions = parse_table<LevelConvFormat>(layers_name, layers, about);
    std::ranges::stable_sort(convolutions, {}, &LevelConv::layer);
    for (LevelConv const& row : convolutions) {
        networks[{row.network, row.level}].push_back(row.sizes);
    }
    std::vector<ProfiledLevel> result;
    for (MeasuredLevel const& row : parse_table<MeasuredLevelFormat>(times_name, times, about)) {
        const auto found = networks.find({row.network, row.level});
        if (found == networks.end()) continue;
        const bool plain = row.network.starts_with("alexnet") || row.network.starts_with("squeezenet") ||
                           row.network.starts_with("vgg");
        result.push_back({row.network,
                          row.level,
                          {network_load(found->second, row.batch, training, !plain), row.seconds, row.bytes}});
    }
    if (result.empty()) fail(times_name, ": has no row of a network in ", layers_name);
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::forecast
