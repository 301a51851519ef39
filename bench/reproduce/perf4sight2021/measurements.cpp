#include "measurements.hpp"

#include <primsel/core/csv.hpp>
#include <primsel/io/file.hpp>

#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace reproduce {
namespace {

/// Cells by line, without the line of titles.
std::vector<std::vector<std::string>> lines_of(std::string const& path, std::size_t columns) {
    const ps::SharedBytes file = ps::read_file(path);
    std::map<std::string, std::string> about;
    ps::core::CsvLines lines({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}, about);
    std::vector<std::vector<std::string>> result;
    bool title = true;
    for (std::string_view line; lines.next(line);) {
        std::vector<std::string> cells = ps::core::cells_of(line);
        if (cells.size() != columns) ps::fail(path, ": line ", lines.number(), " has ", cells.size(), " cells");
        if (!std::exchange(title, false)) result.push_back(std::move(cells));
    }
    return result;
}
template <class T>
T number(std::string const& path, std::string const& cell) {
    T value{};
    if (!ps::read_number(cell, value)) ps::fail(path, ": '", cell, "' is no number");
    return value;
}
double number_or_nan(std::string const& path, std::string const& cell) {
    return cell.empty() ? std::numeric_limits<double>::quiet_NaN() : number<double>(path, cell);
}

}  // namespace

std::vector<Measurement> read_measurements(std::string const& folder) {
    const std::string layers = folder + "/layers.csv", times = folder + "/tx2.csv";
    std::map<std::pair<std::string, int>, std::vector<ps::forecast::ConvSizes>> networks;
    for (auto const& cells : lines_of(layers, 13)) {
        const auto at = [&](std::size_t i) { return number<int>(layers, cells[i]); };
        networks[{cells[0], at(1)}].push_back({.n = at(3),
                                               .m = at(4),
                                               .kernel_h = at(5),
                                               .kernel_w = at(6),
                                               .groups = at(10),
                                               .in_h = at(11),
                                               .in_w = at(11),
                                               .out_h = at(12),
                                               .out_w = at(12)});
    }
    std::vector<Measurement> result;
    for (auto const& cells : lines_of(times, 5)) {
        const auto found = networks.find({cells[0], number<int>(times, cells[1])});
        if (found == networks.end()) continue;
        result.push_back({cells[0], found->first.second,
                          ps::forecast::network_load(found->second, number<int>(times, cells[2])),
                          number_or_nan(times, cells[3]), number_or_nan(times, cells[4])});
    }
    return result;
}

}  // namespace reproduce
