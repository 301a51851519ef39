#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/io/table_file.hpp>
#include <primsel/prune/sensitivity.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The TableFormat of sensitivity points.
struct SensitivityFormat {
    using Row = SensitivityPoint;
    static constexpr std::string_view columns = "layer,sparsity,channels,left,accuracy,predicted_seconds";

    [[nodiscard]] static std::string line(SensitivityPoint const& point) {
        using core::exact_text;
        return join(point.layer, ',', exact_text(point.sparsity), ',', point.channels, ',', point.left, ',',
                    exact_text(point.accuracy), ',', exact_text(point.seconds));
    }
    [[nodiscard]] static bool read(std::vector<std::string> const& cells, SensitivityPoint& point) {
        if (cells.size() != 6) return false;
        point.layer = cells[0];
        return read_number(cells[1], point.sparsity) && read_number(cells[2], point.channels) &&
               read_number(cells[3], point.left) && read_number(cells[4], point.accuracy) &&
               read_number(cells[5], point.seconds) && is_finite(point.sparsity) && is_finite(point.accuracy) &&
               is_finite(point.seconds);
    }
};

/// A file of points, each of which is written as soon as it is computed.
using SensitivityFile = TableFile<SensitivityFormat>;

/// Reads sensitivity points from a CSV text. Throws error as parse_table does.
[[nodiscard]] inline std::vector<SensitivityPoint> parse_sensitivity(std::string const& name, std::string_view text,
                                                                     std::map<std::string, std::string>& about) {
    return parse_table<SensitivityFormat>(name, text, about);
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
