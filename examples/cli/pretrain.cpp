// primsel pretrain --data profile.csv --layouts changes.csv --header avx512.hpp --ops ops_avx512.hpp: a profile becomes
// a header that needs no other library, for Pretrained; what other layers take one for SemiEmpirical.
#include "commands.hpp"
#include "evaluation.hpp"
#include "pricing.hpp"
#include "progress.hpp"
#include "session.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/op_coefficients.hpp>
#include <primsel/io/dataset.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/mlp.hpp>
#include <primsel/learn/op_regression.hpp>
#include <primsel/learn/tables.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/profile/measured.hpp>
#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct PretrainOptions {
    std::string data, layouts, header, ops;
    std::uint64_t seed = 1;
    std::size_t threads = 1, epochs = 200;
    bool json = false;
};

/// Configurations like those of the profile, of which its own models then say what they take.
ps::Dataset alike(ps::Dataset const& data, std::size_t count, std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(generator() % below); };
    const auto near = [&](int value) {
        const double factor = std::exp(0.8 * (static_cast<double>(draw(1001)) / 1000 - 0.5));
        const int moved = std::max(1, static_cast<int>(std::lround(value * factor)));
        return draw(2) == 0 || moved < 16 ? moved : moved / 8 * 8;
    };
    ps::Dataset result{
        .inputs = data.inputs, .subjects = data.subjects, .about = {}, .configurations = {}, .seconds = {}};
    const std::vector<double> unknown(data.subjects.size(), 0.0);
    while (result.rows() < count) {
        const auto row = data.configuration(draw(data.rows()));
        std::vector<int> at(row.begin(), row.end());
        const std::size_t sizes = at.size() == 5 ? 3 : 2;
        for (std::size_t i = 0; i < sizes; ++i) {
            if (draw(2) == 0) at[i] = near(at[i]);
        }
        if (at.size() == 5) {
            // Kernel and stride of another.
            const auto other = data.configuration(draw(data.rows()));
            if (draw(3) == 0) at[3] = other[3], at[4] = other[4];
            if (at[3] > at[2]) continue;
        }
        result.add(at, unknown);
    }
    return result;
}

struct Model {
    std::vector<std::string> subjects;
    ps::CompactMlp compact;
};

/// What a profile teaches: a Gaussian process of how far Analytical is off, and a perceptron that learned from the
/// process what it says of many more configurations than were measured.
class Lesson {
public:
    Lesson(ps::Dataset const& data, PretrainOptions const& options)
        : data_(without_idle(data)),
          options_(options),
          features_(ps::features_of(data_)),
          predicted_(log_predictions(data_, ps::Analytical::name)),
          deviations_(ps::log_times(data_)) {
        for (std::size_t i = 0; i < deviations_.values.size(); ++i) deviations_.values[i] -= predicted_.values[i];
        labels_ = labels_of(data_.subjects, data_.inputs.size() == 2);
    }

