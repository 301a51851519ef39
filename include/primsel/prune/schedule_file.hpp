#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/settings.hpp>
#include <primsel/prune/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

namespace detail {

inline constexpr std::int64_t last_epoch = 1'000'000;

/// Reads a pruner. The classes are Distiller's; the suffix "_AGP" makes the pruner gradual.
[[nodiscard]] inline SchedulePruner parse_pruner(std::string const& name, Settings const& from) {
    SchedulePruner pruner{.name = name, .weights = {}, .places = {}};
    std::string kind = from.at("class").one_of(
        {"L1RankedStructureParameterPruner", "L2RankedStructureParameterPruner", "FPGMRankedStructureParameterPruner",
         "BatchNormRankedStructureParameterPruner", "RandomRankedFilterPruner", "L1RankedStructureParameterPruner_AGP",
         "L2RankedStructureParameterPruner_AGP", "FPGMRankedStructureParameterPruner_AGP",
         "BatchNormRankedStructureParameterPruner_AGP", "RandomRankedFilterPruner_AGP"});
    pruner.gradual = kind.ends_with("_AGP");
    if (kind.starts_with("L2")) pruner.criterion = RankedBy::l2;
    if (kind.starts_with("FPGM")) pruner.criterion = RankedBy::geometric_median;
    if (kind.starts_with("BatchNorm")) pruner.criterion = RankedBy::batch_norm;
    if (kind.starts_with("Random")) pruner.criterion = RankedBy::random;
    if (pruner.gradual) {
        from.allow({"class", "group_type", "initial_sparsity", "final_sparsity", "ranking", "weights"});
        pruner.sparsity = from.at("final_sparsity").number(0, 1);
        if (const auto* initial = from.find("initial_sparsity")) pruner.initial_sparsity = initial->number(0, 1);
    } else {
        from.allow({"class", "group_type", "desired_sparsity", "ranking", "weights"});
        pruner.sparsity = from.at("desired_sparsity").number(0, 1);
    }
    if (const auto* type = from.find("group_type")) {
        pruner.type = type->one_of({"Filters", "Channels"}) == "Channels" ? GroupType::channels : GroupType::filters;
    }
    if (const auto* ranking = from.find("ranking")) pruner.together = ranking->one_of({"Layer", "Group"}) == "Group";
    for (Settings const& pattern : from.at("weights").elements()) {
        pruner.weights.push_back(pattern.text());
        pruner.places.push_back(pattern.place());
    }
    if (pruner.weights.empty()) from.at("weights").fail("names no weight");
    return pruner;
}

[[nodiscard]] inline ScheduleRate parse_rate(std::string const& name, Settings const& from) {
    ScheduleRate rate{.name = name, .milestones = {}};
    std::string const& kind = from.at("class").one_of({"ExponentialLR", "StepLR", "MultiStepLR", "CosineAnnealingLR"});
    if (kind == "CosineAnnealingLR") {
        from.allow({"class", "T_max", "eta_min"});
        rate.rule = ScheduleRate::Rule::cosine;
        if (const auto* lowest = from.find("eta_min")) {
            rate.lowest = lowest->number(0, std::numeric_limits<double>::max());
        }
        rate.every = from.at("T_max").integer(1, last_epoch);
        return rate;
    }
    if (kind == "StepLR") {
        from.allow({"class", "step_size", "gamma"});
        rate.rule = ScheduleRate::Rule::step;
        rate.every = from.at("step_size").integer(1, last_epoch);
    } else if (kind == "MultiStepLR") {
        from.allow({"class", "milestones", "gamma"});
        rate.rule = ScheduleRate::Rule::multi_step;
        for (Settings const& one : from.at("milestones").elements()) {
            rate.milestones.push_back(one.integer(0, last_epoch));
        }
    } else {
        from.allow({"class", "gamma"});
    }
    rate.gamma = from.at("gamma").number(0, 1);
    return rate;
}

/// Reads epochs: a list, or every `frequency` epochs from starting_epoch to before ending_epoch.
[[nodiscard]] inline std::vector<std::int64_t> parse_epochs(Settings const& from) {
    std::vector<std::int64_t> epochs;
    if (const auto* list = from.find("epochs")) {
        for (const char* other : {"starting_epoch", "ending_epoch", "frequency"}) {
            if (const auto* beside = from.find(other)) beside->fail("'", other, "' and 'epochs' exclude each other");
        }
        for (Settings const& epoch : list->elements()) epochs.push_back(epoch.integer(0, last_epoch));
        if (epochs.empty()) list->fail("there is no epoch");
        std::ranges::sort(epochs);
        return epochs;
    }
    const std::int64_t first = from.at("starting_epoch").integer(0, last_epoch),
                       end = from.at("ending_epoch").integer(first + 1, last_epoch),
                       every = from.at("frequency").integer(1, last_epoch);
    for (std::int64_t epoch = first; epoch < end; epoch += every) epochs.push_back(epoch);
    return epochs;
}

/// Checks an extension and returns its name. All known ones remove pruned filters and the channels that they fed.
[[nodiscard]] inline std::string parse_extension(std::string const& name, Settings const& from) {
    from.allow({"class", "thinning_func_str", "arch", "dataset"});
    (void)from.at("class").one_of({"FilterRemover", "ChannelRemover", "StructureRemover"});
    if (const auto* function = from.find("thinning_func_str")) {
        (void)function->one_of({"remove_filters", "remove_channels"});
    }
    return name;
}

/// Adds a policy to the schedule. `extensions`: the names of those that the file defines.
inline void parse_policy(PruningSchedule& schedule, std::vector<std::string> const& extensions, Settings const& from) {
    constexpr const char* kinds[] = {"pruner", "lr_scheduler", "extension"};
    from.allow({"pruner", "lr_scheduler", "extension", "epochs", "starting_epoch", "ending_epoch", "frequency"});
    const char* kind = nullptr;
    for (const char* each : kinds) {
        if (from.find(each) == nullptr) continue;
        if (kind != nullptr) from.fail("a policy is for one instance");
        kind = each;
    }
    if (kind == nullptr) from.fail("a policy needs one of pruner, lr_scheduler, extension");
    // The epochs are members of the policy or of the instance.
    Settings const& instance = from.at(kind);
    instance.allow({"instance_name", "epochs", "starting_epoch", "ending_epoch", "frequency"});
    const bool inside = instance.members().size() > 1;
    if (inside && from.members().size() > 1) from.fail("a policy says its epochs twice");
    SchedulePolicy policy{.prunes = kind == kinds[0], .epochs = parse_epochs(inside ? instance : from)};
    Settings const& named = instance.at("instance_name");
    std::vector<std::string> names;
    if (kind == kinds[0]) {
        for (SchedulePruner const& each : schedule.pruners) names.push_back(each.name);
    } else if (kind == kinds[1]) {
        for (ScheduleRate const& each : schedule.rates) names.push_back(each.name);
    } else {
        names = extensions;
    }
    const auto found = std::ranges::find(names, named.text());
    if (found == names.end()) {
        named.fail("there is no ", kind, " '", named.text(), '\'', nearest_of(named.text(), names));
    }
    if (kind == kinds[2]) return schedule.thinners.push_back(named.text());
    policy.instance = static_cast<std::size_t>(found - names.begin());
    schedule.policies.push_back(std::move(policy));
}

}  // namespace detail

/// Reads a schedule file. Throws error for an unknown word, naming the file, the line and the nearest known word.
/// check_schedule checks its weights against a network.
[[nodiscard]] inline PruningSchedule parse_schedule(Settings const& file) {
    file.allow({"version", "pruners", "lr_schedulers", "extensions", "policies"});
    PruningSchedule schedule;
    if (const auto* pruners = file.find("pruners")) {
        for (auto const& [name, pruner] : pruners->members()) {
            schedule.pruners.push_back(detail::parse_pruner(name, pruner));
        }
    }
    if (const auto* rates = file.find("lr_schedulers")) {
        for (auto const& [name, rate] : rates->members()) schedule.rates.push_back(detail::parse_rate(name, rate));
    }
    std::vector<std::string> extensions;
    if (const auto* all = file.find("extensions")) {
        for (auto const& [name, each] : all->members()) extensions.push_back(detail::parse_extension(name, each));
    }
    for (Settings const& policy : file.at("policies").elements()) detail::parse_policy(schedule, extensions, policy);
    return schedule;
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
