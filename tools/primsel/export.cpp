// primsel export NET OUT.onnx: a network as an ONNX file.
#include "commands.hpp"
#include "labelled_images.hpp"
#include "model.hpp"
#include "options.hpp"
#include "text.hpp"

#include <primsel/onnx/export.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct ExportOptions {
    ModelOptions model;
    std::string out;
    int opset = ps::OnnxExportOptions{}.opset;
    bool json = false;
};

void export_model(ExportOptions const& options) {
    const Model model = load_model(options.model);
    const auto about = metadata_of(normalise_of(model, options.model.weights));
    std::vector<std::string> float_layers;
    for (ps::LayerPrecision const& bound : model.layer_precisions) {
        if (bound.precision != ps::Precision::int8) float_layers.push_back(bound.layer);
    }
    const bool quantised = !options.model.ranges.empty();
    // Without --batch the file takes any number of images, as far as the one that was read does.
    const std::string file = onnx_of_any_size(model, options.model,
                                              {.opset = options.opset,
                                               .open_batch = options.model.batch == 0,
                                               .signature = with_metadata(model.signature, about),
                                               .quantised = quantised,
                                               .float_layers = std::move(float_layers)},
                                              [](ModelOptions const& other) { return load_model(other); });
    ps::write_file(options.out, file);
    if (options.json) {
        ps::Json::Object result{{"model", model.name},
                                {"file", options.out},
                                {"bytes", file.size()},
                                {"layers", model.graph.size()},
                                {"opset", options.opset}};
        if (quantised) result.emplace_back("ranges", options.model.ranges);
        return print_json(std::move(result));
    }
    print_line(model.name, ": ", model.graph.size(), " layers, ", megabytes(file.size()), " in ", options.out,
               quantised ? ", quantised" : "");
}

}  // namespace

void add_export(CLI::App& app) {
    const auto options = std::make_shared<ExportOptions>();
    CLI::App& command = *app.add_subcommand("export", "Write a network and its weights as an ONNX file");
    add_model_options(command, options->model);
    command.add_option("OUT", options->out, "The .onnx file to write")->check(writable_onnx)->required();
    command
        .add_option("--ranges", options->model.ranges,
                    "Write weights and tensors in 8 bits, with these ranges from `primsel quantise`")
        ->type_name("F.json");
    command.add_option("--opset", options->opset, "Of ONNX's operators, 13 to 21")->type_name("V");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options, &command] {
        refuse_idle(command, {{"--seed", !has_random_weights(options->model), random_weights_need}});
        export_model(*options);
    });
}

}  // namespace cli
