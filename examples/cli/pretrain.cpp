// primsel pretrain --data profile.csv --layouts changes.csv --header avx512.hpp --ops ops_avx512.hpp: a profile becomes
// a header that needs no other library, for Pretrained; what other layers take one for SemiEmpirical, and what
// convolutions take on all machines that were profiled, with --profiles bench/profiles/*.csv --convolutions convs.hpp,
// another.
#include "commands.hpp"
#include "conv_samples.hpp"
#include "evaluation.hpp"
#include "op_times.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "session.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/io/dataset.hpp>
#include <primsel/learn/distill.hpp>
#include <primsel/learn/op_regression.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/profile/measured.hpp>
#include <primsel/train/differentiate.hpp>
#include <primsel/tune/op_sampler.hpp>
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
    std::string data, layouts, header, ops, training_ops, convolutions;
    std::vector<std::string> profiles;
    std::uint64_t seed = 1;
    std::size_t threads = 1, epochs = 200;
    bool mean_with_shipped = false, leave_one_out = false, json = false;
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

ps::OpRegression fit_ops(std::vector<ps::OpTime> const& times) {
    std::vector<ps::OpRegression::Sample> samples;
    for (ps::OpTime const& time : times) samples.push_back(ps::OpRegression::sample(kernels().machine(), time));
    return ps::OpRegression::fit(samples);
}

