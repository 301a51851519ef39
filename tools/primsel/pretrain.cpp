// primsel pretrain --profiles bench/profiles/*.csv --convolutions convs.hpp --ops ops_avx512.hpp: the coefficients of
// SemiEmpirical, fitted to profiles of any machines or to times taken here, as headers.
#include "commands.hpp"
#include "conv_samples.hpp"
#include "op_times.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/io/file.hpp>
#include <primsel/io/json.hpp>
#include <primsel/learn/op_regression.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/measure/op_sampler.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/train/differentiate.hpp>
#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

struct PretrainOptions {
    std::string ops, training_ops, convolutions;
    std::vector<std::string> profiles, networks;
    bool leave_one_out = false, json = false;
};

/// A network whose steps of training show what their layers take.
struct TrainedNetwork {
    const char* name;
    int size, batch;
};
constexpr std::array trained_networks{TrainedNetwork{"resnet18", 64, 32},     TrainedNetwork{"resnet18", 32, 8},
                                      TrainedNetwork{"mobilenet_v2", 64, 32}, TrainedNetwork{"resnet56", 32, 32},
                                      TrainedNetwork{"resnet56", 32, 128},    TrainedNetwork{"squeezenet1_1", 128, 16},
                                      TrainedNetwork{"googlenet", 64, 8},     TrainedNetwork{"alexnet_cifar", 32, 32}};

ps::learn::OpRegression fit_ops(std::vector<ps::OpTime> const& times) {
    std::vector<ps::learn::OpRegression::Sample> samples;
    for (ps::OpTime const& time : times) samples.push_back(ps::learn::OpRegression::sample(kernels().machine(1), time));
    return ps::learn::OpRegression::fit(samples);
}

/// Coefficients of the layers that only training steps have, by times of the steps of some networks here.
ps::learn::OpRegression learn_training_ops(Progress& progress) {
    ps::measure::OpSampler sampler(training_kernels(), ps::measure::Measured(15));
    for (TrainedNetwork const& network : trained_networks) {
        ModelOptions options;
        options.net = network.name, options.batch = network.batch, options.size = Size{network.size, network.size};
        const ps::Graph graph = graph_of(open_model(options));
        sampler.add(ps::simplify(ps::differentiate(graph).graph), [](ps::AnyLayer const& layer) {
            return std::visit([]<class P>(P const&) { return ps::trains<P>; }, layer);
        });
        progress.tick();
    }
    return fit_ops(sampler.times());
}

using About = std::map<std::string, std::string>;

/// A header with a model: where it was learned, and what was.
std::string header_text(std::string const& source, std::string const& includes, std::string const& concept_name,
                        std::string const& name, About const& about, std::string const& members) {
    std::string text =
        ps::join("// Written by `primsel pretrain`", source,
                 "; not to be edited.\n// clang-format off\n#pragma once\n\n#include <", includes,
                 ">\n\n#include <string_view>\n\nnamespace primsel::inline PRIMSEL_ABI::pretrained {\n\n/// ",
                 concept_name, "\nstruct ", name, " {\n");
    for (const char* key : {"arch", "compiler", "cpu", "version"}) {
        const auto found = about.find(key);
        text += ps::join("    static constexpr std::string_view ", key, " = \"",
                         found == about.end() ? "" : found->second, "\";\n");
    }
    return text + members + "};\n\n}  // namespace primsel::inline PRIMSEL_ABI::pretrained\n";
}

std::string ops_header(std::string const& name, About const& about, ps::learn::OpRegression const& ops) {
    std::string table = "    static constexpr OpCoefficients ops[] = {\n";
    for (std::string const& line : ops.lines()) table += "        " + line + ",\n";
    return header_text("", "primsel/cost/op_coefficients.hpp", "An OpModel.", name, about, table + "    };\n");
}

std::string convolutions_header(std::string const& name, std::vector<std::string> const& lines) {
    std::string text =
        "// Written by `primsel pretrain --convolutions`; not to be edited.\n// clang-format off\n#pragma once\n\n"
        "#include <primsel/cost/conv_coefficients.hpp>\n\nnamespace primsel::inline PRIMSEL_ABI::pretrained {\n\n"
        "/// A ConvModel.\nstruct " +
        name + " {\n    static constexpr ConvCoefficients convolutions[] = {\n";
    for (std::string const& line : lines) text += "        " + line + ",\n";
    return text + "    };\n};\n\n}  // namespace primsel::inline PRIMSEL_ABI::pretrained\n";
}

std::string number(const char* format, double value) {
    char text[32];
    std::snprintf(text, sizeof(text), format, value);
    return text;
}

