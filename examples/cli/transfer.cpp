// primsel transfer --model there.primsel --data here.csv --out here.primsel: what was learned on one machine, corrected
// by samples of another.
#include "commands.hpp"
#include "evaluation.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/io/model.hpp>
#include <primsel/learn/tables.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace cli {
namespace {

struct TransferOptions {
    std::string model, data, layouts, method{ps::Transferred<ps::SourceRegression>::kind}, out;
    std::uint64_t seed = 1;
    std::size_t threads = 1;
    bool json = false;
};

/// What was corrected by one file. Nothing was held back of a file of few rows.
struct TransferredPart {
    std::string what, path, fingerprint;
    ps::Trained<ps::AnyRegression> trained;
    /// Measured, but not known to the model.
    std::vector<std::string> unknown;
    std::size_t rows = 0;
    /// On the rows that were held back: of what was learned, and of the model as it was.
    std::optional<Judgement> test, direct;
    double seconds = 0;
};

/// Of so many rows some are held back.
constexpr std::size_t enough_to_judge = 50;

ps::Split split_for(ps::Dataset const& data, std::uint64_t seed) {
    ps::Split split = ps::split_rows(data.rows(), seed);
    split.train.insert(split.train.end(), split.validation.begin(), split.validation.end());
    split.validation.clear();
    if (data.rows() < enough_to_judge) {
        split.train.insert(split.train.end(), split.test.begin(), split.test.end());
        split.test.clear();
    }
    return split;
}

ps::AnyRegression correct(TransferOptions const& options, ps::SourceRegression source, ps::Table const& features,
                          ps::Table const& times, std::vector<std::string> const& subjects, bool layouts,
                          ps::ExecutorRef executor) {
    using Transferred = ps::Transferred<ps::SourceRegression>;
    // A change of layout depends on so little that Gaussian processes do with few rows; with fewer yet factors are
    // better (in 4 of 8 draws of 6 or 8 rows of Mulder et al. 2020, and in none of 10).
    constexpr std::size_t few_layouts = 10;
    if (options.method == ps::FactorCorrected<ps::SourceRegression>::kind ||
        (layouts && features.rows() < few_layouts)) {
        return ps::FactorCorrected(std::move(source), features, times);
    }
    const std::size_t few = layouts ? 0 : Transferred::many;
    return Transferred::fit(std::move(source), features, times, labels_of(subjects, layouts), executor, few);
}

class Transferring {
public:
    explicit Transferring(TransferOptions const& options)
        : options_(options), source_(ps::read_model(options.model)), executor_(options.threads) {
        std::error_code ignored;
        if (std::filesystem::equivalent(options.model, options.out, ignored)) {
            ps::fail(options.out, ": would be written over the model that it comes from");
        }
    }

    [[nodiscard]] TransferredPart part(std::string const& path, ps::Dataset const& data) {
        const bool layouts = data.inputs.size() == 2;
        TransferredPart part{.what = layouts ? "layouts" : "primitives",
                             .path = path,
                             .fingerprint = fingerprint(data),
                             .trained = {},
                             .unknown = {},
                             .test = {},
                             .direct = {}};
        ps::Trained<ps::AnyRegression> const& known = layouts ? source_.layouts : source_.primitives;
        check(part, data, known.subjects);
        const std::optional<ps::SourceRegression> source = known.regression.source();
        if (!source) {
            ps::fail(options_.model, ": its ", part.what, " were transferred already; transfer what they came from");
        }
        const ps::Timer timer;
        const ps::Split split = split_for(data, options_.seed);
        const ps::Dataset some = with_subjects(data, known.subjects);
        const ps::Table features = ps::features_of(some), times = ps::log_times(some);
        const ps::Table to_learn = features.select(split.train), learned = times.select(split.train);
        const ps::Table differences = ps::deviations(*source, to_learn, learned);
        if (std::ranges::all_of(differences.values, [](float value) { return std::isnan(value); })) {
            ps::fail(path, ": ", options_.model, " has no prediction for anything that was measured");
        }
        part.trained = {known.subjects,
                        correct(options_, *source, to_learn, learned, known.subjects, layouts, executor_)};
        part.rows = split.train.size();
        part.seconds = timer.seconds();
        if (!split.test.empty()) {
            const ps::Table asked = features.select(split.test);
            part.test = judge(some.select(split.test), part.trained.regression.predict(asked));
            part.direct = judge(some.select(split.test), source->predict(asked));
        }
        return part;
    }

