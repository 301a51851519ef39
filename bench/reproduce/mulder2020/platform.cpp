#include "platform.hpp"

#include <primsel/cost/features.hpp>
#include <primsel/io/file.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/subjects.hpp>
#include <primsel/learn/tables.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/make_plan.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <variant>

namespace reproduce {
namespace {

/// FNV-1a.
void add_to_fingerprint(std::uint64_t& sum, std::string_view text) {
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
}

ps::learn::Dataset without_identities(ps::learn::Dataset const& layouts) {
    std::vector<std::string> changes = layouts.subjects;
    std::erase_if(changes, ps::learn::is_identity);
    return ps::learn::with_subjects(layouts, changes);
}

void load(Platform& platform, std::string const& name, std::string const& prefix, std::uint64_t& fingerprint) {
    platform.name = name;
    const auto read = [&](const char* what) {
        const std::string path = prefix + what;
        const ps::SharedBytes file = ps::read_file(path);
        add_to_fingerprint(fingerprint, file.text());
        return ps::learn::parse_dataset(path, file.text());
    };
    platform.primitives = read("_primitives.csv");
    platform.layouts = without_identities(read("_layouts.csv"));
    if (platform.primitives.inputs.size() != 5 || platform.layouts.inputs.size() != 2) {
        ps::fail(prefix, "_*.csv: primitives are measured by c, k, im, f, s and layouts by c, im");
    }
    if (platform.primitives.rows() < 100 || platform.layouts.rows() < 30) {
        ps::fail(prefix, "_*.csv: ", platform.primitives.rows(), " and ", platform.layouts.rows(),
                 " rows are too few to learn from");
    }
    platform.features = ps::learn::features_of(platform.primitives);
    platform.times = ps::learn::log_times(platform.primitives);
    platform.layout_features = ps::learn::features_of(platform.layouts);
    platform.layout_times = ps::learn::log_times(platform.layouts);
    platform.families = ps::learn::labels_of(platform.primitives);
    platform.kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    for (ps::PrimitiveEntry const& entry : platform.kernels.primitives) {
        if (platform.primitives.find(entry.id) < platform.primitives.subjects.size()) platform.entries.push_back(entry);
    }
    platform.kernels.primitives = platform.entries;
    platform.truth = Truth(platform.primitives, platform.layouts);
}

}  // namespace

Truth::Truth(ps::learn::Dataset const& primitives, ps::learn::Dataset const& layouts)
    : recorded_(std::make_shared<const ps::learn::Recorded>(primitives, layouts)) {
    for (std::size_t row = 0; row < primitives.rows(); ++row) {
        const ps::ConvShape shape = primitives.conv(row);
        if (shape.fh == 1 && shape.stride_h > 1) strided_shortcuts_ = true;
    }
}

ps::ConvShape Truth::as_measured(ps::ConvShape const& shape) const {
    ps::ConvShape measured = shape;
    if (!strided_shortcuts_ && shape.fh == 1 && shape.fw == 1) measured.stride_h = measured.stride_w = 1;
    measured.pad_top = measured.pad_bottom = shape.fh / 2;
    measured.pad_left = measured.pad_right = shape.fw / 2;
    return measured;
}

void Truth::predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries,
                    std::span<double> seconds) const {
    std::vector<ps::ConvQuery> measured(queries.begin(), queries.end());
    for (ps::ConvQuery& query : measured) query.shape = as_measured(query.shape);
    recorded_->predict(kernels, std::span<const ps::ConvQuery>(measured), seconds);
}

World::World(std::string const& folder, Machines const& machines)
    : published(machines.source == "intel" && machines.target == "amd") {
    struct stat status {};
    const std::string inside = folder + "/mulder2020";
    const std::string files = ::stat(inside.c_str(), &status) == 0 ? inside : folder;
    std::uint64_t sum = 0xcbf29ce484222325;
    load(source, published ? "Intel" : machines.source, files + '/' + machines.source, sum);
    load(target, published ? "AMD" : machines.target, files + '/' + machines.target, sum);
    if (source.primitives.configurations != target.primitives.configurations) {
        ps::fail(files, ": the configurations of ", source.name, " and ", target.name,
                 " differ, so that tests of one may be training of the other");
    }
    for (std::string const& id : target.primitives.subjects) {
        if (source.primitives.find(id) == source.primitives.subjects.size()) {
            ps::fail(files, ": ", id, " was measured on ", target.name, " and not on ", source.name);
        }
    }
    std::array<char, 16> digits{};
    fingerprint.assign(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), sum, 16).ptr);

    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        networks.push_back({std::string(entry.name), ps::simplify(entry.graph())});
    }
    for (Platform* platform : {&source, &target}) {
        for (Network const& one : networks) {
            const ps::Plan plan = ps::make_plan(one.graph, platform->kernels, platform->truth, ps::ExactPbqp{});
            if (plan.total_seconds >= ps::learn::Recorded::beyond) {
                ps::fail(files, ": ", platform->name, " has no measurement for a layer of ", one.name);
            }
            platform->best.push_back(plan.total_seconds);
        }
    }
}

std::size_t World::network(std::string_view name) const {
    const auto found = std::ranges::find(networks, name, &Network::name);
    if (found == networks.end()) ps::fail("reproduce: no network is named ", name);
    return static_cast<std::size_t>(found - networks.begin());
}

ps::FloatTable features_of_layers(World const& world, std::string_view network) {
    ps::Graph const& graph = world.networks[world.network(network)].graph;
    ps::FloatTable features(0, ps::ConvFeatures::count);
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const auto* conv = std::get_if<ps::ConvParams>(&graph[i].layer);
        if (conv == nullptr) continue;
        const ps::ConvShape shape = ps::conv_shape_of(graph, i);
        const auto row = ps::ConvFeatures::of(world.target.truth.as_measured(shape));
        features.values.insert(features.values.end(), row.begin(), row.end());
    }
    return features;
}

}  // namespace reproduce