/// What the layers that only steps of training have take here, in steps of some networks.
ps::OpRegression learn_training_ops(Progress& progress) {
    ps::OpSampler sampler(training_kernels(), ps::Measured(15));
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

/// What the library comes with of other layers for an instruction set, and where it was learned.
struct ShippedOps {
    std::span<const ps::OpCoefficients> ops;
    std::string_view cpu;
};
ShippedOps shipped_ops(std::string_view arch) {
    ShippedOps shipped;
    const auto take = [&]<class Model>(Model) {
        if (arch == Model::arch) shipped = {Model::ops, Model::cpu};
    };
    take(ps::pretrained::ops_avx512{}), take(ps::pretrained::ops_avx2{}), take(ps::pretrained::ops_sse4_2{});
    if (shipped.ops.empty()) ps::fail("--mean-with-shipped: there are none for the instruction set ", arch);
    return shipped;
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

/// A list of texts, one a line.
std::string list_of(std::string const& name, std::vector<std::string> const& texts) {
    std::string result = "    static constexpr std::string_view " + name + "[] = {\n";
    for (std::string const& text : texts) result += "        \"" + text + "\",\n";
    return result + "    };\n";
}
/// A long text in pieces: a compiler need not bear more than 65536 characters in one.
std::string text_of(std::string const& name, std::string const& text) {
    constexpr std::size_t width = 108, piece = 500 * width;
    std::string result = "    static constexpr std::string_view " + name + "[] = {";
    for (std::size_t at = 0; at < text.size(); at += width) {
        const bool last = (at + width) % piece == 0 || at + width >= text.size();
        result += "\n        \"" + text.substr(at, width) + (last ? "\"," : "\"");
    }
    return result + "\n    };\n";
}

std::string primitives_header(std::string const& name, About const& about, ps::Distilled const& primitives,
                              ps::Distilled const& layouts) {
    return header_text(" from a profile", "primsel/core/config.hpp", "A PretrainedModel.", name, about,
                       list_of("primitives", primitives.subjects) + list_of("layouts", layouts.subjects) +
                           text_of("primitives_model", primitives.model.text()) +
                           text_of("layouts_model", layouts.model.text()));
}

std::string ops_header(std::string const& name, About const& about, ps::OpRegression const& ops) {
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
    const ps::ConvRegression all = ps::ConvRegression::fit(samples_without(profiles, ""));
    ps::TextTable table;
    table.add({"profile", "rows", "analytical", "error", "other machines", "error", "all", "error"});
    ps::Json::Array rows;
    for (ProfileSamples const& profile : profiles) {
        const std::vector<ps::ConvRegression::Sample> others = samples_without(profiles, profile.cpu);
        std::vector<std::pair<const char*, Choices>> models{{"analytical", judge_analytical(profile)}};
        if (!others.empty()) models.emplace_back("others", judge(profile, ps::ConvRegression::fit(others)));
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
    const bool header = !options.header.empty(), ops = !options.ops.empty(), convs = !options.convolutions.empty(),
               training = !options.training_ops.empty();
    if (!header && !ops && !training && !convs && !options.leave_one_out) {
        ps::fail("pretrain: --header, --ops, --training-ops and --convolutions say what to learn");
    }
    const std::string name = header ? name_of("--header", options.header) : "",
                      ops_name = ops ? name_of("--ops", options.ops) : "";
    if (header && name == ops_name) ps::fail("--ops ", options.ops, ": the model of --header is named ", name, ", too");
    const std::string training_name = training ? name_of("--training-ops", options.training_ops) : "";
    const std::string convs_name = convs ? name_of("--convolutions", options.convolutions) : "";
    if (convs_name == "convolutions")
        ps::fail("--convolutions ", options.convolutions, ": its table is named so already");
    std::vector<ps::Distillation> distillations;
    About about;
    if (header) {
        const ps::Profile profile = ps::read_profile(options.data, options.layouts);
        about = profile.primitives.data.about;
        for (ps::NamedDataset const* measured : {&profile.primitives, &*profile.layouts}) {
            distillations.emplace_back(*measured, kernels(), ps::DistillOptions{options.epochs, options.seed});
        }
    }
    Progress progress("learning", (header ? 4 : 0) + (ops && options.profiles.empty() ? list_networks().size() : 0) +
                                      (training ? trained_networks.size() : 0));
    ps::Json::Object json;
    std::string text;
    if (header) {
        ps::ThreadPool executor(options.threads);
        ps::Distilled models[2];
        ps::Evaluation judged[2];
        for (std::size_t i = 0; i < 2; ++i) {
            // Judged by rows that it never saw; what is shipped has seen all.
            judged[i] = distillations[i].judge(executor);
            progress.tick();
            models[i] = distillations[i].learn(executor);
            progress.tick();
        }
        const std::string written = primitives_header(name, about, models[0], models[1]);
        ps::write_file(options.header, written);
        json.emplace_back("header", options.header);
        json.emplace_back("bytes", written.size());
        json.emplace_back("primitives", to_json(judged[0]));
        json.emplace_back("layouts", to_json(judged[1]));
        text += to_text(ps::join("primitives on ", judged[0].rows, " rows held back"), judged[0], false);
        text += to_text(ps::join("layouts on ", judged[1].rows, " rows held back"), judged[1], false);
        text += ps::join(options.header, ": ", written.size() / 1024, " KB\n");
    }
    if (ops) {
        const bool timed_here = options.profiles.empty();
        OpSamples of = timed_here ? OpSamples{about_here(), {}} : op_samples_of(options.profiles, kernels().arch);
        ps::OpRegression learned =
            timed_here ? fit_ops(time_ops(networks_of({}), progress)) : ps::OpRegression::fit(of.samples);
        if (options.mean_with_shipped) {
            const ShippedOps shipped = shipped_ops(kernels().arch);
            learned = learned.mean_with(shipped.ops);
            of.about["cpu"] = ps::join(shipped.cpu, ", ", of.about["cpu"]);
        }
        ps::write_file(options.ops, ops_header(ops_name, of.about, learned));
        const std::size_t count = learned.coefficients().size();
        json.emplace_back("ops_header", options.ops);
        json.emplace_back("ops", count);
        text += ps::join(options.ops, ": ", count, " ops in a layout each\n");
    }
    if (training) {
        const ps::OpRegression learned = learn_training_ops(progress);
        ps::write_file(options.training_ops, ops_header(training_name, about_here(), learned));
        const std::size_t count = learned.coefficients().size();
        json.emplace_back("training_ops_header", options.training_ops);
        json.emplace_back("training_ops", count);
        text += ps::join(options.training_ops, ": ", count, " ops of training in a layout each\n");
    }
    if (convs) {
        const auto samples = samples_without(conv_samples(options.profiles), "");
        const auto lines = ps::ConvRegression::fit(samples).lines();
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
        *app.add_subcommand("pretrain", "Make a profile of this machine a header, for Pretrained or SemiEmpirical");
    CLI::Option* const data =
        command.add_option("--data", options->data, "Times of primitives, as `primsel profile` writes them");
    CLI::Option* const layouts = command.add_option("--layouts", options->layouts, "Times of changes of layout");
    CLI::Option* const header =
        command.add_option("--header", options->header, "The header to write, and so the model's name")
            ->check(writable_file);
    data->type_name("F.csv")->needs(header);
    layouts->type_name("F.csv")->needs(header);
    header->type_name("NAME.hpp")->needs(data)->needs(layouts);
    command
        .add_option(
            "--ops", options->ops,
            "A header of what other layers take by the profiles of this instruction set, or as timed here where "
            "none are named, for SemiEmpirical")
        ->check(writable_file)
        ->type_name("NAME.hpp");
    command
        .add_flag("--mean-with-shipped", options->mean_with_shipped,
                  "Of --ops: halfway to the coefficients that the library comes with, of machines whose times were not "
                  "kept")
        ->needs("--ops");
    command
        .add_option("--training-ops", options->training_ops,
                    "A header of what the layers take that only steps of training have, timed here, for SemiEmpirical")
        ->check(writable_file)
        ->type_name("NAME.hpp");
    CLI::Option* const profiles =
        command.add_option("--profiles", options->profiles, "Profiles of any machines and instruction sets");
    profiles->type_name("F.csv ...");
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
    command.add_option("--epochs", options->epochs, "Of the training of what is written (default 200)")
        ->check(CLI::Range(1, 10'000))
        ->needs(header)
        ->type_name("N");
    add_learning_options(command, options->seed, options->threads, options->json);
    for (const char* name : {"--seed", "--threads"}) command.get_option(name)->needs(header);
    command.callback([options] { pretrain(*options); });
}

}  // namespace cli
