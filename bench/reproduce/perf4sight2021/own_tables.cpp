#include "own_tables.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/forecast/forecaster.hpp>
#include <primsel/forecast/network_profile_file.hpp>
#include <primsel/io/file.hpp>
#include <primsel/search/supernet.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace reproduce {
namespace {

using ps::forecast::ProfileRow;

std::vector<ProfileRow> read_rows(std::string const& path) {
    if (!std::filesystem::exists(path)) return {};
    std::map<std::string, std::string> about;
    const ps::SharedBytes file = ps::read_file(path);
    std::vector<ProfileRow> rows = ps::forecast::parse_network_profile(path, file.text(), about);
    std::erase_if(rows, [](ProfileRow const& row) {
        return row.measured.outcome != ps::forecast::NetworkMeasurement::Outcome::measured;
    });
    return rows;
}

double mean(std::vector<double> const& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}
double deviation(std::vector<double> const& values) {
    double squares = 0;
    const double middle = mean(values);
    for (const double value : values) squares += (value - middle) * (value - middle);
    return std::sqrt(squares / static_cast<double>(values.size()));
}
/// In percent.
double off(double forecast, double measured) { return 100 * std::abs(forecast - measured) / measured; }
std::vector<double> each(std::vector<ProfileRow> const& rows, auto const& value) {
    std::vector<double> values;
    for (ProfileRow const& row : rows) values.push_back(value(row));
    return values;
}
double memory_off(ProfileRow const& row) {
    return off(static_cast<double>(row.measured.forecast_bytes), static_cast<double>(row.measured.held_bytes));
}
double resident_off(ProfileRow const& row) {
    return off(static_cast<double>(row.measured.forecast_bytes), static_cast<double>(row.measured.resident_bytes));
}
double time_off(ProfileRow const& row) { return off(row.measured.predicted_seconds, row.measured.seconds); }
double ratio(ProfileRow const& row) { return row.measured.seconds / row.measured.predicted_seconds; }
std::optional<double> known(double value) { return value; }

void networks_table(Report& report, std::vector<ProfileRow> const& rows) {
    std::vector<std::string> names;
    for (ProfileRow const& row : rows) {
        if (std::ranges::find(names, row.key.network) == names.end()) names.push_back(row.key.network);
    }
    std::vector<Row> lines;
    std::vector<std::vector<double>> columns(5);
    for (std::string const& name : names) {
        std::vector<ProfileRow> own, others;
        for (ProfileRow const& row : rows) (row.key.network == name ? own : others).push_back(row);
        const double factor = others.empty() ? 1 : ps::median(each(others, ratio));
        const double values[] = {mean(each(own, memory_off)), mean(each(own, resident_off)), mean(each(own, time_off)),
                                 mean(each(own, ratio)), mean(each(own, [&](ProfileRow const& row) {
                                     return off(factor * row.measured.predicted_seconds, row.measured.seconds);
                                 }))};
        Row line{name, known(static_cast<double>(own.size()))};
        for (std::size_t i = 0; i < 5; ++i) line.emplace_back(values[i]), columns[i].push_back(values[i]);
        lines.push_back(std::move(line));
    }
    Row last{"mean", ""};
    for (auto const& column : columns) last.emplace_back(mean(column));
    lines.push_back(std::move(last));
    report.table("own_networks",
                 "Steps of training of our own trainer, forecast by their plans without one sample: mean error, %",
                 {"network", "rows", "memory held", "memory of the process", "time", "measured / forecast",
                  "time, one factor of the others"},
                 lines, true);
}

void strategies_table(Report& report, std::vector<ProfileRow> const& rows) {
    const std::vector<double> megabytes = each(rows,
                                               [](ProfileRow const& row) {
                                                   return static_cast<double>(row.measured.held_bytes) / 1e6;
                                               }),
                              milliseconds =
                                  each(rows, [](ProfileRow const& row) { return row.measured.seconds * 1e3; });
    const double factor = ps::median(each(rows, ratio));
    report.table(
        "own_strategies",
        ps::join(rows.size(),
                 " ways to take half of MobileNetV2's filters, on our own trainer (paper: errors of 1.32 "
                 "and 9.90 %; 4423 +- 1597 MB, 1741 +- 871 ms at batch 80 of 224x224)"),
        {"", "mean", "standard deviation", "mean error of the forecast, %", "with the median's factor"},
        {{"memory, MB", known(mean(megabytes)), known(deviation(megabytes)), known(mean(each(rows, memory_off))), ""},
         {"time, ms", known(mean(milliseconds)), known(deviation(milliseconds)), known(mean(each(rows, time_off))),
          known(mean(each(rows,
                          [&](ProfileRow const& row) {
                              return off(factor * row.measured.predicted_seconds, row.measured.seconds);
                          })))}},
        true);
}

/// The sub-network of a row, whose name is its text behind a colon.
std::vector<ps::forecast::ConvSizes> sizes_of(ProfileRow const& row) {
    const ps::search::ResNetSupernet supernet{.sizes = {64, 80, 96}};
    ps::search::Subnet subnet;
    for (const char digit : row.key.network.substr(row.key.network.find(':') + 1)) {
        subnet.push_back(static_cast<std::uint8_t>(digit - '0'));
    }
    ps::search::check_subnet(supernet.choices(), subnet);
    return supernet.convolutions(subnet);
}

void subnets_table(Report& report, std::vector<ProfileRow> const& rows) {
    std::vector<std::string> order;
    for (ProfileRow const& row : rows) {
        if (std::ranges::find(order, row.key.network) == order.end()) order.push_back(row.key.network);
    }
    const std::set<std::string> shown(order.begin(), order.begin() + std::min<std::ptrdiff_t>(25, std::ssize(order)));
    std::vector<ps::forecast::ProfiledNetwork> profile;
    std::map<int, std::vector<double>> ratios;
    for (ProfileRow const& row : rows) {
        if (!shown.contains(row.key.network)) continue;
        profile.push_back({ps::forecast::network_load(sizes_of(row), row.key.batch, false), row.measured.seconds,
                           static_cast<double>(row.measured.held_bytes)});
        ratios[row.key.batch].push_back(ratio(row));
    }
    const auto learned = ps::forecast::Forecaster<>::fit(profile);
    std::vector<double> memory, memory_by_plan, time, time_by_plan, time_by_factor;
    for (ProfileRow const& row : rows) {
        if (shown.contains(row.key.network)) continue;
        const ps::forecast::NetworkForecast of =
            learned.forecast(ps::forecast::network_load(sizes_of(row), row.key.batch, false));
        memory.push_back(off(of.bytes->value, static_cast<double>(row.measured.held_bytes)));
        memory_by_plan.push_back(memory_off(row));
        time.push_back(off(of.seconds->value, row.measured.seconds));
        time_by_plan.push_back(time_off(row));
        time_by_factor.push_back(
            off(ps::median(ratios[row.key.batch]) * row.measured.predicted_seconds, row.measured.seconds));
    }
    if (memory.empty()) return;
    report.table(
        "own_subnets",
        ps::join("Inference of sub-networks of OFA-ResNet50, ", shown.size(), " of ", order.size(),
                 " train: mean error over the others, % (goals 1 and 3)"),
        {"", "memory", "time"},
        {{"features, learned", known(mean(memory)), known(mean(time))},
         {"the plan alone", known(mean(memory_by_plan)), known(mean(time_by_plan))},
         {"the plan, times a factor a batch that is learned", known(mean(memory_by_plan)), known(mean(time_by_factor))},
         {"paper", known(1.8), known(4.4)}},
        true);
}

}  // namespace

void own_tables(Report& report, std::string const& folder) {
    const std::vector<ProfileRow> networks = read_rows(folder + "/networks.csv"),
                                  strategies = read_rows(folder + "/strategies.csv"),
                                  subnets = read_rows(folder + "/subnets.csv");
    report.heading("Our own trainer and engine");
    report.paragraph(
        "Measured by reproduce_perf4sight2021_own on one thread. Memory held is what engine and trainer say when they "
        "are made; of the process is by how much it grew.");
    if (!networks.empty()) networks_table(report, networks);
    if (!strategies.empty()) strategies_table(report, strategies);
    if (!subnets.empty()) subnets_table(report, subnets);
}

}  // namespace reproduce
