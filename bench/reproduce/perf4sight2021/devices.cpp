#include "devices.hpp"

#include <primsel/core/csv.hpp>
#include <primsel/forecast/network_profile_file.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/io/file.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/onnx/import.hpp>

#include <cmath>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

namespace reproduce {
namespace {

/// network,level,batch,pass,ms,spread,allocated_bytes,reserved_bytes: memory is what was allocated.
struct StepFormat {
    struct Row {
        std::string network, pass;
        int level = 0, batch = 1;
        double ms = 0, bytes = 0;
    };
    static constexpr std::string_view columns = "network,level,batch,pass,ms,spread,allocated_bytes,reserved_bytes";
    static std::string line(Row const& row) {
        return ps::join(row.network, ',', row.level, ',', row.batch, ',', row.pass, ',', row.ms, ",0,", row.bytes,
                        ",0");
    }
    static bool read(std::vector<std::string> const& cells, Row& row) {
        if (cells.size() != 8) return false;
        row.network = cells[0], row.pass = cells[3];
        return ps::read_number(cells[1], row.level) && ps::read_number(cells[2], row.batch) &&
               ps::read_number(cells[4], row.ms) && ps::read_number(cells[6], row.bytes);
    }
};

std::vector<Device> read_gpu(std::string const& path, std::string const& networks) {
    const ps::SharedBytes table = ps::read_file(path);
    std::map<std::string, std::string> about;
    std::map<std::pair<std::string, int>, ps::Graph> graphs;
    Device training{"H100, training", {}}, inference{"H100, inference", {}};
    for (StepFormat::Row const& row : ps::parse_table<StepFormat>(path, table.text(), about)) {
        const std::pair key(row.network, row.level);
        if (!graphs.contains(key)) {
            const std::string file =
                ps::join(networks, '/', row.network, row.level < 10 ? "-0" : "-", row.level, ".onnx");
            graphs.emplace(key, ps::load_onnx(file).graph);
        }
        const bool trains = row.pass == "training";
        (trains ? training : inference)
            .rows.push_back({row.network,
                             row.level,
                             {ps::forecast::network_load(graphs.at(key), row.batch, trains), row.ms / 1e3, row.bytes}});
    }
    return {std::move(training), std::move(inference)};
}

}  // namespace

std::vector<Device> read_devices(std::string const& folder, std::string const& networks) {
    std::vector<Device> devices;
    const std::string layers = folder + "/perf4sight2021/layers.csv", times = folder + "/perf4sight2021/tx2.csv",
                      steps = folder + "/perf4sight_h100/steps.csv";
    if (std::filesystem::exists(times)) {
        const ps::SharedBytes a = ps::read_file(layers), b = ps::read_file(times);
        devices.push_back({"TX2, training", ps::forecast::join_levels(layers, a.text(), times, b.text())});
    }
    if (!networks.empty() && std::filesystem::exists(steps)) {
        for (Device& device : read_gpu(steps, networks)) devices.push_back(std::move(device));
    }
    return devices;
}

std::vector<Device> read_own_devices(std::string const& folder) {
    const std::string path = folder + "/levels.csv";
    if (!std::filesystem::exists(path)) return {};
    const ps::SharedBytes table = ps::read_file(path);
    std::map<std::string, std::string> about;
    std::map<std::pair<std::string, double>, ps::Graph> graphs;
    Device training{"own trainer, one thread", {}}, inference{"own engine, one thread", {}};
    for (ps::forecast::ProfileRow const& row : ps::forecast::parse_network_profile(path, table.text(), about)) {
        ps::forecast::ProfileKey const& key = row.key;
        if (row.measured.outcome != ps::forecast::NetworkMeasurement::Outcome::measured) continue;
        const std::pair of(key.network, key.thinning.level);
        if (!graphs.contains(of)) {
            const ps::Graph whole = ps::resized(ps::zoo::graph(key.network, 1), {3, key.height, key.width});
            graphs.emplace(of, ps::forecast::thinned(whole, key.thinning));
        }
        Device& device = key.training ? training : inference;
        device.rows.push_back({key.network,
                               static_cast<int>(std::lround(100 * key.thinning.level)),
                               {ps::forecast::network_load(graphs.at(of), key.batch, key.training),
                                row.measured.seconds, static_cast<double>(row.measured.held_bytes)}});
        device.plans.push_back({row.measured.predicted_seconds, static_cast<double>(row.measured.forecast_bytes)});
    }
    std::vector<Device> devices;
    if (!training.rows.empty()) devices.push_back(std::move(training));
    if (!inference.rows.empty()) devices.push_back(std::move(inference));
    return devices;
}

}  // namespace reproduce
