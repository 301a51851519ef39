// primsel prune NET: the network without the filters that matter least, and what it is predicted to take.
#include "commands.hpp"
#include "options.hpp"
#include "pruning.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/csv.hpp>
#include <primsel/core/text_table.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/network/fingerprint.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/prune/choose.hpp>
#include <primsel/prune/coupled_layers.hpp>
#include <primsel/prune/sensitivity_file.hpp>
#include <primsel/show/coupling_dot.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

namespace cli {
namespace {

struct PruneCommand : Options {
    RankingOptions ranking;
    double sparsity = 0, latency = 0, operations = 0, filters = 0, most = 0.9;
    std::vector<std::pair<std::string, double>> groups;
    std::size_t multiple = 1;
    bool global = false, coupling = false;
    std::string sensitivity, out, dot;
};

std::pair<std::string, double> parse_share(std::string const& text) {
    const std::size_t equals = text.rfind('=');
    double sparsity = -1;
    if (equals == 0 || equals == std::string::npos ||
        !ps::read_number(std::string_view(text).substr(equals + 1), sparsity) || !(sparsity >= 0 && sparsity <= 1)) {
        throw CLI::ValidationError("--group",
                                   text + ": a pattern of names is needed, '=' and a share, as 'layer1.*=0.5'");
    }
    return {text.substr(0, equals), sparsity};
}

bool by_share(PruneCommand const& options) { return options.sparsity > 0 || !options.groups.empty(); }

/// The share that is asked for of a ranking: by the first group that fits it, or else --sparsity.
double share_of(PruneCommand const& options, ps::prune::Ranking const& ranking) {
    const auto group =
        std::ranges::find_if(options.groups, [&](auto const& each) { return fits(each.first, ranking); });
    return group != options.groups.end() ? group->second : options.sparsity;
}

/// Throws error where no filter may go, where more are asked for than may go, and for groups that fit no layer; warns
/// of others that are held back.
void check_goal(PruneCommand const& options, Model const& model, ps::prune::Coupling const& coupling,
                std::vector<ps::prune::Ranking> rankings) {
    if (rankings.empty()) {
        const std::string why = ps::prune::held_back_text(ps::prune::coupled_layers(model.graph, coupling));
        ps::fail("prune: no filter of ", model.name,
                 " may go: ", why.empty() ? "it has no convolution or dense layer whose results may be fewer" : why);
    }
    std::vector<ps::prune::CoupledLayers> missed;
    std::vector<std::string> warnings;
    std::string whole;
    for (ps::prune::CoupledLayers& set : ps::prune::held_back(model.graph, coupling)) {
        ps::prune::Ranking ranking;
        ranking.layers = options.ranking.type == "channels" ? set.read_by : set.made_by;
        const double share = share_of(options, ranking);
        const std::size_t count = set.groups.size(),
                          asked = std::min(ps::prune::floor_of_share(share, count), count - 1);
        const bool none_apart = count == 1 && ps::prune::floor_of_share(share, set.filters) > 0;
        if (by_share(options) && (asked > set.may_go || none_apart)) {
            for (std::string const& layer : ranking.layers) whole += ps::join(" --group '", layer, "=0'");
            missed.push_back(std::move(set));
        } else {
            warnings.push_back(ps::prune::held_back_text(set));
        }
        rankings.push_back(std::move(ranking));
    }
    for (auto const& [pattern, sparsity] : options.groups) check_fits("--group", pattern, rankings);
    if (!missed.empty()) {
        ps::fail("prune: filters are asked for that cannot go: ", ps::prune::held_back_text(missed),
                 "; to leave them whole:", whole);
    }
    for (std::string const& warning : warnings) warn(warning);
}

/// Warns of layers that keep more than their share because their channels go in blocks with those of others.
void warn_of_kept(PruneCommand const& options, ps::Graph const& whole, ps::Graph const& thin,
                  std::vector<ps::prune::Ranking> const& rankings) {
    if (!by_share(options) || options.global || options.ranking.type == "channels") return;
    for (ps::prune::Ranking const& ranking : rankings) {
        if (ranking.layers.size() < 2) continue;
        std::vector<std::string> kept;
        for (std::string const& layer : ranking.layers) {
            const std::size_t at = whole.find(layer);
            const auto filters = static_cast<std::size_t>(whole[at].shape.c),
                       left = static_cast<std::size_t>(thin[at].shape.c);
            const std::size_t asked = ps::prune::floor_of_share(share_of(options, ranking), filters);
            if (filters - left + options.multiple < asked)
                kept.push_back(ps::join(layer, " (", left, " of ", filters, ')'));
        }
        if (!kept.empty()) {
            warn(list_of_names(kept) +
                 ": more filters stay than the share says: they go in blocks with those of others");
        }
    }
}

ps::prune::RemovedGroups choice_by_share(PruneCommand const& options, std::vector<ps::prune::Ranking> const& rankings,
                                         std::size_t multiple) {
    ps::prune::RemovedGroups choice;
    std::vector<ps::prune::Ranking> others;
    for (ps::prune::Ranking const& ranking : rankings) {
        const bool named =
            std::ranges::any_of(options.groups, [&](auto const& each) { return fits(each.first, ranking); });
        if (options.global && !named) {
            others.push_back(ranking);
        } else {
            choice.merge(ps::prune::choose(ranking, share_of(options, ranking), multiple));
        }
    }
    choice.merge(ps::prune::choose(others, options.sparsity, multiple));
    return choice;
}

/// The findings of `primsel sensitivity`; none where no file is given. Throws error where that is of other filters.
std::vector<ps::prune::SensitivityPoint> sensitivity_of(PruneCommand const& options, Model const& model) {
    if (options.sensitivity.empty()) return {};
    const ps::SharedBytes file = ps::read_file(options.sensitivity);
    std::map<std::string, std::string> about;
    std::vector<ps::prune::SensitivityPoint> points =
        ps::prune::parse_sensitivity(options.sensitivity, file.text(), about);
    for (auto const& [key, here] : std::map<std::string, std::string>{{"network", ps::structure(model.graph)},
                                                                      {"criterion", options.ranking.criterion},
                                                                      {"type", options.ranking.type}}) {
        if (about[key] != here) ps::fail(options.sensitivity, ": its ", key, " is ", about[key], ", here ", here);
    }
    return points;
}

ps::prune::RemovedGroups choice_of(PruneCommand const& options, Model const& model, ps::prune::Coupling const& coupling,
                                   std::vector<ps::prune::Ranking> const& rankings, std::size_t multiple) {
    if (by_share(options)) {
        return ps::prune::sparing(model.graph, coupling, choice_by_share(options, rankings, multiple));
    }
    ps::prune::PruneTarget target{.share = options.latency, .multiple = multiple, .most = options.most};
    if (options.operations > 0) target.measure = ps::prune::Measure::operations, target.share = options.operations;
    if (options.filters > 0) target.measure = ps::prune::Measure::filters, target.share = options.filters;
    if (target.share == 0) target.share = 0.5;
    return prune_to(model.graph, coupling, rankings, options.planning, target, sensitivity_of(options, model)).choice;
}

/// The totals of a network in the table.
struct Totals {
    double milliseconds = 0, operations = 0, parameters = 0, filters = 0;
};
Totals totals_of(ps::Graph const& graph, double seconds) {
    return {seconds * 1e3, ps::multiply_adds(graph), ps::parameter_count(graph), ps::prune::filters(graph)};
}

std::string text_of(double value, const char* format) {
    char text[40];
    std::snprintf(text, sizeof(text), format, value);
    return text;
}

void print_totals(Totals const& whole, Totals const& thin) {
    ps::TextTable table;
    table.add({"", "whole", "thinned", "left"});
    const auto add = [&](const char* what, double before, double after, const char* format) {
        table.add({what, text_of(before, format), text_of(after, format), text_of(100 * after / before, "%.1f %%")});
    };
    add("predicted ms", whole.milliseconds, thin.milliseconds, "%.3f");
    add("million multiply-adds", whole.operations / 1e6, thin.operations / 1e6, "%.1f");
    add("thousand parameters", whole.parameters / 1e3, thin.parameters / 1e3, "%.1f");
    add("filters", whole.filters, thin.filters, "%.0f");
    print(table.text());
}
ps::Json to_json(Totals const& totals) {
    return ps::Json::Object{{"predicted_ms", totals.milliseconds},
                            {"multiply_adds", totals.operations},
                            {"parameters", totals.parameters},
                            {"filters", totals.filters}};
}

/// The network without the channels.
Model thinned(Model model, ps::prune::Coupling const& coupling, ps::prune::RemovedGroups const& choice) {
    ps::prune::Pruned pruned = ps::prune::remove_channels(model.graph, model.weights, coupling, choice);
    model.graph = std::move(pruned.graph), model.weights = std::move(pruned.weights);
    return model;
}

void write(PruneCommand const& options, Model const& thin, ps::prune::RemovedGroups const& choice) {
    if (options.out.ends_with(".onnx")) {
        const auto about = metadata_of(normalise_of(thin, options.model.weights));
        const auto load = [&choice](ModelOptions const& other) {
            Model whole = load_to_prune(other);
            const ps::prune::Coupling coupling(whole.graph);
            return thinned(std::move(whole), coupling, choice);
        };
        ps::write_file(options.out, onnx_of_any_size(thin, options.model,
                                                     {.open_batch = options.model.batch == 0,
                                                      .signature = with_metadata(thin.signature, about)},
                                                     load));
    } else if (options.out.ends_with(".safetensors")) {
        ps::write_safetensors(options.out, thin.weights, metadata_of(normalise_of(thin, options.model.weights)));
    }
}

void print_coupling(PruneCommand const& options, std::vector<ps::prune::CoupledLayers> const& sets) {
    if (!options.json) return print(ps::prune::to_text(sets));
    const auto list = [](std::vector<std::string> const& names) { return ps::Json::Array(names.begin(), names.end()); };
    ps::Json::Array rows;
    for (ps::prune::CoupledLayers const& set : sets) {
        rows.push_back(ps::Json::Object{{"made_by", list(set.made_by)},
                                        {"channels", set.groups.size()},
                                        {"may_go", set.may_go},
                                        {"read_by", list(set.read_by)},
                                        {"fixed", set.fixed.empty() ? ps::Json() : ps::Json(set.fixed)}});
    }
    print_json(ps::Json::Object{{"model", options.model.net}, {"coupled", std::move(rows)}});
}

void prune(PruneCommand const& options) {
    const Model model = load_to_prune(options.model);
    const ps::prune::Coupling coupling(model.graph);
    if (!options.dot.empty()) ps::write_file(options.dot, ps::show::to_dot(model.graph, coupling));
    if (options.coupling) return print_coupling(options, ps::prune::coupled_layers(model.graph, coupling));
    const std::vector<ps::prune::Ranking> rankings = rankings_of(model, options.model, coupling, options.ranking);
    check_goal(options, model, coupling, rankings);
    const ps::prune::RemovedGroups choice = choice_of(options, model, coupling, rankings, options.multiple);
    const bool asked =
        options.sparsity > 0 || std::ranges::any_of(options.groups, [](auto const& group) { return group.second > 0; });
    if (choice.empty() && asked) ps::fail("prune: no filter goes: rounded down, the share is none of any layer");
    Model thin = thinned(model, coupling, choice);
    thin.simplified = ps::simplify(thin.graph);
    warn_of_kept(options, model.graph, thin.graph, rankings);
    const ps::Plan before = plan_for(model, options.planning, options.threads),
                   after = plan_for(thin, options.planning, options.threads);
    write(options, thin, choice);

    const Totals whole = totals_of(model.graph, before.total_seconds),
                 left = totals_of(thin.graph, after.total_seconds);
    ps::Json::Array layers;
    ps::TextTable table;
    table.add({"layer", "filters", "left", "predicted ms", "thinned"});
    const auto seconds_of = [](ps::Plan const& plan, std::string const& name) {
        const auto found = std::ranges::find(plan.layers, name, &ps::PlannedLayer::name);
        return found == plan.layers.end() ? 0 : found->seconds;
    };
    for (std::size_t i = 0; i < model.graph.size(); ++i) {
        ps::Node const &node = model.graph[i], &now = thin.graph[i];
        if (!std::holds_alternative<ps::ConvParams>(node.layer) &&
            !std::holds_alternative<ps::ConvTransposeParams>(node.layer) &&
            !std::holds_alternative<ps::DenseParams>(node.layer)) {
            continue;
        }
        const double was = seconds_of(before, node.name), is = seconds_of(after, node.name);
        table.add({node.name, std::to_string(node.shape.c), std::to_string(now.shape.c), ps::milliseconds(was),
                   ps::milliseconds(is)});
        layers.push_back(
            ps::Json::Object{{"name", node.name},
                             {"filters", node.shape.c},
                             {"left", now.shape.c},
                             {"predicted_ms", ps::Json::Object{{"whole", was * 1e3}, {"thinned", is * 1e3}}}});
    }
    ps::Json unrounded;
    std::string rounding;
    if (options.multiple > 1) {
        const ps::Graph exact =
            ps::prune::remove_channels(model.graph, coupling, choice_of(options, model, coupling, rankings, 1));
        const Totals totals = totals_of(exact, seconds_predictor(options.planning)(exact));
        unrounded = to_json(totals);
        rounding = ps::join("in multiples of ", options.multiple, ": ", text_of(left.milliseconds, "%.3f"), " ms with ",
                            text_of(left.filters, "%.0f"), " filters; otherwise ", text_of(totals.milliseconds, "%.3f"),
                            " ms with ", text_of(totals.filters, "%.0f"), '\n');
    }
    if (options.json) {
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"whole", to_json(whole)},
                                           {"thinned", to_json(left)},
                                           {"without_multiples", std::move(unrounded)},
                                           {"layers", std::move(layers)},
                                           {"file", options.out.empty() ? ps::Json() : ps::Json(options.out)}});
    }
    print(table.text() + '\n');
    print_totals(whole, left);
    print(rounding);
    if (!options.out.empty()) print_line("written to ", options.out);
}

}  // namespace