    [[nodiscard]] ps::Dataset const& data() const { return data_; }
    [[nodiscard]] ps::CompactMlp learn(std::span<const std::size_t> rows, ps::ExecutorRef executor) const {
        const bool layouts = data_.inputs.size() == 2;
        const std::size_t epochs = layouts ? 4 * options_.epochs : options_.epochs;  // a small network
        ps::GaussianProcessOptions gp{.steps = 40, .rows = 300, .seed = options_.seed};
        const ps::Table known = features_.select(rows), deviations = deviations_.select(rows);
        const auto teacher = ps::GaussianProcess::fit(known, deviations, labels_, gp, executor);
        // What was measured stands beside what is believed of it: often enough to weigh something.
        ps::Table x = ps::features_of(alike(data_.select(rows), layouts ? 2000 : 8000, options_.seed));
        ps::Table y = teacher.predict(x);
        for (int times = 0; times < 3; ++times) {
            x.values.insert(x.values.end(), known.values.begin(), known.values.end());
            y.values.insert(y.values.end(), deviations.values.begin(), deviations.values.end());
        }
        ps::MlpOptions mlp{
            .hidden = layouts ? std::vector<std::size_t>{64, 64} : std::vector<std::size_t>{128, 160, 96},
            .learning_rate = 3e-3,
            .batch = 128,
            .patience = epochs,
            .most_epochs = epochs,
            .one_cycle = true,
            .huber = 0.05,
            .seed = options_.seed};
        const ps::Split split = ps::split_rows(x.rows(), options_.seed);
        std::vector<std::size_t> train = split.train;
        train.insert(train.end(), split.validation.begin(), split.validation.end());
        return ps::Mlp::fit(x.select(train), y.select(train), x.select(split.test), y.select(split.test), mlp, executor)
            .compact();
    }
    [[nodiscard]] Judgement judge(ps::CompactMlp const& model, std::span<const std::size_t> rows) const {
        ps::Table seconds = model.predict(features_.select(rows)), base = predicted_.select(rows);
        for (std::size_t i = 0; i < seconds.values.size(); ++i) seconds.values[i] += base.values[i];
        return cli::judge(data_.select(rows), seconds);
    }

private:
    ps::Dataset data_;
    PretrainOptions const& options_;
    ps::Table features_, predicted_, deviations_;
    std::vector<std::string> labels_;
};

