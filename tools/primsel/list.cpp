// primsel list networks|primitives|layouts|layers|operators|costs|solvers
#include "commands.hpp"
#include "layers.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/onnx/detail/operators.hpp>
#include <primsel/plan/print.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace cli {
namespace {

struct ListOptions {
    std::string what;
    bool json = false;
};

struct Listing {
    ps::Json::Array items;
    ps::TextTable table;
};

std::string fixed(double value, int digits) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.*f", digits, value);
    return text;
}

Listing networks() {
    Listing listing;
    listing.table.add({"network", "input", "parameters", "GMAC"});
    for (ListedNetwork const& network : list_networks()) {
        const double gmac = network.operations * 1e-9;
        listing.items.push_back(
            ps::Json::Object{{"name", network.name},
                             {"input", ps::Json::Array{network.input.c, network.input.h, network.input.w}},
                             {"parameters", static_cast<std::int64_t>(network.parameters)},
                             {"gmac", gmac}});
        listing.table.add(
            {network.name, to_string(network.input), fixed(network.parameters * 1e-6, 2) + " M", fixed(gmac, 3)});
    }
    return listing;
}

Listing primitives() {
    Listing listing;
    const ps::Kernels all = kernels();
    listing.table.add({"primitive", "family", "layouts", "error bound"});
    for (ps::PrimitiveEntry const& entry : all.primitives) {
        const std::string in(all.layouts[entry.in_layout].name), out(all.layouts[entry.out_layout].name);
        char bound[32];
        std::snprintf(bound, sizeof(bound), "%.0e", entry.error_bound);
        listing.items.push_back(ps::Json::Object{{"id", entry.id},
                                                 {"family", to_string_view(entry.family)},
                                                 {"layouts", ps::Json::Object{{"in", in}, {"out", out}}},
                                                 {"error_bound", entry.error_bound}});
        listing.table.add({std::string(entry.id), std::string(to_string_view(entry.family)),
                           in == out ? in : in + " -> " + out, bound});
    }
    return listing;
}

Listing layouts() {
    Listing listing;
    for (ps::LayoutEntry const& entry : kernels().layouts) {
        listing.items.push_back(ps::Json::Object{{"name", entry.name}});
        listing.table.add({std::string(entry.name)});
    }
    return listing;
}

/// The layers of network types, with the options that each has.
Listing layers() {
    Listing listing;
    listing.table.add({"layer", "options"});
    for (ListedLayer const& layer : list_layers()) {
        listing.items.push_back(ps::Json::Object{
            {"type", layer.type}, {"options", ps::Json::Array(layer.options.begin(), layer.options.end())}});
        listing.table.add({layer.type, list_of_names(layer.options)});
    }
    return listing;
}

/// ONNX operators that are imported; those of other domains with the domain in front.
Listing operators() {
    Listing listing;
    for (ps::onnx::Operator const& entry : ps::onnx::operators) {
        listing.items.push_back(ps::Json::Object{{"name", entry.name}});
        listing.table.add({std::string(entry.name)});
    }
    return listing;
}

Listing described(std::vector<CostsEntry> const& entries) {
    Listing listing;
    for (CostsEntry const& entry : entries) {
        listing.items.push_back(ps::Json::Object{{"name", entry.name}, {"description", entry.description}});
        listing.table.add({entry.name, entry.description});
    }
    return listing;
}

void list(ListOptions const& options) {
    Listing listing = options.what == "networks"     ? networks()
                      : options.what == "primitives" ? primitives()
                      : options.what == "layouts"    ? layouts()
                      : options.what == "layers"     ? layers()
                      : options.what == "operators"  ? operators()
                      : options.what == "costs"      ? described(list_costs())
                                                     : described(list_solvers());
    if (options.json) return print_json(ps::Json::Object{{options.what, std::move(listing.items)}});
    print(listing.table.text());
}

}  // namespace

void add_list(CLI::App& app) {
    const auto options = std::make_shared<ListOptions>();
    CLI::App& command = *app.add_subcommand(
        "list",
        "List the networks, primitives, layouts, layers, ONNX operators, cost models or solvers that there are");
    command.add_option("WHAT", options->what, "networks, primitives, layouts, layers, operators, costs or solvers")
        ->required()
        ->check(CLI::IsMember({"networks", "primitives", "layouts", "layers", "operators", "costs", "solvers"}));
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options] { list(*options); });
}

}  // namespace cli
