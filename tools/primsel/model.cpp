#include "model.hpp"

#include "text.hpp"

#include <primsel/core/timer.hpp>
#include <primsel/io/state_dict.hpp>
#include <primsel/network/fingerprint.hpp>
#include <primsel/network/multiply_adds.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/with_batch.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/onnx/replace_weights.hpp>
#include <primsel/plan/precision_file.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace cli {
namespace {

std::vector<std::int64_t> dims_of(ps::Graph const& graph, std::size_t node) {
    const ps::Shape shape = graph[node].shape;
    return {graph.batch(), shape.c, shape.h, shape.w};
}

// --- networks by name

Source open_zoo(ModelOptions const& options) {
    if (std::ranges::find(ps::zoo::names, options.net) == ps::zoo::names.end()) {
        const std::vector<std::string> names(ps::zoo::names.begin(), ps::zoo::names.end());
        ps::fail(options.net, ": neither an .onnx file nor a network; ", did_you_mean(options.net, names), "there are ",
                 list_of_names(names));
    }
    if (!options.dims.empty()) ps::fail("--dims ", options.dims[0].first, ": only an .onnx file leaves sizes open");
    ps::Graph graph = ps::zoo::graph(options.net, options.batch == 0 ? 1 : options.batch);
    if (options.size) {
        graph = ps::resized(graph, {graph[graph.input()].shape.c, options.size->h, options.size->w});
    }
    Source source{options, std::move(graph), std::nullopt, {}};
    for (const std::size_t node : source.graph.inputs()) {
        const std::vector<std::int64_t> dims = dims_of(source.graph, node);
        source.inputs.push_back({.name = source.graph[node].name,
                                 .dims = std::vector<std::optional<std::int64_t>>(dims.begin(), dims.end())});
    }
    return source;
}

Model load_zoo(Source const& source) {
    ps::Graph const& graph = source.graph;
    ModelOptions const& options = source.options;
    Model model{.name = options.net,
                .graph = graph,
                .simplified = ps::Graph(),
                .weights = options.weights.empty() ? ps::random_weights(graph, options.seed)
                                                   : ps::read_state_dict(options.weights, graph),
                .inputs = {},
                .outputs = {}};
    for (const std::size_t node : graph.inputs()) model.inputs.push_back({graph[node].name, dims_of(graph, node)});
    for (const std::size_t node : graph.outputs()) model.outputs.push_back({graph[node].name, dims_of(graph, node)});
    return model;
}

// --- files

/// An error of the importer, with the command line's names of options.
std::string in_words_of_the_command_line(std::string text) {
    for (auto const& [from, to] : {std::pair<std::string_view, std::string_view>{"OnnxOptions::dims", "--dims"},
                                   {"OnnxOptions::image", "--size"},
                                   {"OnnxOptions::values", "--input"}}) {
        for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
            text.replace(at, from.size(), to);
        }
    }
    return text;
}

/// With what --batch and --size say of the dimensions that the file leaves open.
std::vector<std::optional<std::int64_t>> filled(std::vector<std::optional<std::int64_t>> dims,
                                                ModelOptions const& options) {
    const bool has_images = !dims.empty() && (!dims[0] || dims.size() > 1);
    if (has_images && options.batch > 0) dims[0] = options.batch;
    if (dims.size() == 4 && options.size) {
        if (!dims[2]) dims[2] = options.size->h;
        if (!dims[3]) dims[3] = options.size->w;
    }
    return dims;
}

/// Throws error when --dims says something else of an image than --batch or --size.
void check_dims(std::string const& name, std::vector<std::int64_t> const& dims, ModelOptions const& options) {
    if (dims.size() != 4) return;
    if (options.batch > 0 && dims[0] != options.batch) {
        ps::fail("--dims ", name, '=', ps::to_string(dims), ": its batch is ", dims[0], ", but --batch ",
                 options.batch);
    }
    if (options.size && (dims[2] != options.size->h || dims[3] != options.size->w)) {
        ps::fail("--dims ", name, '=', ps::to_string(dims), ": its images are ", dims[2], 'x', dims[3], ", but --size ",
                 options.size->h, 'x', options.size->w);
    }
}

Source open_onnx(ModelOptions const& options) {
    Source source{options, ps::Graph(), ps::read_file(options.net), {}};
    ps::onnx::refuse_foreign_model(options.net, source.file->text());
    ps::onnx::ModelProto proto;
    try {
        proto = ps::onnx::read_model(source.file->text());
    } catch (std::exception const& fault) {
        ps::fail(options.net, ": not an ONNX model: ", std::string_view(fault.what()));
    }
    for (ps::onnx::ValueInfoProto const& info : proto.inputs) {
        // Before version 4 of the format, initializers were among the inputs.
        const bool has_default = std::ranges::find(proto.initializers, info.name, &ps::onnx::InitializerProto::name) !=
                                 proto.initializers.end();
        DeclaredInput declared{
            .name = std::string(info.name), .dims = std::nullopt, .type = info.type, .has_default = has_default};
        if (info.has_shape) declared.dims = has_default ? info.dims : filled(info.dims, options);
        for (auto const& [name, dims] : options.dims) {
            if (name != info.name) continue;
            check_dims(name, dims, options);
            declared.dims.emplace(dims.begin(), dims.end());
        }
        source.inputs.push_back(std::move(declared));
    }
    for (auto const& [name, dims] : options.dims) {
        const auto declared = std::ranges::find(source.inputs, name, &DeclaredInput::name);
        if (declared == source.inputs.end() || declared->has_default) {
            ps::fail("--dims ", name, ": ", options.net, " has no input of that name");
        }
    }
    return source;
}