    [[nodiscard]] ps::TrainedModel assemble(std::map<std::string, std::string> about,
                                            std::vector<TransferredPart> const& parts) {
        for (auto const& [key, value] : source_.about) about["source_" + key] = value;
        about["seed"] = std::to_string(options_.seed);
        about["method"] = options_.method;
        ps::TrainedModel model;
        for (TransferredPart const& part : parts) {
            about[part.what + "_rows"] = std::to_string(part.rows);
            if (part.test) {
                about[part.what + "_data"] = part.fingerprint;
                about[part.what + "_mdrae"] = std::to_string(part.test->errors.all.median);
            }
            (part.what == "layouts" ? model.layouts : model.primitives) = part.trained;
        }
        model.about = std::move(about);
        return model;
    }

private:
    /// Throws error when the model cannot say anything about the data, or was made from it.
    void check(TransferredPart& part, ps::Dataset const& data, std::vector<std::string> const& subjects) const {
        if (subjects.empty()) ps::fail(options_.model, ": has learned no ", part.what);
        if (data.rows() == 0) ps::fail(part.path, ": has no rows");
        if (source_.about_of(part.what + "_data") == part.fingerprint) {
            ps::fail(part.path, ": is what ", options_.model, " was learned from");
        }
        const std::vector<std::string> measured = without_idle(data).subjects;
        for (std::string const& subject : measured) {
            if (std::ranges::find(subjects, subject) == subjects.end()) part.unknown.push_back(subject);
        }
        if (part.unknown.size() == measured.size()) {
            ps::fail(part.path, ": of none of its ", part.what, " does ", options_.model, " know anything");
        }
    }

    TransferOptions const& options_;
    ps::TrainedModel source_;
    ps::ThreadPool executor_;
};

ps::Json to_json(TransferredPart const& part) {
    ps::Json::Array unknown;
    for (std::string const& subject : part.unknown) unknown.emplace_back(subject);
    const auto judged = [](std::optional<Judgement> const& by) { return by ? to_json(*by) : ps::Json(nullptr); };
    return ps::Json::Object{{"data", part.path},
                            {"rows", part.rows},
                            {"method", std::string(part.trained.regression.kind())},
                            {"seconds", part.seconds},
                            {"test", judged(part.test)},
                            {"direct", judged(part.direct)},
                            {"unknown", std::move(unknown)}};
}

void print_part(TransferredPart const& part) {
    const std::string_view method = part.trained.regression.kind();
    if (part.test) {
        print(to_text(ps::join(part.what, " on ", part.test->rows, " other rows, ", method), *part.test, false));
        char error[32];
        std::snprintf(error, sizeof(error), "%.2f %%", 100 * part.direct->errors.all.median);
        print(ps::join("all, as the model was: ", error, '\n'));
    }
    if (!part.unknown.empty()) print(ps::join(part.unknown.size(), " others are not known to the model\n"));
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.1f", part.seconds);
    print_line(part.path, ": ", method, " by ", part.rows, " rows in ", seconds, " s",
               part.test ? "" : ", with none left to judge by");
}

void transfer(TransferOptions const& options) {
    Transferring transferring(options);
    const ps::Dataset data = read_times(options.data, false);
    std::vector<TransferredPart> parts;
    if (!options.layouts.empty()) {
        const ps::Dataset layouts = read_times(options.layouts, true);
        require_same_arch(options.data, data, options.layouts, layouts);
        parts.push_back(transferring.part(options.layouts, layouts));
    }
    parts.insert(parts.begin(), transferring.part(options.data, data));
    ps::write_model(options.out, transferring.assemble(data.about, parts));

    if (options.json) {
        ps::Json::Object object{{"model", options.model}, {"method", options.method}, {"file", options.out}};
        for (TransferredPart const& part : parts) object.emplace_back(part.what, to_json(part));
        return print_json(std::move(object));
    }
    for (TransferredPart const& part : parts) print_part(part);
}

}  // namespace

void add_transfer(CLI::App& app) {
    const auto options = std::make_shared<TransferOptions>();
    CLI::App& command =
        *app.add_subcommand("transfer", "Correct what was learned on one machine by a few samples of another");
    command.add_option("--model", options->model, "A model of `primsel fit`")->required()->type_name("F");
    command.add_option("--data", options->data, "Times of primitives on the other machine")
        ->required()
        ->type_name("F.csv");
    command.add_option("--layouts", options->layouts, "Times of changes of layout on it")->type_name("F.csv");
    command.add_option("--out", options->out, "The model file to write")->required()->type_name("F");
    command
        .add_option("--method", options->method,
                    "transferred (default; what deviates, by Gaussian processes) or factor (one a primitive)")
        ->check(CLI::IsMember({"transferred", "factor"}))
        ->type_name("NAME");
    add_learning_options(command, options->seed, options->threads, options->json);
    command.callback([options] { transfer(*options); });
}

}  // namespace cli
