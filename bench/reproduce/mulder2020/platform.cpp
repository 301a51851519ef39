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
#include <map>
#include <set>
#include <utility>
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

bool exists(std::string const& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0;
}

void read(Platform& platform, std::string const& name, std::string const& prefix, std::uint64_t& fingerprint) {
    platform.name = name;
    const bool of_profile = exists(prefix + ".csv");  // as `primsel profile` names them
    const auto read = [&](const char* what) {
        const std::string path = prefix + what;
        const ps::SharedBytes file = ps::read_file(path);
        add_to_fingerprint(fingerprint, file.text());
        return ps::learn::parse_dataset(path, file.text());
    };
    platform.primitives = read(of_profile ? ".csv" : "_primitives.csv");
    platform.layouts = without_identities(read(of_profile ? "-layouts.csv" : "_layouts.csv"));
    if (platform.primitives.inputs.size() != 5 || platform.layouts.inputs.size() != 2) {
        ps::fail(prefix, ": primitives are measured by c, k, im, f, s and layouts by c, im");
    }
    if (platform.primitives.rows() < 50 || platform.layouts.rows() < 30) {
        ps::fail(prefix, ": ", platform.primitives.rows(), " rows of primitives and ", platform.layouts.rows(),
                 " of layouts are too few to learn from");
    }
}

/// Computes what follows from the measurements.
void prepare(Platform& platform) {
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

/// At most five of them, and how many more.
std::string list(std::vector<std::string> const& items) {
    constexpr std::size_t most = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(items.size(), most); ++i) text += ps::join(i == 0 ? "" : "; ", items[i]);
    return items.size() > most ? ps::join(text, " and ", items.size() - most, " more") : text;
}

/// The convolutions of a network.
std::vector<ps::ConvShape> layers_of(Network const& network) {
    std::vector<ps::ConvShape> layers;
    for (std::size_t i = 0; i < network.graph.size(); ++i) {
        if (std::get_if<ps::ConvParams>(&network.graph[i].layer) == nullptr) continue;
        layers.push_back(ps::conv_shape_of(network.graph, i));
    }
    return layers;
}

/// Seconds to run each primitive once that was measured for the convolution.
double seconds_of_all(Platform const& platform, ps::ConvShape const& shape) {
    std::vector<ps::ConvQuery> queries;
    for (std::size_t p = 0; p < platform.entries.size(); ++p) queries.push_back({shape, p});
    std::vector<double> seconds(queries.size());
    platform.truth.predict(platform.kernels, std::span<const ps::ConvQuery>(queries), std::span(seconds));
    double sum = 0;
    for (const double one : seconds) sum += one < ps::learn::Recorded::beyond ? one : 0;
    return sum;
}

}  // namespace

Truth::Truth(ps::learn::Dataset const& primitives, ps::learn::Dataset const& layouts)
    : recorded_(std::make_shared<const ps::learn::Recorded>(primitives, layouts)) {
    for (std::size_t row = 0; row < primitives.rows(); ++row) {
        const ps::ConvShape shape = primitives.conv(row);
        strides_.emplace(shape.fh, shape.stride_h);
    }
}

ps::ConvShape Truth::as_measured(ps::ConvShape const& shape) const {
    ps::ConvShape measured = shape;
    if (!knows_stride(shape)) measured.stride_h = measured.stride_w = 1;
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

ps::learn::Split Platform::split(std::uint64_t seed) const {
    const ps::learn::Split all = ps::learn::split_rows(row_of.size(), seed);
    const auto here = [&](std::vector<std::size_t> const& some) {
        std::vector<std::size_t> rows;
        for (const std::size_t at : some) {
            if (row_of[at]) rows.push_back(*row_of[at]);
        }
        return rows;
    };
    return {here(all.train), here(all.validation), here(all.test)};
}

World::World(std::string const& folder, Machines const& machines)
    : published(machines.source == "intel" && machines.target == "amd") {
    const std::string inside = folder + "/mulder2020";
    const std::string files = exists(inside) ? inside : folder;
    std::uint64_t sum = 0xcbf29ce484222325;
    read(source, published ? "Intel" : machines.source, files + '/' + machines.source, sum);
    read(target, published ? "AMD" : machines.target, files + '/' + machines.target, sum);
    std::array<char, 16> digits{};
    fingerprint.assign(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), sum, 16).ptr);

    keep_common_primitives();
    for (Platform* platform : {&source, &target}) prepare(*platform);
    match_configurations();
    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        networks.push_back({std::string(entry.name), ps::simplify(entry.graph())});
    }
    for (Platform* platform : {&source, &target}) {
        for (Network const& one : networks) plan_by_measurements(*platform, one);
        std::string kinds;
        for (auto const& [f, s] : stand_ins(*platform))
            kinds += ps::join(kinds.empty() ? "" : ", ", f, " x ", f, " with stride ", s);
        if (!kinds.empty()) {
            left_out.push_back(ps::join(platform->name, " was not measured by kernels of ", kinds,
                                        ": such layers have the times of the same ones with stride 1."));
        }
    }
}

