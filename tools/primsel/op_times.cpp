#include "op_times.hpp"

#include "session.hpp"

#include <primsel/io/file.hpp>
#include <primsel/io/table_file.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/learn/op_times_file.hpp>
#include <primsel/measure/drawn_layers.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/measure/op_sampler.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/version.hpp>

#include <filesystem>

namespace cli {

std::map<std::string, std::string> about_here() {
    return {{"arch", std::string(kernels().arch)},
            {"compiler", compiler()},
            {"cpu", ps::cpu_name()},
            {"version", std::string(ps::version)}};
}

std::vector<std::string> networks_of(std::vector<std::string> names) {
    if (!names.empty() && names != std::vector<std::string>{"all"}) return names;
    names.clear();
    for (ListedNetwork const& network : list_networks()) names.push_back(network.name);
    return names;
}

namespace {
ps::Graph graph_of_network(std::string const& name) {
    ModelOptions options;
    options.net = name;
    return ps::simplify(open_model(options).graph);
}
}  // namespace

std::vector<ps::OpTime> time_ops(std::vector<std::string> const& networks, Progress& progress) {
    ps::measure::OpSampler sampler(kernels(), ps::measure::Measured(15));
    for (std::string const& network : networks) {
        sampler.add(graph_of_network(network));
        progress.tick();
    }
    return sampler.times();
}

void write_op_times(std::string const& path, std::vector<std::string> const& networks, std::size_t drawn,
                    std::uint64_t seed) {
    Progress progress("other layers", networks.size() + drawn);
    auto about = about_here();
    if (std::filesystem::exists(path)) {
        // The speeds of the machine vary from run to run; those of the file stay.
        std::map<std::string, std::string> known;
        const ps::SharedBytes there = ps::read_file(path);
        static_cast<void>(ps::parse_table<ps::learn::OpTimesFormat>(path, there.text(), known));
        known.insert(about.begin(), about.end());
        about = std::move(known);
    }
    if (!about.contains("vector_flops")) ps::learn::add_about(about, kernels().machine(1));
    ps::TableFile<ps::learn::OpTimesFormat> file(path, about);
    ps::measure::OpSampler sampler(kernels(), ps::measure::LeastMeasured{});
    for (ps::OpTime const& time : file.rows()) sampler.skip(time);
    std::size_t written = 0;
    const auto write = [&] {
        for (; written < sampler.times().size(); ++written) file.append(sampler.times()[written]);
        progress.tick();
    };
    for (std::string const& network : networks) {
        sampler.add(graph_of_network(network));
        write();
    }
    for (std::size_t i = 0; i < drawn; ++i) {
        const ps::measure::DrawnLayer layer = ps::measure::draw_layer(seed, i);
        sampler.add(layer);
        if (i % 4 == 0) sampler.add_transforms(layer.inputs[0]);
        write();
    }
}

OpSamples op_samples_of(std::vector<std::string> const& paths, std::string_view arch) {
    OpSamples result;
    for (std::string const& path : paths) {
        const ps::SharedBytes file = ps::read_file(path);
        if (!ps::learn::is_op_times(file.text())) continue;
        std::map<std::string, std::string> about;
        const auto samples = ps::learn::op_samples(path, file.text(), about);
        if (about["arch"] != arch) continue;
        result.samples.insert(result.samples.end(), samples.begin(), samples.end());
        std::string const& known = result.about["cpu"];
        if (!known.empty() && known != about["cpu"]) about["cpu"] = known + ", " + about["cpu"];
        result.about = std::move(about);
    }
    if (result.samples.empty()) ps::fail("--profiles: no times of other layers of the instruction set ", arch);
    return result;
}

}  // namespace cli
