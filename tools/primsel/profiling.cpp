#include "profiling.hpp"

#include "op_times.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/cost/features.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/learn/tables.hpp>
#include <primsel/machine/all_precisions.hpp>
#include <primsel/measure/choose_rows.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/version.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <variant>

namespace cli {
namespace {

ps::Kernels kernels_with(std::span<const ps::PrimitiveEntry> primitives) {
    ps::Kernels some = kernels();
    some.primitives = primitives;
    return some;
}

/// The convolutions of those networks; of all where none is named.
std::vector<ps::ConvShape> convolutions_of(std::vector<std::string> names, std::optional<Size> size) {
    std::vector<ps::ConvShape> shapes;
    for (std::string const& name : networks_of(std::move(names))) {
        ModelOptions options;
        options.net = name;
        options.size = size;
        const ps::Graph graph = ps::simplify(graph_of(open_model(options)));
        for (std::size_t i = 0; i < graph.size(); ++i) {
            if (std::holds_alternative<ps::ConvParams>(graph[i].layer)) shapes.push_back(ps::conv_shape_of(graph, i));
        }
    }
    return shapes;
}

/// Those first that tell most of the networks' own layers: as many as anyone takes to another machine.
std::vector<ps::learn::ConvConfiguration> most_telling_first(std::vector<ps::learn::ConvConfiguration> sample,
                                                             std::span<const ps::ConvShape> layers) {
    constexpr std::size_t most = 200;
    ps::learn::Dataset candidates;
    candidates.inputs = ps::learn::ConvConfiguration::inputs();
    for (ps::learn::ConvConfiguration const& at : sample) candidates.add(at.row(), {});
    std::set<std::array<float, ps::ConvFeatures::count>> distinct;
    for (ps::ConvShape const& layer : layers) distinct.insert(ps::ConvFeatures::of(layer));
    ps::FloatTable targets(0, ps::ConvFeatures::count);
    for (auto const& row : distinct) targets.values.insert(targets.values.end(), row.begin(), row.end());
    const std::vector<std::size_t> chosen = ps::measure::choose_rows(ps::learn::features_of(candidates), targets, most);
    std::vector<ps::learn::ConvConfiguration> ordered;
    for (const std::size_t row : chosen) ordered.push_back(sample[row]);
    for (std::size_t row = 0; row < sample.size(); ++row) {
        if (std::ranges::find(chosen, row) == chosen.end()) ordered.push_back(sample[row]);
    }
    return ordered;
}

template <class Configuration>
std::vector<std::vector<int>> rows_of(std::vector<Configuration> const& sample, std::size_t count) {
    std::vector<std::vector<int>> rows;
    for (Configuration const& at : sample) {
        if (rows.size() == count) break;
        const auto row = at.row();
        rows.emplace_back(row.begin(), row.end());
    }
    return rows;
}

}  // namespace

std::vector<ps::PrimitiveEntry> chosen_primitives(bool training, std::vector<std::string> const& names) {
    const auto all = (training ? training_kernels() : kernels()).primitives;
    if (names.empty()) return {all.begin(), all.end()};
    const auto is_named = [](ps::PrimitiveEntry const& entry, std::string const& name) {
        return entry.id == name || to_string_view(entry.family) == name;
    };
    for (std::string const& name : names) {
        if (std::ranges::none_of(all, [&](auto const& entry) { return is_named(entry, name); })) {
            ps::fail("--primitives ", name, ": no family or primitive is named so; see primsel list primitives");
        }
    }
    std::vector<ps::PrimitiveEntry> chosen;
    for (ps::PrimitiveEntry const& entry : all) {
        if (std::ranges::any_of(names, [&](auto const& name) { return is_named(entry, name); }))
            chosen.push_back(entry);
    }
    return chosen;
}

Profiling::Profiling(std::vector<ps::PrimitiveEntry> primitives, ps::measure::ProfileOptions const& options)
    : primitives_(std::move(primitives)), options_(options), profiler_(kernels_with(primitives_), options_) {}

std::map<std::string, std::string> Profiling::about() const {
    std::map<std::string, std::string> about{{"arch", std::string(kernels().arch)},
                                             {"compiler", compiler()},
                                             {"cpu", ps::cpu_name()},
                                             {"images", std::to_string(options_.images)},
                                             {"reference_ns", std::to_string(std::llround(profiler_.nominal() * 1e9))},
                                             {"version", std::string(ps::version)}};
    ps::learn::add_about(about,
                         ps::this_machine_in_all_precisions<ps::default_arch>());  // as it is while this is measured
    return about;
}

std::vector<double> Profiling::measure(std::span<const int> row) {
    if (row.size() == ps::learn::TensorConfiguration::columns.size()) {
        return profiler_.transforms(ps::learn::TensorConfiguration::of_row(row));
    }
    return profiler_.convolution(ps::learn::ConvConfiguration::of_row(row));
}

std::vector<ProfilingTable> tables_of(ProfilingOptions const& options, Profiling& profiling) {
    const std::vector<ps::ConvShape> shapes = convolutions_of(options.networks, options.size);
    std::vector<ProfilingTable> tables;
    if (!options.layouts_out.empty()) {
        ProfilingTable& layouts = tables.emplace_back(ProfilingTable{"layouts", options.layouts_out});
        layouts.header.inputs = ps::learn::TensorConfiguration::inputs();
        layouts.header.subjects = profiling.profiler().layout_pairs();
        layouts.rows = rows_of(ps::measure::sample_tensors(shapes, options.sample.seed), options.count);
    }
    ProfilingTable& table = tables.emplace_back(ProfilingTable{"convolutions", options.out});
    table.header.inputs = ps::learn::ConvConfiguration::inputs();
    table.header.subjects = profiling.profiler().primitives();
    std::vector<ps::learn::ConvConfiguration> sample = ps::measure::sample_convolutions(shapes, options.sample);
    if (options.telling) sample = most_telling_first(std::move(sample), shapes);
    table.rows = rows_of(sample, options.count);
    for (ProfilingTable& each : tables) each.header.about = profiling.about();
    return tables;
}

double reference_ns_of(std::string const& path, ps::learn::DatasetFile const& file, ProfilingOptions const& options) {
    const auto known = file.data().about.find("reference_ns");
    if (known == file.data().about.end()) return 0;
    const std::string wanted = std::to_string(std::llround(options.reference_ns));
    if (options.reference_ns > 0 && known->second != wanted) {
        ps::fail(path, ": its times are for --reference-ns ", known->second, ", not ", wanted);
    }
    return std::strtod(known->second.c_str(), nullptr);
}

}  // namespace cli