/// The layers of the networks that are no convolutions, and the passes after those that are, timed in each layout.
ps::OpRegression learn_ops(Progress& progress) {
    const ps::Kernels all = kernels();
    const ps::Analytical analytical;
    ps::Measured measured(15);
    std::vector<ps::OpRegression::Sample> samples;
    std::set<std::tuple<std::string, std::string, ps::OpRegression::Terms>> seen;
    for (ListedNetwork const& network : list_networks()) {
        ModelOptions options;
        options.net = network.name;
        const ps::Graph graph = ps::simplify(open_model(options).graph);
        for (std::size_t node = 0; node < graph.size(); ++node) {
            const std::vector<ps::Shape> inputs = graph.input_shapes(node);
            for (std::size_t layout = 0; layout < all.layouts.size(); ++layout) {
                const ps::OpQuery query{&graph[node].layer, inputs, graph[node].shape, 1, layout};
                ps::OpRegression::Sample sample{.op = std::string(ps::kind(graph[node].layer)),
                                                .layout = std::string(all.layouts[layout].name),
                                                .terms = ps::op_terms(analytical, all, query),
                                                .seconds = 0};
                if (!seen.emplace(sample.op, sample.layout, sample.terms).second) continue;
                measured.predict(all, std::span(&query, 1), std::span(&sample.seconds, 1));
                samples.push_back(std::move(sample));
            }
        }
        progress.tick();
    }
    return ps::OpRegression::fit(samples);
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

std::string primitives_header(std::string const& name, About const& about, Model const& primitives,
                              Model const& layouts) {
    return header_text(" from a profile", "primsel/core/config.hpp", "A PretrainedModel.", name, about,
                       list_of("primitives", primitives.subjects) + list_of("layouts", layouts.subjects) +
                           text_of("primitives_model", primitives.compact.text()) +
                           text_of("layouts_model", layouts.compact.text()));
}

std::string ops_header(std::string const& name, ps::OpRegression const& ops) {
    std::string table = "    static constexpr OpCoefficients ops[] = {\n";
    for (std::string const& line : ops.lines()) table += "        " + line + ",\n";
    const About here{{"arch", std::string(kernels().arch)},
                     {"compiler", compiler()},
                     {"cpu", ps::cpu_name()},
                     {"version", std::string(ps::version)}};
    return header_text("", "primsel/cost/op_coefficients.hpp", "An OpModel.", name, here, table + "    };\n");
}

/// The header's file name without its ending, which must be a name of C++'s.
std::string name_of(const char* option, std::string const& path) {
    std::string name = std::filesystem::path(path).stem().string();
    const bool good = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (!good) ps::fail(option, " ", path, ": the model is named as the file, and '", name, "' is no name in C++");
    return name;
}

ps::Dataset read(std::string const& path, bool layouts) {
    ps::Dataset data = read_times(path, layouts);
    constexpr std::size_t least = 20;
    if (data.rows() < least) ps::fail(path, ": ", data.rows(), " rows are too few to learn from and to judge by");
    auto const& about = data.about;
    const std::pair<const char*, std::string> wanted[]{{"arch", std::string(kernels().arch)}, {"cpu", ps::cpu_name()}};
    for (auto const& [key, here] : wanted) {
        const auto found = about.find(key);
        if (found == about.end() || found->second != here) {
            ps::fail(path, ": its ", key, " is ", found == about.end() ? "not known" : found->second, "; here it is ",
                     here, ", whose speeds it would be learned against");
        }
    }
    for (std::string const& subject : without_idle(data).subjects) {
        if (!is_subject(data, subject)) ps::fail(path, ": this program has no ", subject);
    }
    return data;
}

void pretrain(PretrainOptions const& options) {
    const bool header = !options.header.empty(), ops = !options.ops.empty();
    if (!header && !ops) ps::fail("pretrain: --header, --ops or both say what to learn");
    const std::string name = header ? name_of("--header", options.header) : "",
                      ops_name = ops ? name_of("--ops", options.ops) : "";
    if (name == ops_name) ps::fail("--ops ", options.ops, ": the model of --header is named ", name, ", too");
    std::vector<ps::Dataset> data;
    if (header) data = {read(options.data, false), read(options.layouts, true)};
    Progress progress("learning", (header ? 4 : 0) + (ops ? list_networks().size() : 0));
    ps::Json::Object json;
    std::string text;
    if (header) {
        ps::ThreadPool executor(options.threads);
        Model models[2];
        Judgement judged[2];
        for (std::size_t i = 0; i < 2; ++i) {
            const Lesson lesson(data[i], options);
            const std::size_t rows = lesson.data().rows();
            const ps::Split split = ps::split_rows(rows, options.seed);
            std::vector<std::size_t> most = split.train, all(rows);
            most.insert(most.end(), split.validation.begin(), split.validation.end());
            for (std::size_t row = 0; row < rows; ++row) all[row] = row;
            // Judged by rows that it never saw; what is shipped has seen all.
            judged[i] = lesson.judge(lesson.learn(most, executor), split.test);
            progress.tick();
            models[i] = {lesson.data().subjects, lesson.learn(all, executor)};
            progress.tick();
        }
        const std::string written = primitives_header(name, data[0].about, models[0], models[1]);
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
        const ps::OpRegression learned = learn_ops(progress);
        ps::write_file(options.ops, ops_header(ops_name, learned));
        const std::size_t count = learned.coefficients().size();
        json.emplace_back("ops_header", options.ops);
        json.emplace_back("ops", count);
        text += ps::join(options.ops, ": ", count, " ops in a layout each\n");
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
        command.add_option("--header", options->header, "The header to write, and so the model's name");
    data->type_name("F.csv")->needs(header);
    layouts->type_name("F.csv")->needs(header);
    header->type_name("NAME.hpp")->needs(data)->needs(layouts);
    command
        .add_option("--ops", options->ops,
                    "A header of what other layers take, which are timed here, for SemiEmpirical")
        ->type_name("NAME.hpp");
    command.add_option("--epochs", options->epochs, "Of the training of what is written (default 200)")
        ->check(CLI::Range(1, 10'000))
        ->needs(header)
        ->type_name("N");
    add_learning_options(command, options->seed, options->threads, options->json);
    for (const char* name : {"--seed", "--threads"}) command.get_option(name)->needs(header);
    command.callback([options] { pretrain(*options); });
}

}  // namespace cli
