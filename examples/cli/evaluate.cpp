// primsel evaluate --costs COSTS --data profile.csv: how far predictions are from what was measured.
#include "commands.hpp"
#include "evaluation.hpp"
#include "pricing.hpp"

#include <primsel/io/model.hpp>
#include <primsel/learn/tables.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <memory>
#include <utility>

namespace cli {
namespace {

struct EvaluateOptions {
    std::string costs, data, layouts;
    bool all_rows = false, json = false;
};

/// A file's subjects that the model knows, what it says of them, and which it does not know.
struct EvaluatedPart {
    std::string what;
    Judgement judgement;
    std::vector<std::string> unknown;
};

/// Keeps the subjects of the data that are known; throws error when none is.
ps::Dataset known_part(std::string const& path, ps::Dataset const& data, EvaluatedPart& part, auto const& is_known) {
    std::vector<std::size_t> known;
    for (std::size_t i = 0; i < data.subjects.size(); ++i) {
        if (is_known(data.subjects[i])) {
            known.push_back(i);
        } else {
            part.unknown.push_back(data.subjects[i]);
        }
    }
    if (known.empty()) ps::fail(path, ": of none of its ", part.what, " do these costs know anything");
    return with_subjects(data, known);
}

class Evaluating {
public:
    explicit Evaluating(EvaluateOptions const& options) : options_(options) {
        if (learned()) model_ = ps::read_model(options.costs);
    }

    [[nodiscard]] EvaluatedPart part(std::string const& path, bool layouts) const {
        EvaluatedPart result{.what = layouts ? "layouts" : "primitives", .judgement = {}, .unknown = {}};
        const ps::Dataset whole = read_times(path, layouts);
        const ps::Dataset data =
            without_idle(options_.all_rows || !learned() ? whole : test_rows(path, whole, result.what));
        result.judgement = learned() ? judged_by(layouts ? model_.layouts : model_.primitives, path, data, result)
                                     : computed(path, data, result);
        return result;
    }

private:
    [[nodiscard]] bool learned() const { return !is_computed(options_.costs); }

    /// Those that were held back when the model was trained.
    [[nodiscard]] ps::Dataset test_rows(std::string const& path, ps::Dataset const& data,
                                        std::string const& what) const {
        const std::string_view seed_text = model_.about_of("seed");
        std::uint64_t seed = 0;
        const bool has_seed = ps::detail::read_number(seed_text, seed);
        if (!has_seed || model_.about_of(what + "_data") != fingerprint(data)) {
            ps::fail(path, ": none of these rows were held back to judge ", options_.costs,
                     " by; --all-rows judges it by all");
        }
        return data.select(ps::split_rows(data.rows(), seed).test);
    }

    [[nodiscard]] static Judgement judged_by(ps::Trained<ps::AnyRegression> const& trained, std::string const& path,
                                             ps::Dataset const& data, EvaluatedPart& part) {
        const auto position = [&](std::string const& subject) {
            return static_cast<std::size_t>(std::ranges::find(trained.subjects, subject) - trained.subjects.begin());
        };
        ps::Dataset some = known_part(
            path, data, part, [&](std::string const& subject) { return position(subject) < trained.subjects.size(); });
        const ps::Table all = trained.regression.predict(ps::features_of(some));
        ps::Table predicted(some.rows(), some.subjects.size());
        for (std::size_t i = 0; i < some.subjects.size(); ++i) {
            const std::size_t column = position(some.subjects[i]);
            for (std::size_t row = 0; row < some.rows(); ++row) predicted(row, i) = all(row, column);
        }
        return judge(std::move(some), std::move(predicted));
    }

    [[nodiscard]] Judgement computed(std::string const& path, ps::Dataset const& data, EvaluatedPart& part) const {
        ps::Dataset some =
            known_part(path, data, part, [&](std::string const& subject) { return is_subject(data, subject); });
        ps::Table predicted = log_predictions(some, options_.costs);
        return judge(std::move(some), std::move(predicted));
    }

    EvaluateOptions const& options_;
    ps::TrainedModel model_;
};

void evaluate(EvaluateOptions const& options) {
    const Evaluating evaluating(options);
    std::vector<EvaluatedPart> parts;
    parts.push_back(evaluating.part(options.data, false));
    if (!options.layouts.empty()) parts.push_back(evaluating.part(options.layouts, true));
    if (options.json) {
        ps::Json::Object object{{"costs", options.costs}};
        for (EvaluatedPart const& part : parts) {
            ps::Json::Array unknown;
            for (std::string const& subject : part.unknown) unknown.emplace_back(subject);
            object.emplace_back(part.what, to_json(part.judgement));
            object.emplace_back(part.what + "_unknown", std::move(unknown));
        }
        return print_json(std::move(object));
    }
    for (EvaluatedPart const& part : parts) {
        print(to_text(ps::join(part.what, " on ", part.judgement.rows, " rows"), part.judgement, true));
        if (!part.unknown.empty()) print(ps::join(part.unknown.size(), " others are not known to these costs\n"));
    }
}

}  // namespace

void add_evaluate(CLI::App& app) {
    const auto options = std::make_shared<EvaluateOptions>();
    CLI::App& command = *app.add_subcommand("evaluate", "How far predicted costs are from measured ones");
    command
        .add_option("--costs", options->costs,
                    "A model of `primsel fit` or `primsel transfer`, analytical, semi-empirical, or pretrained")
        ->required()
        ->type_name("NAME|FILE");
    command.add_option("--data", options->data, "Times of primitives, as `primsel profile` writes them")
        ->required()
        ->type_name("F.csv");
    command.add_option("--layouts", options->layouts, "Times of changes of layout")->type_name("F.csv");
    command.add_flag("--all-rows", options->all_rows, "Not only the rows that were held back in training");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options] { evaluate(*options); });
}

}  // namespace cli