ps::NpyType npy_type(ps::OnnxType type) {
    switch (type) {
        case ps::OnnxType::float64:
            return ps::NpyType::float64;
        case ps::OnnxType::int64:
            return ps::NpyType::int64;
        case ps::OnnxType::uint64:
            return ps::NpyType::uint64;
        case ps::OnnxType::uint32:
            return ps::NpyType::uint32;
        case ps::OnnxType::int32:
            return ps::NpyType::int32;
        case ps::OnnxType::int16:
            return ps::NpyType::int16;
        case ps::OnnxType::uint16:
            return ps::NpyType::uint16;
        case ps::OnnxType::int8:
            return ps::NpyType::int8;
        case ps::OnnxType::uint8:
            return ps::NpyType::uint8;
        case ps::OnnxType::boolean:
            return ps::NpyType::boolean;
        case ps::OnnxType::float16:
            return ps::NpyType::float16;
        default:
            return ps::NpyType::float32;  // of bfloat16 as well, which NumPy does not have
    }
}

std::vector<Port> ports_of(std::vector<ps::OnnxValueInfo> const& infos) {
    std::vector<Port> ports;
    for (ps::OnnxValueInfo const& info : infos) ports.push_back({info.name, info.dims, npy_type(info.type)});
    return ports;
}

ps::OnnxOptions onnx_options(ModelOptions const& options, std::vector<GivenInput> const& given) {
    ps::OnnxOptions onnx{.batch = options.batch, .image = {0, 0}, .dims = {}, .values = {}};
    if (options.size) onnx.image = {options.size->h, options.size->w};
    // Weights that a training wrote are those of a network that is trained.
    onnx.trains = options.trains || !options.weights.empty();
    for (auto const& [name, dims] : options.dims) onnx.dims.emplace(name, dims);
    for (GivenInput const& input : given) onnx.values.emplace(input.name, input.tensor);
    return onnx;
}
/// Chooses the sizes of images that neither the file nor an option nor a given input says, and warns of it: those that
/// most networks are published for. A training takes the sizes of its images, and is told them.
void choose_sizes(Source const& source, std::vector<GivenInput> const& given, ps::OnnxOptions& onnx) {
    constexpr std::int64_t usual = 224;
    if (source.options.size || onnx.trains) return;
    for (DeclaredInput const& input : source.inputs) {
        const bool is_given = std::ranges::find(given, input.name, &GivenInput::name) != given.end();
        if (input.has_default || is_given || !input.dims || input.dims->size() != 4) continue;
        std::vector<std::optional<std::int64_t>> const& dims = *input.dims;
        if (!dims[1] || (dims[2] && dims[3])) continue;
        const std::vector<std::int64_t> chosen{dims[0].value_or(1), *dims[1], dims[2].value_or(usual),
                                               dims[3].value_or(usual)};
        if (onnx.dims.emplace(input.name, chosen).second) {
            warn(ps::join(source.options.net, ": leaves the size of ", input.name, " open; ", chosen[2], 'x', chosen[3],
                          " is taken (--size, --dims)"));
        }
    }
}
std::string folder_of(ModelOptions const& options) {
    const std::string folder = std::filesystem::path(options.net).parent_path().string();
    return folder.empty() ? "." : folder;
}

Model load_onnx(Source const& source, std::vector<GivenInput> const& given) {
    ModelOptions const& options = source.options;
    try {
        ps::OnnxOptions onnx = onnx_options(options, given);
        choose_sizes(source, given, onnx);
        ps::OnnxModel file = ps::parse_onnx(options.net, *source.file, onnx, folder_of(options));
        if (!options.weights.empty()) file.weights = ps::read_state_dict(options.weights, file.graph);
        return {.name = options.net,
                .graph = std::move(file.graph),
                .simplified = ps::Graph(),
                .weights = std::move(file.weights),
                .inputs = ports_of(file.inputs),
                .outputs = ports_of(file.outputs),
                .signature = file};
    } catch (ps::error const& fault) {
        throw ps::error(in_words_of_the_command_line(fault.what()));
    }
}

bool is_file(std::string const& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}
bool is_onnx(ModelOptions const& options) {
    return options.net.ends_with(".onnx") ||
           (std::ranges::find(ps::zoo::names, options.net) == ps::zoo::names.end() && is_file(options.net));
}

}  // namespace