void add_prune(CLI::App& app) {
    const auto options = std::make_shared<PruneCommand>();
    CLI::App& command =
        *app.add_subcommand("prune", "Take out the filters that matter least, and predict what it saves");
    add_options(command, *options, SavedPlan::refused);
    add_ranking_options(command, options->ranking, true);
    const auto share = [&](const char* name, double& value, const char* what) {
        return command.add_option(name, value, what)->check(number_range(1e-6, 1.0))->type_name("X");
    };
    CLI::Option* const sparsity = share("--sparsity", options->sparsity, "The share of each layer's filters that goes");
    CLI::Option* const latency =
        share("--latency", options->latency,
              "The share of the predicted time that is left, whichever layers pay (default 0.5)");
    CLI::Option* const operations = share("--flops", options->operations, "The same for multiply-adds");
    CLI::Option* const filters = share("--filters", options->filters, "The same for filters");
    CLI::Option* const groups =
        command
            .add_option_function<std::vector<std::string>>(
                "--group",
                [options](std::vector<std::string> const& all) {
                    for (std::string const& text : all) options->groups.push_back(parse_share(text));
                },
                "Of layers whose names fit, this share goes in place of --sparsity; * stands for any characters")
            ->type_name("PATTERN=X")
            ->allow_extra_args(false);
    command
        .add_option("--sensitivity", options->sensitivity,
                    "What `primsel sensitivity --out` found says what is lost, and not the importance of what goes")
        ->excludes(sparsity)
        ->excludes(groups)
        ->type_name("F.csv");
    for (CLI::Option* const target : {latency, operations, filters}) {
        for (CLI::Option* const other : {sparsity, latency, operations, filters, groups}) {
            if (other != target) target->excludes(other);
        }
    }
    share("--most", options->most, "Of a layer at most this share of filters goes (default 0.9); not with --sparsity");
    command.add_flag("--global", options->global, "--sparsity of all filters, wherever those are that matter least")
        ->needs(sparsity);
    command.add_option("--multiple", options->multiple, "As many filters stay as a multiple of this (default 1)")
        ->check(CLI::Range(1, 1 << 20))
        ->type_name("N");
    command.add_flag("--coupling", options->coupling, "Only print which layers lose the same channels");
    command.add_option("--dot", options->dot, "Draw which layers lose the same channels, for Graphviz")
        ->check(writable_file)
        ->type_name("F.dot");
    command.add_option("--out", options->out, "The thinned network, or its weights alone")
        ->check(writable_network)
        ->type_name("F.onnx|F.safetensors");
    command.callback([options, &command] {
        const bool no_taylor = options->ranking.criterion != "taylor";
        const bool by_share = options->sparsity > 0 || !options->groups.empty();
        refuse_idle(command, {{"--taylor-batches", no_taylor, "--criterion taylor"},
                              {"--images", no_taylor, "--criterion taylor"},
                              {"--cifar", no_taylor, "--criterion taylor"},
                              {"--folder", no_taylor, "--criterion taylor"},
                              {"--no-exif", options->ranking.data.folder.empty(), "--folder"},
                              {"--seed", !has_random_weights(options->model) && options->ranking.criterion != "random",
                               "--criterion random, or a network by name without --weights"},
                              {"--most", by_share, "--latency, --flops or --filters"}});
        if (options->coupling) {
            refuse_all_but(
                command, {"--coupling", "NET", "--batch", "--size", "--dims", "--weights", "--seed", "--dot", "--json"},
                "to stand without --coupling");
        }
        refuse_same_file(command, {"--dot", "--out"});
        prune(*options);
    });
}

}  // namespace cli