void World::keep_common_primitives() {
    std::vector<std::string> common, unknown;
    for (std::string const& id : target.primitives.subjects) {
        const bool known = source.primitives.find(id) < source.primitives.subjects.size();
        (known ? common : unknown).push_back(id);
    }
    if (common.empty()) ps::fail(source.name, " and ", target.name, " have no primitive in common");
    if (!unknown.empty()) {
        left_out.push_back(ps::join("Primitives that only ", target.name, " has are left out: ", list(unknown), '.'));
        target.primitives = ps::learn::with_subjects(target.primitives, common);
    }
    std::vector<std::string> missing;
    for (std::string const& id : source.primitives.subjects) {
        if (std::ranges::find(common, id) == common.end()) missing.push_back(id);
    }
    if (!missing.empty()) {
        left_out.push_back(ps::join(target.name, " does not have ", list(missing), ": no plan there chooses them."));
    }
}

void World::match_configurations() {
    const auto of_row = [](Platform const& platform, std::size_t row) {
        return ps::learn::ConvConfiguration::of_row(platform.primitives.configuration(row));
    };
    std::map<ps::learn::ConvConfiguration, std::size_t> position;
    for (Platform const* platform : {&source, &target}) {
        for (std::size_t row = 0; row < platform->primitives.rows(); ++row) {
            const ps::learn::ConvConfiguration configuration = of_row(*platform, row);
            if (position.emplace(configuration, configurations.size()).second) configurations.push_back(configuration);
        }
    }
    std::size_t both = 0;
    for (Platform* platform : {&source, &target}) {
        platform->row_of.assign(configurations.size(), std::nullopt);
        for (std::size_t row = 0; row < platform->primitives.rows(); ++row) {
            platform->row_of[position.at(of_row(*platform, row))] = row;
        }
    }
    for (std::size_t i = 0; i < configurations.size(); ++i) both += source.row_of[i] && target.row_of[i] ? 1U : 0U;
    if (both < configurations.size()) {
        left_out.push_back(ps::join(source.name, " was measured by ", source.primitives.rows(), " configurations, ",
                                    target.name, " by ", target.primitives.rows(), ", of which ", both,
                                    " are the same. Neither learns from a configuration that the other is tested by."));
    }
}

/// The kinds of layers that others stand for on the platform: kernel sizes and strides.
std::set<std::pair<int, int>> World::stand_ins(Platform const& platform) const {
    std::set<std::pair<int, int>> kinds;
    for (Network const& network : networks) {
        for (ps::ConvShape const& shape : layers_of(network)) {
            if (!platform.truth.knows_stride(shape)) kinds.emplace(shape.fh, shape.stride_h);
        }
    }
    return kinds;
}

void World::plan_by_measurements(Platform& platform, Network const& network) {
    std::vector<std::string> missing;
    double profiling = 0;
    std::set<ps::learn::ConvConfiguration> unknown;
    for (ps::ConvShape const& shape : layers_of(network)) {
        const auto layer = ps::learn::ConvConfiguration::of(platform.truth.as_measured(shape)).value();
        const double seconds = seconds_of_all(platform, layer.shape());
        profiling += seconds;
        if (seconds > 0 || !unknown.insert(layer).second) continue;
        missing.push_back(ps::join(layer.c, " channels to ", layer.k, " at ", layer.im, " x ", layer.im,
                                   " pixels, kernel ", layer.f, ", stride ", layer.s));
    }
    platform.profiling.push_back(profiling);
    platform.best.emplace_back();
    if (!missing.empty()) {
        left_out.push_back(ps::join(network.name, " is left out on ", platform.name,
                                    ", where nothing was measured for ", list(missing), '.'));
        return;
    }
    const ps::Plan plan = ps::make_plan(network.graph, platform.kernels, platform.truth, ps::ExactPbqp{});
    if (plan.total_seconds < ps::learn::Recorded::beyond) {
        platform.best.back() = plan.total_seconds;
    } else {
        left_out.push_back(ps::join(network.name, " is left out on ", platform.name,
                                    ", where changes of layout between its layers were not measured."));
    }
}

std::size_t World::network(std::string_view name) const {
    const auto found = std::ranges::find(networks, name, &Network::name);
    if (found == networks.end()) ps::fail("reproduce: no network is named ", name);
    return static_cast<std::size_t>(found - networks.begin());
}

ps::FloatTable features_of_layers(World const& world, std::string_view network) {
    ps::FloatTable features(0, ps::ConvFeatures::count);
    for (ps::ConvShape const& shape : layers_of(world.networks[world.network(network)])) {
        const auto row = ps::ConvFeatures::of(world.target.truth.as_measured(shape));
        features.values.insert(features.values.end(), row.begin(), row.end());
    }
    return features;
}

}  // namespace reproduce