Source open_model(ModelOptions const& options) { return is_onnx(options) ? open_onnx(options) : open_zoo(options); }
void warn_of_undivided(ModelOptions const& options) {
    if (!is_onnx(options) || !options.weights.empty()) return;
    warn(options.net +
         ": its weights are of the network before it is divided into groups; the groups begin with random ones");
}
bool has_random_weights(ModelOptions const& options) { return options.weights.empty() && !is_onnx(options); }

std::string onnx_of(Model const& model, ModelOptions const& from, ps::Weights const& weights,
                    std::vector<std::pair<std::string, std::string>> const& metadata) {
    const Source source = open_model(from);
    if (source.file) {
        const ps::OnnxOptions options = onnx_options(from, {});
        const std::string folder = folder_of(from);
        const ps::OnnxModel file = ps::parse_onnx(from.net, *source.file, options, folder);
        if (ps::structure(file.graph) == ps::structure(model.graph)) {
            auto text = ps::replace_onnx_weights(from.net, *source.file, file, weights, options, folder, metadata);
            if (text) return std::move(*text);
        }
    }
    return ps::to_onnx(model.graph, weights,
                       {.open_batch = true, .signature = with_metadata(model.signature, metadata)});
}

namespace {

/// With sizes that the file leaves open twice, three times, ... as large; equal names have equal factors. Nothing where
/// none is.
std::optional<ModelOptions> with_larger_sizes(Model const& model, ModelOptions options) {
    std::map<std::string, int> factors;
    int next = 2;
    options.size.reset();
    options.dims.clear();
    for (ps::OnnxValueInfo const& input : model.signature.inputs) {
        std::vector<std::int64_t> dims = input.dims;
        for (auto const& [axis, name] : input.open_sizes) {
            const auto known = name.empty() ? factors.end() : factors.find(name);
            const int factor = known == factors.end() ? next++ : known->second;
            if (!name.empty()) factors.emplace(name, factor);
            dims[axis] *= factor;
        }
        options.dims.emplace_back(input.name, std::move(dims));
    }
    if (next == 2) return std::nullopt;
    return options;
}

}  // namespace

std::string onnx_of_any_size(Model const& model, ModelOptions const& from, ps::OnnxExportOptions const& options,
                             std::function<Model(ModelOptions const&)> const& load) {
    std::string fixed = ps::to_onnx(model.graph, model.weights, options);
    const auto larger = with_larger_sizes(model, from);
    if (!larger) return fixed;
    ps::OnnxExportOptions open = options;
    open.open_sizes = true;
    std::string text = ps::to_onnx(model.graph, model.weights, open);
    try {
        const Model other = load(*larger);
        open.signature.inputs = other.signature.inputs, open.signature.outputs = other.signature.outputs;
        if (text == ps::to_onnx(other.graph, other.weights, open)) return text;
    } catch (ps::error const&) {
        return fixed;  // it is of these sizes alone
    }
    return fixed;
}

void set_default_batch(Model& model, ModelOptions const& from, int batch) {
    if (from.batch != 0 || !from.dims.empty() || model.graph.batch() != 1) return;
    model.graph = ps::with_batch(model.graph, batch);
    model.simplified = ps::simplify(model.graph);
}

ps::OnnxSignature with_metadata(ps::OnnxSignature signature,
                                std::vector<std::pair<std::string, std::string>> const& metadata) {
    for (auto const& each : metadata) {
        std::erase_if(signature.metadata, [&each](auto const& property) { return property.first == each.first; });
        signature.metadata.push_back(each);
    }
    return signature;
}

ps::Graph graph_of(Source const& source) { return source.file ? load_onnx(source, {}).graph : source.graph; }

void add_ranges(Model& model, std::string const& file) {
    ps::PrecisionFile precisions = ps::read_precision_file(file);
    try {
        model.graph = ps::with_ranges(std::move(model.graph), precisions.ranges);
        const ps::Graph simplified = ps::simplify(model.graph);
        for (ps::LayerPrecision const& bound : precisions.layer_precisions) (void)simplified.find(bound.layer);
        model.layer_precisions = std::move(precisions.layer_precisions);
    } catch (ps::error const& reason) {
        ps::fail(file, ": has no ranges of ", model.name, ": ", reason.what());
    }
}

Model load_model(Source const& source, std::vector<GivenInput> const& given) {
    const ps::Timer timer;
    Model model = source.file ? load_onnx(source, given) : load_zoo(source);
    if (!source.options.ranges.empty()) add_ranges(model, source.options.ranges);
    model.simplified = ps::simplify(model.graph);
    model.load_seconds = timer.seconds();
    return model;
}

Model load_model(ModelOptions const& options) {
    const ps::Timer timer;
    Model model = load_model(open_model(options), {});
    model.load_seconds = timer.seconds();
    return model;
}

namespace {

ListedNetwork measure(std::string name, ps::Graph const& graph) {
    return {std::move(name), graph[graph.inputs().at(0)].shape, ps::parameter_count(graph), ps::multiply_adds(graph)};
}

}  // namespace

std::vector<ListedNetwork> list_networks() {
    std::vector<ListedNetwork> list;
    for (const std::string_view name : ps::zoo::names) list.push_back(measure(std::string(name), ps::zoo::graph(name)));
    return list;
}

}  // namespace cli