/// How well each profile is predicted by coefficients of other machines alone, and by those of all.
ps::Json::Array leave_one_out(std::vector<ProfileSamples> const& profiles, std::string& text) {
    const ps::learn::ConvRegression all = ps::learn::ConvRegression::fit(samples_without(profiles, ""));
    ps::TextTable table;
    table.add({"profile", "rows", "analytical", "error", "other machines", "error", "all", "error"});
    ps::Json::Array rows;
    for (ProfileSamples const& profile : profiles) {
        const std::vector<ps::learn::ConvRegression::Sample> others = samples_without(profiles, profile.processor);
        std::vector<std::pair<const char*, Choices>> models{{"analytical", judge_analytical(profile)}};
        if (!others.empty()) models.emplace_back("others", judge(profile, ps::learn::ConvRegression::fit(others)));
        models.emplace_back("all", judge(profile, all));
        std::vector<std::string> line{std::filesystem::path(profile.path).stem().string(),
                                      std::to_string(models[0].second.rows)};
        ps::Json::Object row{{"profile", profile.path}, {"cpu", profile.cpu}, {"rows", models[0].second.rows}};
        for (auto const& [name, choices] : models) {
            line.push_back(number("%.3f", choices.regret));
            line.push_back(number("%.0f %%", 100 * choices.error));
            row.emplace_back(name, ps::Json::Object{{"regret", choices.regret}, {"error", choices.error}});
        }
        if (others.empty()) line.insert(line.begin() + 4, {"-", "-"});
        table.add(std::move(line));
        rows.emplace_back(std::move(row));
    }
    text += table.text();
    return rows;
}

/// The header's file name without its ending, which must be a name of C++'s.
std::string name_of(const char* option, std::string const& path) {
    std::string name = std::filesystem::path(path).stem().string();
    const bool good = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (!good) ps::fail(option, " ", path, ": the model is named as the file, and '", name, "' is no name in C++");
    return name;
}

void pretrain(PretrainOptions const& options) {
    const bool ops = !options.ops.empty(), convs = !options.convolutions.empty(),
               training = !options.training_ops.empty();
    if (!ops && !training && !convs && !options.leave_one_out) {
        ps::fail("pretrain: --ops, --training-ops and --convolutions say what to learn");
    }
    const std::string ops_name = ops ? name_of("--ops", options.ops) : "";
    const std::string training_name = training ? name_of("--training-ops", options.training_ops) : "";
    const std::string convs_name = convs ? name_of("--convolutions", options.convolutions) : "";
    if (convs_name == "convolutions")
        ps::fail("--convolutions ", options.convolutions, ": its table is named so already");
    const std::vector<std::string> networks = networks_of(options.networks);
    Progress progress(
        "learning", (ops && options.profiles.empty() ? networks.size() : 0) + (training ? trained_networks.size() : 0));
    ps::Json::Object json;
    std::string text;
    if (ops) {
        const bool timed_here = options.profiles.empty();
        const OpSamples of = timed_here ? OpSamples{about_here(), {}} : op_samples_of(options.profiles, kernels().arch);
        const ps::learn::OpRegression learned =
            timed_here ? fit_ops(time_ops(networks, progress)) : ps::learn::OpRegression::fit(of.samples);
        ps::write_file(options.ops, ops_header(ops_name, of.about, learned));
        const std::size_t count = learned.coefficients().size();
        json.emplace_back("ops_header", options.ops);
        json.emplace_back("ops", count);
        text += ps::join(options.ops, ": ", count, " ops in a layout each\n");
    }
    if (training) {
        const ps::learn::OpRegression learned = learn_training_ops(progress);
        ps::write_file(options.training_ops, ops_header(training_name, about_here(), learned));
        const std::size_t count = learned.coefficients().size();
        json.emplace_back("training_ops_header", options.training_ops);
        json.emplace_back("training_ops", count);
        text += ps::join(options.training_ops, ": ", count, " ops of training in a layout each\n");
    }
    if (convs) {
        const auto samples = samples_without(conv_samples(options.profiles), "");
        const auto lines = ps::learn::ConvRegression::fit(samples).lines();
        ps::write_file(options.convolutions, convolutions_header(convs_name, lines));
        json.emplace_back("convolutions_header", options.convolutions);
        json.emplace_back("convolutions", lines.size());
        text += ps::join(options.convolutions, ": ", lines.size(), " primitives, of ", samples.size(), " times\n");
    }
    if (options.leave_one_out) {
        json.emplace_back("leave_one_out", leave_one_out(conv_samples(options.profiles), text));
    }
    if (options.json) return print_json(std::move(json));
    print(text);
}

}  // namespace

void add_pretrain(CLI::App& app) {
    const auto options = std::make_shared<PretrainOptions>();
    CLI::App& command =
        *app.add_subcommand("pretrain", "Fit the coefficients of SemiEmpirical and write them as headers");
    command
        .add_option(
            "--ops", options->ops,
            "A header of what other layers take by the profiles of this instruction set, or as timed here where "
            "none are named, for SemiEmpirical")
        ->check(writable_file)
        ->type_name("NAME.hpp");
    command
        .add_option("--training-ops", options->training_ops,
                    "A header of what the layers take that only steps of training have, timed here, for SemiEmpirical")
        ->check(writable_file)
        ->type_name("NAME.hpp");
    CLI::Option* const profiles =
        command.add_option("--profiles", options->profiles, "Profiles of any machines and instruction sets");
    profiles->type_name("F.csv ...");
    command.add_option("--networks", options->networks, "Whose layers --ops times here: names (default all)")
        ->delimiter(',')
        ->excludes(profiles)
        ->type_name("NET,...");
    command
        .add_option("--convolutions", options->convolutions,
                    "A header of what primitives take by all of those, for SemiEmpirical")
        ->check(writable_file)
        ->needs(profiles)
        ->type_name("NAME.hpp");
    command
        .add_flag("--leave-one-out", options->leave_one_out,
                  "How well the profiles of each machine are predicted by those of the others")
        ->needs(profiles);
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options] { pretrain(*options); });
}

}  // namespace cli
