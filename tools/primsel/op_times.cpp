#include "op_times.hpp"

#include "session.hpp"

#include <primsel/io/file.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/learn/op_times_file.hpp>
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

std::vector<ps::OpTime> time_ops(std::vector<std::string> const& networks, Progress& progress) {
    ps::measure::OpSampler sampler(kernels(), ps::measure::Measured(15));
    for (std::string const& network : networks) {
        ModelOptions options;
        options.net = network;
        sampler.add(ps::simplify(open_model(options).graph));
        progress.tick();
    }
    return sampler.times();
}

void write_op_times(std::string const& path, std::vector<std::string> const& networks) {
    if (std::filesystem::exists(path)) return;
    Progress progress("other layers", networks.size());
    auto about = about_here();
    ps::learn::add_about(about, kernels().machine());
    std::string text;
    for (auto const& [key, value] : about) text += ps::join("# ", key, ": ", value, '\n');
    text += ps::join(ps::learn::OpTimesFormat::columns, '\n');
    for (ps::OpTime const& time : time_ops(networks, progress)) text += ps::learn::OpTimesFormat::line(time) + '\n';
    ps::write_file(path, text);
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
