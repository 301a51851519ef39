#include "sweep_trials.hpp"

#include "program_trials.hpp"
#include "settings_file.hpp"
#include "text.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/engine/calibrate_ranges.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/network/fingerprint.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/with_batch.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/prune/choose.hpp>
#include <primsel/prune/prune_to.hpp>
#include <primsel/prune/schedule_file.hpp>
#include <primsel/search/sweep_file.hpp>
#include <primsel/train/batches.hpp>
#include <primsel/train/judge.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <utility>

namespace cli {
namespace {

struct JudgingSweeps : ps::DefaultPolicies {
    using executor = ps::ThreadPool;
};

/// The parameter that is the precision of a trial's network.
constexpr std::string_view precision_parameter = "precision";

bool has_ranges(ps::Graph const& graph) {
    return std::ranges::any_of(graph.nodes(), [](ps::Node const& node) { return node.range.known(); });
}

/// The options of training that a parameter may set, by their long names.
std::vector<std::string> training_options() {
    CLI::App command;
    Recipe recipe;
    add_recipe(command, recipe);
    std::vector<std::string> names;
    for (CLI::Option const* option : command.get_options()) {
        std::string const& name = option->get_single_name();
        constexpr std::array own{"help", "recipe", "seed", "part", "max-arena", "freeze", "rate"};
        if (std::ranges::find(own, name) == own.end()) names.push_back(name);
    }
    return names;
}
/// "learning_rate" is learning-rate.
std::string option_name(std::string name) {
    std::ranges::replace(name, '_', '-');
    return name == "training-batch" ? "batch" : name;
}

/// "Top-1" is top1.
std::string plain(std::string const& name) {
    std::string letters;
    for (const char letter : name) {
        if (letter == '-' || letter == '_' || letter == ' ') continue;
        letters += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    if (letters == "accuracy" || letters == "top1accuracy") return "top1";
    if (letters == "latencyms") return "latency";
    return letters;
}

std::string criterion_of(ps::prune::RankedBy criterion) {
    switch (criterion) {
        case ps::prune::RankedBy::l2:
            return "l2";
        case ps::prune::RankedBy::geometric_median:
            return "median";
        case ps::prune::RankedBy::batch_norm:
            return "batch-norm";
        case ps::prune::RankedBy::random:
            return "random";
        default:
            return "l1";
    }
}

}  // namespace

void add_sweep_options(CLI::App& command, SweepCommand& options) {
    command.add_option("file", options.file, "What is looked for, among which parameters (docs/search/sweeps.md)")
        ->required()
        ->type_name("FILE");
    add_options(command, options, SavedPlan::refused);
    command.get_option("NET")->required(false);  // the file may say it
    add_ranking_options(command, options.ranking, false);
    add_images(command, "", options.ranking.data, "Images to judge by");
    add_images(command, "training-", options.training, "Images to retrain with");
    command.add_option("--mean", options.mean, "Taken from the pixels, for each channel (default: as trained)")
        ->expected(1, 4)
        ->delimiter(',')
        ->check(finite_number)
        ->type_name("R,G,B");
    command.add_option("--std", options.std, "What they are then divided by, for each channel")
        ->expected(1, 4)
        ->delimiter(',')
        ->check(positive_number)
        ->needs(command.get_option("--mean"))
        ->type_name("R,G,B");
    command.get_option("--mean")->needs(command.get_option("--std"));
    command
        .add_option("--pruning", options.schedule,
                    "Whose pruners the parameters set, as NAME_desired_sparsity (default: parameters are patterns of "
                    "layers)")
        ->type_name("F.yaml|F.json");
    command.add_option("--epochs", options.epochs, "Retrain each network so often (default 0)")
        ->check(CLI::Range(0, 1'000'000))
        ->type_name("N");
    command.add_option("--learning-rate", options.learning_rate, "At the beginning of retraining (default 0.01)")
        ->check(number_from_0)
        ->type_name("X");
    command.add_option("--training-batch", options.training_batch, "Images an update is made by (default 64)")
        ->check(CLI::Range(1, 1 << 20))
        ->type_name("N");
    CLI::Option* const measure =
        command
            .add_option("--measure", options.measure,
                        "Export each trial's network there, and measure those that are best when they are done")
            ->type_name("FOLDER");
    command
        .add_option("--measure-command", options.measure_command,
                    "What measures them: a command that prints JSON with latency in ms; {model} is the network's file")
        ->needs(measure)
        ->type_name("COMMAND");
    command
        .add_option("--threshold", options.threshold,
                    "The least accuracy that the metric hybrid bears (default: the whole network's less 0.01)")
        ->check(number_range(0.0, 1.0))
        ->type_name("X");
}

std::map<std::string, std::vector<std::string>> given_options(CLI::App const& command) {
    std::map<std::string, std::vector<std::string>> given;
    for (CLI::Option const* option : command.get_options()) {
        if (!option->empty() && option->get_name() != "--help")
            given.emplace(CLI::detail::to_lower(option->get_single_name()), option->results());
    }
    return given;
}

void set_option(CLI::App& command, std::string const& where, std::string const& name,
                std::vector<std::string> const& values) {
    std::vector<std::string> names;
    CLI::Option* found = nullptr;
    for (CLI::Option* option : command.get_options()) {
        if (option->get_single_name() == "help" || option->get_single_name() == "file") continue;
        names.push_back(CLI::detail::to_lower(option->get_single_name()));  // NET, in a file: net
        if (names.back() == name) found = option;
    }
    if (found == nullptr) {
        ps::fail(where, ": '", name, "' is no option of sweep; ", did_you_mean(name, names),
                 "see primsel sweep --help");
    }
    if (!found->empty()) return;
    try {
        found->add_result(values);
        found->run_callback();
    } catch (CLI::ParseError const& fault) {
        ps::fail(where, ": ", std::string_view(fault.what()));
    }
}

void take_measurements(ps::search::Sweep& sweep) {
    std::string hybrid;
    const auto find = [&](std::string const& metric) {
        const auto same = [&](auto const& each) { return each.metric == metric; };
        if (plain(metric) == "latency" && std::ranges::none_of(sweep.measured, same))
            sweep.measured.insert(sweep.measured.begin(), {.metric = metric});
        if (plain(metric) == "hybrid") hybrid = metric;
    };
    for (ps::search::SweepGoal const& goal : sweep.goals) find(goal.metric);
    for (ps::search::MetricBound const& bound : sweep.bounds) find(bound.metric);
    // Trials have a latency, whether it is asked for or not.
    if (sweep.measured.empty()) sweep.measured.push_back({.metric = "latency"});
    if (!hybrid.empty()) sweep.measured.push_back({.metric = hybrid, .is_share = true});
}

SweepFile read_sweep(CLI::App& command, std::string const& name, std::string text) {
    ps::search::Sweep sweep = ps::search::parse_sweep(parse_settings(name, text));
    for (auto const& [option, values] : sweep.options) set_option(command, name, option, values);
    // primsel report does the same, by the log.
    if (!command.get_option("--measure")->empty()) take_measurements(sweep);
    return {name, std::move(text), std::move(sweep)};
}

bool sweep_uses(ps::search::Sweep const& sweep, std::string const& metric) {
    const auto is_it = [&](auto const& each) { return plain(each.metric) == metric; };
    return std::ranges::any_of(sweep.goals, is_it) || std::ranges::any_of(sweep.bounds, is_it);
}

std::unique_ptr<SweepTrials> make_trials(SweepCommand const& options, SweepFile const& file,
                                         std::optional<double> threshold) {
    if (options.model.net.empty()) return std::make_unique<ProgramTrials>(options, file);
    return std::make_unique<PruningTrials>(options, file, threshold);
}

PruningTrials::PruningTrials(SweepCommand const& options, SweepFile const& file, std::optional<double> threshold)
    : options_(options), space_(file.sweep.space), model_(load_to_prune(options.model)), coupling_(model_.graph) {
    for (const ps::Precision each : ps::all_precisions) {
        PlanningOptions planning = options.planning;
        planning.precision = each;
        predicted_seconds_.emplace(each, seconds_predictor(planning));
    }
    const ps::Shape shape = model_.graph[model_.graph.input()].shape;
    if (options_.ranking.data.given()) images_.emplace(read_images(options_.ranking.data, shape));
    if (options_.training.given()) training_.emplace(read_images(options_.training, shape));
    if (images_ && training_) require_same_classes(*training_, *images_);
    const std::vector<std::string> trainable = training_options();
    for (ps::search::Parameter const& parameter : space_.parameters()) {
        const std::string name = option_name(parameter.name());
        if (std::ranges::find(trainable, name) != trainable.end()) trained_by_.emplace(parameter.name(), name);
    }
    const auto swept = [&](const char* option) {
        return std::ranges::any_of(trained_by_, [&](auto const& each) { return each.second == option; });
    };
    retrains_ = options_.epochs > 0 || swept("epochs");
    if (retrains_ && (!training_ || !images_)) {
        ps::fail("--epochs ", options_.epochs, ": needs --training-images to retrain with, and --images to judge by");
    }
    if (!retrains_ && !trained_by_.empty()) {
        ps::fail(options_.file, ": parameter ", trained_by_.begin()->first, " is one of training: it needs --epochs");
    }
    normalise_ = {options_.mean, options_.std};
    if (options_.mean.empty()) normalise_ = normalise_of(model_, options_.model.weights);
    bind_metrics(file.sweep);
    for (ps::search::Parameter const& parameter : space_.parameters()) {
        if (parameter.name() == precision_parameter) bind_precision(parameter);
    }
    if (!varies_precision_) may_be_int8_ = options_.planning.precision == ps::Precision::int8;
    const bool needs_ranges = may_be_int8_ && (!options_.measure.empty() || !options_.out.empty());
    if (needs_ranges && !images_ && !training_ && !has_ranges(model_.graph)) {
        ps::fail(options_.file, ": networks in int8 need images to choose ranges by, as --images");
    }
    if (options_.schedule.empty()) {
        bind_patterns();
    } else {
        schedule_ = ps::prune::parse_schedule(read_settings(options_.schedule));
        ps::prune::check_schedule(*schedule_, model_.graph, coupling_);
        if (options_.epochs > 0) check_pruners(options_.schedule, *schedule_, options_.epochs);
        const auto later = [](ps::prune::SchedulePolicy const& policy) { return policy.epochs.back() > 0; };
        if (!retrains_ && std::ranges::any_of(schedule_->policies, later)) {
            warn(ps::join(options_.schedule, ": without --epochs its pruners act at once, to their last share; its ",
                          "epochs and rates do nothing"));
        }
        bind_schedule();
    }
    known_counts_ = counts_are_known();
    whole_latency_ = computed("latency", model_.graph, options_.planning.precision);
    find_threshold(threshold);
}

void PruningTrials::find_threshold(std::optional<double> threshold) {
    threshold_ = options_.threshold;
    if (threshold_ >= 0 || !needs_hybrid_) return;
    threshold_ = threshold ? *threshold : accuracy({model_.graph, model_.weights}, ps::Precision::float32) - 0.01;
}

void PruningTrials::bind_metrics(ps::search::Sweep const& sweep) {
    const std::vector<std::string> all{"latency", "top1", "hybrid", "parameters", "operations"};
    const auto bind = [&](std::string const& spelled) {
        const std::string name = plain(spelled);
        if (std::ranges::find(all, name) == all.end()) {
            ps::fail(options_.file, ": there is no metric ", spelled, "; ", did_you_mean(name, all), "there are ",
                     list_of_names(all));
        }
        names_[name] = spelled;
        needs_hybrid_ = needs_hybrid_ || name == "hybrid";
        needs_accuracy_ = needs_accuracy_ || name == "hybrid" || name == "top1";
    };
    for (ps::search::SweepGoal const& goal : sweep.goals) bind(goal.metric);
    for (ps::search::MetricBound const& bound : sweep.bounds) bind(bound.metric);
    if (needs_accuracy_ && !images_) ps::fail(options_.file, ": its metrics need images to judge by, as --images");
}

void PruningTrials::bind_precision(ps::search::Parameter const& parameter) {
    varies_precision_ = true;
    for (std::size_t i = 0; i < std::max<std::size_t>(parameter.count(), 1); ++i) {
        const std::string name = ps::search::text_of(parameter.nth(i));
        const std::optional<ps::Precision> precision = precision_of(name);
        if (!precision) {
            ps::fail(options_.file, ": parameter ", precision_parameter, " cannot be ", name,
                     "; there are float32, f16, bf16 and int8");
        }
        may_be_int8_ = may_be_int8_ || precision == ps::Precision::int8;
    }
}
ps::Precision PruningTrials::precision(ps::search::SearchPoint const& point) const {
    if (!varies_precision_) return options_.planning.precision;
    return *precision_of(ps::search::text_of(space_.value(point, precision_parameter)));
}

void PruningTrials::bind_patterns() {
    auto const& all = rankings(options_.ranking.criterion, options_.ranking.type);
    for (ps::search::Parameter const& parameter : space_.parameters()) {
        if (parameter.name() == precision_parameter || trained_by_.contains(parameter.name())) continue;
        check_fits(options_.file + ": parameter", parameter.name(), all);
        pruners_.push_back({.name = parameter.name(),
                            .criterion = options_.ranking.criterion,
                            .patterns = {parameter.name()},
                            .sparsity = parameter.name(),
                            .initial = {},
                            .type = {},
                            .fixed_type = options_.ranking.type});
    }
}

void PruningTrials::bind_schedule() {
    std::vector<std::string> names;
    for (ps::prune::SchedulePruner const& each : schedule_->pruners) {
        pruners_.push_back({.name = each.name,
                            .criterion = criterion_of(each.criterion),
                            .patterns = each.weights,
                            .sparsity = {},
                            .initial = {},
                            .type = {},
                            .fixed_sparsity = each.sparsity,
                            .fixed_type = each.type == ps::prune::GroupType::channels ? "channels" : "filters",
                            .together = each.together});
        for (std::string& pattern : pruners_.back().patterns) {
            if (pattern.starts_with("module.")) pattern.erase(0, 7);
        }
        for (const char* field : {"_desired_sparsity", "_final_sparsity", "_initial_sparsity", "_group_type"}) {
            names.push_back(each.name + field);
        }
    }
    for (ps::prune::ScheduleRate const& each : schedule_->rates) names.push_back(each.name + "_gamma");
    for (ps::search::Parameter const& parameter : space_.parameters()) {
        bool found = parameter.name() == precision_parameter || trained_by_.contains(parameter.name());
        for (std::size_t i = 0; i < schedule_->rates.size(); ++i) {
            if (parameter.name() != schedule_->rates[i].name + "_gamma") continue;
            if (!retrains_) ps::fail(options_.file, ": parameter ", parameter.name(), " needs --epochs");
            gammas_.emplace(parameter.name(), i), found = true;
        }
        for (Pruner& pruner : pruners_) {
            if (!parameter.name().starts_with(pruner.name + "_")) continue;
            const std::string field = parameter.name().substr(pruner.name.size() + 1);
            if (field == "desired_sparsity" || field == "final_sparsity") {
                pruner.sparsity = parameter.name(), found = true;
            } else if (field == "initial_sparsity") {
                pruner.initial = parameter.name(), found = true;
            } else if (field == "group_type") {
                pruner.type = parameter.name(), found = true;
            }
        }
        if (!found) {
            ps::fail(options_.file, ": parameter ", parameter.name(), " sets nothing in ", options_.schedule, "; ",
                     did_you_mean(parameter.name(), names), "there are ", list_of_names(names));
        }
    }
}

std::vector<ps::prune::Ranking> const& PruningTrials::rankings(std::string const& criterion,
                                                               std::string const& type) const {
    const std::scoped_lock lock(mutex_);
    std::vector<ps::prune::Ranking>& ranked = rankings_[criterion + ' ' + type];
    if (ranked.empty()) {
        RankingOptions options = options_.ranking;
        options.criterion = criterion, options.type = type;
        ranked = rankings_of(model_, options_.model, coupling_, options);
    }
    return ranked;
}

std::vector<ps::prune::Ranking> const& PruningTrials::named(std::size_t pruner, std::string const& type) const {
    std::vector<ps::prune::Ranking> const& all = rankings(pruners_[pruner].criterion, type);
    const std::scoped_lock lock(mutex_);
    const auto [known, is_new] = named_.try_emplace({pruner, type});
    for (std::size_t i = 0; is_new && i < all.size(); ++i) {
        const auto names = [&](std::string const& pattern) { return fits(pattern, all[i]); };
        if (std::ranges::any_of(pruners_[pruner].patterns, names)) known->second.push_back(all[i]);
    }
    return known->second;
}

double PruningTrials::share(std::string const& parameter, double fixed, ps::search::SearchPoint const& point) const {
    if (parameter.empty()) return fixed;
    const double share = ps::search::number_of(space_.value(point, parameter));
    if (!(share >= 0 && share <= 1)) ps::fail("parameter ", parameter, ": is no share from 0 to 1");
    return share;
}
std::string PruningTrials::type(Pruner const& pruner, ps::search::SearchPoint const& point) const {
    if (pruner.type.empty()) return pruner.fixed_type;
    const std::string type = plain(ps::search::text_of(space_.value(point, pruner.type)));
    if (type != "filters" && type != "channels") {
        ps::fail("parameter ", pruner.type, ": cannot be ", type, "; there are Filters and Channels");
    }
    return type;
}

ps::prune::PruningSchedule PruningTrials::schedule(ps::search::SearchPoint const& point) const {
    ps::prune::PruningSchedule schedule = *schedule_;
    for (std::size_t i = 0; i < pruners_.size(); ++i) {
        ps::prune::SchedulePruner& pruner = schedule.pruners[i];
        pruner.sparsity = share(pruners_[i].sparsity, pruner.sparsity, point);
        pruner.initial_sparsity = share(pruners_[i].initial, pruner.initial_sparsity, point);
        pruner.type =
            type(pruners_[i], point) == "channels" ? ps::prune::GroupType::channels : ps::prune::GroupType::filters;
    }
    for (auto const& [parameter, rate] : gammas_) {
        const double gamma = ps::search::number_of(space_.value(point, parameter));
        if (!(gamma >= 0 && gamma <= 1)) ps::fail("parameter ", parameter, ": is no number from 0 to 1");
        schedule.rates[rate].gamma = gamma;
    }
    return schedule;
}

Retraining PruningTrials::retraining(ps::search::SearchPoint const& point, std::uint64_t seed) const {
    Retraining how{.recipe = {}, .threads = options_.threads};
    how.recipe.optimizer.sgd.momentum = 0.9F;
    CLI::App command;
    add_recipe(command, how.recipe);
    how.recipe.training.epochs = options_.epochs;
    how.recipe.training.learning_rate = options_.learning_rate;
    how.recipe.training.batch = options_.training_batch;
    for (auto const& [parameter, name] : trained_by_) {
        CLI::Option& option = *command.get_option("--" + name);
        const std::string value = ps::search::text_of(space_.value(point, parameter));
        try {
            // A flag takes true or false.
            option.add_result(option.get_expected_min() == 0 ? option.get_flag_value(name, value) : value);
            option.run_callback();
        } catch (CLI::ParseError const& fault) {
            ps::fail("parameter ", parameter, ": ", std::string_view(fault.what()));
        }
    }
    how.recipe.training.seed = seed;
    if (!schedule_) return how;
    how.pruning = schedule(point);
    const bool given = std::ranges::any_of(trained_by_, [](auto const& each) { return each.second == "schedule"; });
    take_rates(options_.schedule, *how.pruning, how.recipe, given);
    return how;
}

std::int64_t PruningTrials::epochs(ps::search::SearchPoint const& point) const {
    for (auto const& [parameter, name] : trained_by_) {
        if (name == "epochs") return std::llround(ps::search::number_of(space_.value(point, parameter)));
    }
    return options_.epochs;
}

bool PruningTrials::counts_are_known() const {
    if (!prunes_in_training()) return true;
    std::set<std::size_t> pruned;
    for (std::size_t i = 0; i < pruners_.size(); ++i) {
        if (pruners_[i].together) return false;
        for (const char* type : {"filters", "channels"}) {
            if (pruners_[i].type.empty() && type != pruners_[i].fixed_type) continue;
            std::set<std::size_t> own;
            for (ps::prune::Ranking const& ranking : named(i, type)) {
                own.insert(ranking.groups.begin(), ranking.groups.end());
            }
            const auto elsewhere = [&](std::size_t group) { return pruned.contains(group); };
            if (std::ranges::any_of(own, elsewhere)) return false;
            if (type == std::string_view("channels") || pruners_[i].type.empty()) pruned.merge(own);
        }
    }
    return true;
}

std::vector<PruningTrials::Thinning> PruningTrials::thinnings(ps::search::SearchPoint const& point) const {
    std::vector<Thinning> all;
    std::optional<ps::prune::PruningSchedule> acts;
    if (prunes_in_training()) acts = schedule(point);
    for (std::size_t i = 0; i < pruners_.size(); ++i) {
        Pruner const& pruner = pruners_[i];
        // The schedule's last epochs may come after the training.
        const double sparsity = acts ? ps::prune::reached_sparsity(*acts, i, epochs(point))
                                     : share(pruner.sparsity, pruner.fixed_sparsity, point);
        const std::string type = this->type(pruner, point);
        std::vector<ps::prune::Ranking> const& rankings = named(i, type);
        all.push_back({&rankings, type == "channels"});
        if (pruner.together) {
            all.back().counts = ps::prune::counts_to_go(rankings, sparsity);
        } else {
            for (ps::prune::Ranking const& ranking : rankings)
                all.back().counts.push_back(ps::prune::count_to_go(ranking, sparsity));
        }
    }
    return all;
}

ps::prune::RemovedGroups PruningTrials::choice(std::vector<Thinning> const& thinnings) const {
    std::vector<std::size_t> all;
    for (Thinning const& each : thinnings) {
        for (std::size_t i = 0; i < each.counts.size(); ++i) {
            const auto first = (*each.rankings)[i].groups.begin();
            all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(each.counts[i]));
        }
    }
    std::ranges::sort(all);  // a set of what is sorted is made in linear time
    return ps::prune::sparing(model_.graph, coupling_, {all.begin(), all.end()});
}

double PruningTrials::computed(std::string const& metric, ps::Graph const& graph, ps::Precision precision) const {
    if (metric == "latency") {
        ps::Graph known = graph;
        // Prices depend on which tensors have ranges, and little on the ranges.
        for (std::size_t i = 0; i < known.size() && precision == ps::Precision::int8; ++i) {
            if (!known[i].range.known()) known.set_range(i, {.scale = 1, .zero_point = 0});
        }
        return predicted_seconds_.at(precision)(known) * 1e3;
    }
    return metric == "operations" ? ps::multiply_adds(graph) : ps::parameter_count(graph);
}

void PruningTrials::add(Metrics& metrics, std::string const& name, double value) const {
    const auto spelled = names_.find(name);
    metrics[spelled == names_.end() ? name : spelled->second] = value;
}
void PruningTrials::add_accuracy(Metrics& metrics, double accuracy) const {
    add(metrics, "top1", accuracy);
    if (!needs_hybrid_) return;
    const auto spelled = names_.find("latency");
    const double latency = metrics.at(spelled == names_.end() ? "latency" : spelled->second);
    add(metrics, "hybrid", ps::search::hybrid_metric(latency, accuracy, threshold_, whole_latency_));
}

Metrics PruningTrials::known(ps::search::SearchPoint const& point) const {
    return known_counts_ ? computed(point) : Metrics{};
}
Metrics PruningTrials::computed(ps::search::SearchPoint const& point) const {
    const std::vector<Thinning> thinned = thinnings(point);
    const ps::Precision in = precision(point);
    std::vector<std::size_t> key{static_cast<std::size_t>(in)};
    for (Thinning const& each : thinned) {
        key.push_back(each.of_channels ? 1 : 0);
        key.insert(key.end(), each.counts.begin(), each.counts.end());
    }
    constexpr std::size_t most = 100'000;  // of some hundred bytes each
    {
        const std::scoped_lock lock(mutex_);
        if (const auto found = known_.find(key); found != known_.end()) return found->second;
        if (known_.size() >= most) known_.clear();
    }
    const ps::Graph thin = ps::prune::remove_channels(model_.graph, coupling_, choice(thinned));
    Metrics metrics;
    for (const char* name : computed_) {
        if (names_.contains(name)) add(metrics, name, computed(name, thin, in));
    }
    const std::scoped_lock lock(mutex_);
    return known_.emplace(std::move(key), metrics).first->second;
}

ps::Graph PruningTrials::calibrated(ps::prune::Pruned const& network, ps::Precision precision) const {
    if (precision != ps::Precision::int8 || has_ranges(network.graph)) return network.graph;
    constexpr int most = 64;
    AnyImages const& images = training_ ? *training_ : *images_;
    std::vector<float> pixels;
    ps::Batches<AnyImages> batches(images, ps::evaluation_batches(1), normalise_);
    ps::Batch batch = batches.next();
    for (int i = 0; i < most && batch.count > 0; ++i, batch = batches.next()) {
        pixels.insert(pixels.end(), batch.images.begin(), batch.images.end());
    }
    const ps::Graph one = ps::with_batch(network.graph, 1);
    return ps::with_ranges(network.graph, ps::calibrate_ranges(one, network.weights, pixels, ps::RangeMethod::mse));
}
double PruningTrials::accuracy(ps::prune::Pruned const& network, ps::Precision precision) const {
    constexpr int together = 32;
    if (precision != ps::Precision::float32) {
        Model model;
        model.name = model_.name, model.weights = network.weights;
        model.graph = ps::with_batch(calibrated(network, precision), together);
        model.simplified = ps::simplify(model.graph);
        PlanningOptions planning = options_.planning;
        planning.precision = precision;
        Session session(model, plan_for(model, planning, options_.threads), options_.threads);
        const std::size_t row = session.output(0).size() / together;
        std::size_t right = 0;
        ps::Batches<AnyImages> batches(*images_, ps::evaluation_batches(together), normalise_);
        for (ps::Batch batch = batches.next(); batch.count > 0; batch = batches.next()) {
            std::ranges::copy(batch.images, session.input(0).begin());
            session.run();
            for (std::size_t i = 0; i < static_cast<std::size_t>(batch.count); ++i) {
                const std::span<const float> scores = session.output(0).subspan(i * row, row);
                const auto best = std::ranges::max_element(scores) - scores.begin();
                right += static_cast<float>(best) == batch.labels[i] ? 1U : 0U;
            }
        }
        return static_cast<double>(right) / static_cast<double>(images_->size());
    }
    return ps::judge<JudgingSweeps>(ps::with_batch(network.graph, together), network.weights, *images_, normalise_,
                                    ps::ThreadPool(options_.threads))
        .accuracy();
}

ps::prune::Pruned PruningTrials::network(ps::search::SearchPoint const& point, std::uint64_t seed,
                                         std::function<bool(std::int64_t, double)> const& goes_on) const {
    const auto thin = [&] {
        return ps::prune::remove_channels(model_.graph, model_.weights, coupling_, choice(thinnings(point)));
    };
    if (!retrains_ || epochs(point) == 0) return thin();
    const Retraining how = retraining(point, seed);
    const ps::prune::Pruned begun = how.pruning ? ps::prune::Pruned{model_.graph, model_.weights} : thin();
    if (how.pruning && epochs(point) != options_.epochs) {
        check_pruners(options_.schedule, *how.pruning, epochs(point));
    }
    return retrain(begun, how, *training_, *images_, normalise_, goes_on);
}

void PruningTrials::operator()(ps::search::Trial& trial, GoesOn const& goes_on) const {
    trial.machine = machine_name();
    trial.metrics = computed(trial.point);
    const ps::Precision in = precision(trial.point);
    if (needs_hybrid_ && !names_.contains("latency")) {
        const ps::Graph thin = ps::prune::remove_channels(model_.graph, coupling_, choice(thinnings(trial.point)));
        add(trial.metrics, "latency", computed("latency", thin, in));
    }
    const ps::prune::Pruned thin = network(trial.point, trial.seed, [&](std::int64_t epoch, double accuracy) {
        add_accuracy(trial.metrics, accuracy);
        return goes_on(static_cast<std::size_t>(epoch), trial.metrics);
    });
    for (const char* name : computed_) add(trial.metrics, name, computed(name, thin.graph, in));
    trial.plan = ps::structure(thin.graph);
    if (in != ps::Precision::float32) trial.plan += ps::join(" in ", to_string_view(in));
    // Epochs are judged in floats.
    const bool judged = retrains_ && epochs(trial.point) > 0 && in == ps::Precision::float32;
    if (images_ && !judged) {
        add_accuracy(trial.metrics, accuracy(thin, in));
    } else if (judged) {
        const auto spelled = names_.find("top1");
        add_accuracy(trial.metrics, trial.metrics.at(spelled == names_.end() ? "top1" : spelled->second));
    }
    if (!options_.measure.empty() && !trial.stopped) export_network(trial, thin);
}

void PruningTrials::export_network(ps::search::Trial const& trial, ps::prune::Pruned const& network) const {
    std::filesystem::create_directories(options_.measure);
    ps::write_file(network_file(options_.measure, trial.number), onnx(network, precision(trial.point)));
}

std::string PruningTrials::onnx(ps::prune::Pruned const& network, ps::Precision precision) const {
    auto about = metadata_of(normalise_);
    if (precision != ps::Precision::float32) about.emplace_back(precision_key, to_string_view(precision));
    return ps::to_onnx(calibrated(network, precision), network.weights,
                       {.open_batch = options_.model.batch == 0,
                        .signature = with_metadata(model_.signature, about),
                        .quantised = precision == ps::Precision::int8});
}

void PruningTrials::write(std::string const& file, ps::search::Trial const& trial) const {
    const ps::prune::Pruned best = network(trial.point, trial.seed, [](std::int64_t, double) { return true; });
    if (file.ends_with(".onnx")) {
        ps::write_file(file, onnx(best, precision(trial.point)));
    } else {
        ps::write_safetensors(file, best.weights, metadata_of(normalise_));
    }
}

std::map<std::string, std::string> PruningTrials::about() const {
    std::map<std::string, std::string> about{
        {"network", ps::join(model_.name, ' ', ps::structure(model_.graph))},
        {"weights",
         options_.model.weights.empty() ? ps::join("random, seed ", options_.model.seed) : options_.model.weights},
        {"images", std::to_string(images_ ? images_->size() : 0)},
        {"epochs", std::to_string(options_.epochs)}};
    const bool predicts = needs_hybrid_ || names_.contains("latency");
    if (predicts) about.emplace("machine", machine_name());
    if (!options_.measure.empty()) about.emplace("measured", "yes");
    if (retrains_) about.emplace("learning rate", ps::search::text_of(ps::search::Value(options_.learning_rate)));
    if (needs_hybrid_) about.emplace("threshold", ps::search::text_of(ps::search::Value(threshold_)));
    return about;
}

}  // namespace cli
