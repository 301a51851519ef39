// primsel evaluate --costs COSTS --data profile.csv: how far predictions are from what was measured.
#include "commands.hpp"
#include "evaluation.hpp"
#include "session.hpp"

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/extern_kernels.hpp>
#include <primsel/io/dataset.hpp>
#include <primsel/io/model.hpp>

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
struct Part {
    std::string what;
    Judgement judgement;
    std::vector<std::string> unknown;
};

/// Keeps the subjects of the data that are known; throws error when none is.
ps::Dataset known_part(std::string const& path, ps::Dataset const& data, Part& part, auto const& is_known) {
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
        if (options.costs != ps::Analytical::name) model_ = ps::read_model(options.costs);
    }

    [[nodiscard]] Part part(std::string const& path, std::size_t inputs) const {
        const bool layouts = inputs == 2;
        Part result{.what = layouts ? "layouts" : "primitives", .judgement = {}, .unknown = {}};
        const ps::Dataset whole = ps::read_dataset(path);
        if (whole.inputs.size() != inputs) {
            ps::fail(path, ": its configurations are not ", layouts ? "c, im" : "c, k, im, f, s");
        }
        const ps::Dataset data =
            without_idle(options_.all_rows || !learned() ? whole : test_rows(path, whole, result.what));
        if (learned()) {
            result.judgement = judged_by(layouts ? model_.layouts : model_.primitives, path, data, result);
        } else {
            result.judgement = layouts ? analytical_layouts(path, data, result) : analytical(path, data, result);
        }
        return result;
    }

private:
    [[nodiscard]] bool learned() const { return options_.costs != ps::Analytical::name; }

    /// Those that were held back when the model was trained.
    [[nodiscard]] ps::Dataset test_rows(std::string const& path, ps::Dataset const& data,
                                        std::string const& what) const {
        const std::string_view seed_text = model_.about_of("seed");
        std::uint64_t seed = 0;
        const bool has_seed = ps::detail::read_number(seed_text, seed);
        if (!has_seed || model_.about_of(what + "_data") != fingerprint(data)) {
            ps::fail(path, ": ", options_.costs,
                     " was not trained on these rows, so none were held back; --all-rows judges it by all");
        }
        return data.select(ps::split_rows(data.rows(), seed).test);
    }

    [[nodiscard]] static Judgement judged_by(ps::Trained<ps::AnyRegression> const& trained, std::string const& path,
                                             ps::Dataset const& data, Part& part) {
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

    /// Asks the analytical model for every time that was measured, if `query` has a question: query(row, position of
    /// the subject among `names`, question).
    template <class Query, class Make>
    [[nodiscard]] static Judgement ask(ps::Dataset some, Make const& make) {
        std::vector<Query> queries;
        std::vector<std::size_t> cells;
        for (std::size_t row = 0; row < some.rows(); ++row) {
            for (std::size_t i = 0; i < some.subjects.size(); ++i) {
                if (some.time(row, i) <= 0 || !make(row, some.subjects[i], queries)) continue;
                cells.push_back(row * some.subjects.size() + i);
            }
        }
        std::vector<double> seconds(queries.size());
        ps::Analytical().predict(kernels(), std::span<const Query>(queries), std::span(seconds));
        ps::Table predicted(some.rows(), some.subjects.size());
        for (std::size_t i = 0; i < cells.size(); ++i) {
            predicted.values[cells[i]] = static_cast<float>(std::log(seconds[i]));
        }
        return judge(std::move(some), std::move(predicted));
    }
    [[nodiscard]] static Judgement analytical(std::string const& path, ps::Dataset const& data, Part& part) {
        const auto primitives = kernels().primitives;
        const auto find = [&](std::string const& id) {
            return static_cast<std::size_t>(std::ranges::find(primitives, id, &ps::PrimitiveEntry::id) -
                                            primitives.begin());
        };
        ps::Dataset some =
            known_part(path, data, part, [&](std::string const& subject) { return find(subject) < primitives.size(); });
        const ps::Dataset shapes = some;
        return ask<ps::ConvQuery>(std::move(some), [&](std::size_t row, std::string const& id, auto& queries) {
            const ps::ConvShape shape = shapes.conv(row);
            const std::size_t primitive = find(id);
            if (!primitives[primitive].supports(shape)) return false;
            queries.push_back({shape, primitive});
            return true;
        });
    }
    [[nodiscard]] static Judgement analytical_layouts(std::string const& path, ps::Dataset const& data, Part& part) {
        const auto layouts = kernels().layouts;
        const auto make = [&](std::string const& subject, ps::Shape shape, std::vector<ps::TransformQuery>& queries) {
            for (std::size_t from = 0; from < layouts.size(); ++from) {
                for (std::size_t to = 0; to < layouts.size(); ++to) {
                    if (subject != ps::join(layouts[from].name, "-to-", layouts[to].name)) continue;
                    queries.push_back({shape, 1, from, to});
                    return true;
                }
            }
            return false;
        };
        ps::Dataset some = known_part(path, data, part, [&](std::string const& subject) {
            std::vector<ps::TransformQuery> any;
            return make(subject, {1, 1, 1}, any);
        });
        const ps::Dataset shapes = some;
        return ask<ps::TransformQuery>(std::move(some), [&](std::size_t row, std::string const& id, auto& queries) {
            const auto at = shapes.configuration(row);
            return make(id, {at[0], at[1], at[1]}, queries);
        });
    }

    EvaluateOptions const& options_;
    ps::TrainedModel model_;
};

void evaluate(EvaluateOptions const& options) {
    const Evaluating evaluating(options);
    std::vector<Part> parts;
    parts.push_back(evaluating.part(options.data, 5));
    if (!options.layouts.empty()) parts.push_back(evaluating.part(options.layouts, 2));
    if (options.json) {
        ps::Json::Object object{{"costs", options.costs}};
        for (Part const& part : parts) {
            ps::Json::Array unknown;
            for (std::string const& subject : part.unknown) unknown.emplace_back(subject);
            object.emplace_back(part.what, to_json(part.judgement));
            object.emplace_back(part.what + "_unknown", std::move(unknown));
        }
        return print_json(std::move(object));
    }
    for (Part const& part : parts) {
        print(to_text(ps::join(part.what, " on ", part.judgement.rows, " rows"), part.judgement, true));
        if (!part.unknown.empty()) print(ps::join(part.unknown.size(), " others are not known to these costs\n"));
    }
}

}  // namespace

void add_evaluate(CLI::App& app) {
    const auto options = std::make_shared<EvaluateOptions>();
    CLI::App& command = *app.add_subcommand("evaluate", "How far predicted costs are from measured ones");
    command.add_option("--costs", options->costs, "A model of `primsel fit`, or analytical")
        ->required()
        ->type_name("FILE");
    command.add_option("--data", options->data, "Times of primitives, as `primsel profile` writes them")
        ->required()
        ->type_name("F.csv");
    command.add_option("--layouts", options->layouts, "Times of changes of layout")->type_name("F.csv");
    command.add_flag("--all-rows", options->all_rows, "Not only the rows that were held back in training");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options] { evaluate(*options); });
}

}  // namespace cli
