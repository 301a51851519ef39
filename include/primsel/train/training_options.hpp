#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/train/metrics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A group of weights with settings of its own: those whose names match `pattern`, in which * matches any characters.
struct WeightGroup {
    std::string pattern = "*";
    /// Multiplies the learning rate; 0 freezes the weights.
    double rate = 1;
    /// Replaces TrainingOptions::weight_decay.
    std::optional<double> weight_decay{};
};

struct TrainingOptions {
    /// The number of images per update.
    int batch = 64;
    /// The micro-batch: the number of images that run at once. The gradients of a batch's micro-batches are added up.
    /// 0: the whole batch.
    int part = 0;
    std::int64_t epochs = 1;
    /// The rate that schedules begin with.
    double learning_rate = 0.1;
    double weight_decay = 0;
    /// Gradients are clipped to this global norm (train/clip.hpp); 0: not clipped.
    double clip_norm = 0;
    /// The momentum of the running statistics of all batch norms; replaces that of each layer.
    std::optional<double> statistics_momentum = {};
    std::uint64_t seed = 1;
    /// The first group that matches a weight applies. Weights that no group matches use these options.
    std::vector<WeightGroup> groups = {};
    /// The positions of values that are not trained, by the name of their weight.
    std::map<std::string, std::vector<std::size_t>> fixed = {};
    /// The largest arena in bytes. The arena keeps the results of layers until their gradients are computed. If it
    /// would be larger, layers are recomputed: first those with the least cost per byte saved.
    std::size_t max_arena = std::numeric_limits<std::size_t>::max();
    /// The number of epochs without a better validation accuracy after which training stops; 0: never.
    int patience = 0;

    [[nodiscard]] int images_at_once() const { return part > 0 ? part : batch; }
    [[nodiscard]] int parts() const { return batch / images_at_once(); }
};

/// The results of an epoch.
struct EpochReport {
    std::int64_t epoch = 0;  ///< how many are done
    std::int64_t batches = 0;
    double loss = 0;           ///< mean over its batches, each before its update
    double learning_rate = 0;  ///< of its last batch
    double seconds = 0, images_per_second = 0;
    std::optional<Metrics> validation{};
    bool best = false;  ///< the best validation until now
};

struct NoValidation {};
/// Goes on, whatever the epoch has brought.
struct IgnoreReports {
    [[nodiscard]] bool operator()(EpochReport const&) const { return true; }
};

/// Goes on after each update.
struct IgnoreUpdates {
    [[nodiscard]] bool operator()(std::int64_t) const { return true; }
};

/// Returns whether the name matches the pattern, in which * matches any characters.
[[nodiscard]] constexpr bool matches_pattern(std::string_view pattern, std::string_view name) {
    if (pattern.empty()) return name.empty();
    if (pattern[0] != '*')
        return !name.empty() && pattern[0] == name[0] && matches_pattern(pattern.substr(1), name.substr(1));
    for (std::size_t skipped = 0; skipped <= name.size(); ++skipped) {
        if (matches_pattern(pattern.substr(1), name.substr(skipped))) return true;
    }
    return false;
}
[[nodiscard]] inline WeightGroup const& group_of(std::vector<WeightGroup> const& groups, std::string_view weight) {
    static const WeightGroup rest{};
    for (WeightGroup const& group : groups) {
        if (matches_pattern(group.pattern, weight)) return group;
    }
    return rest;
}

/// Throws error when a group's pattern fits none of the network's weights, or some of the names of a shared one.
inline void check_groups_fit(std::vector<WeightGroup> const& groups, Graph const& graph) {
    const std::vector<WeightSpec> specs = weight_specs(graph);
    for (WeightGroup const& group : groups) {
        const auto is_fit = [&](WeightSpec const& spec) { return matches_pattern(group.pattern, spec.name); };
        if (std::ranges::none_of(specs, is_fit)) fail("train: no weight's name fits '", group.pattern, "'");
    }
    for (auto const& [name, owner] : weight_owners(graph)) {
        if (&group_of(groups, name) == &group_of(groups, owner.name)) continue;
        fail("train: ", owner.name, " and ", name, " are one weight, but belong to two groups");
    }
}
/// Throws error if `fixed` names a weight that the network does not have, a position beyond its end, or a weight that
/// shares the values of an owner that `fixed` does not name.
inline void check_fixed(std::map<std::string, std::vector<std::size_t>> const& fixed, Graph const& graph) {
    const std::vector<WeightSpec> specs = weight_specs(graph);
    const auto owners = weight_owners(graph);
    for (auto const& [name, positions] : fixed) {
        if (const auto owner = owners.find(name); owner != owners.end() && !fixed.contains(owner->second.name)) {
            fail("train: values of ", name, " are to stay; name its owner, ", owner->second.name);
        }
        const auto spec = std::ranges::find(specs, name, &WeightSpec::name);
        if (spec == specs.end()) fail("train: values of ", name, " are to stay; there is no such weight");
        std::size_t size = 1;
        for (const std::int64_t dim : spec->dims) size *= static_cast<std::size_t>(dim);
        for (const std::size_t position : positions) {
            if (position >= size) fail("train: value ", position, " of ", name, " is to stay; it has ", size);
        }
    }
}

/// Throws error, saying which, when an option is impossible.
inline void check_training_options(TrainingOptions const& options) {
    if (options.batch < 1) fail("train: impossible batch ", options.batch);
    if (options.part < 0 || options.batch % options.images_at_once() != 0) {
        fail("train: a batch of ", options.batch, " cannot be taken in parts of ", options.part);
    }
    if (options.epochs < 0) fail("train: impossible number of epochs ", options.epochs);
    if (is_nan(options.learning_rate) || !(options.learning_rate >= 0))
        fail("train: impossible learning rate ", options.learning_rate);
    if (is_nan(options.weight_decay) || !(options.weight_decay >= 0))
        fail("train: impossible weight decay ", options.weight_decay);
    if (is_nan(options.clip_norm) || !(options.clip_norm >= 0))
        fail("train: impossible length of gradients ", options.clip_norm);
    if (const double momentum = options.statistics_momentum.value_or(0); !(momentum >= 0 && momentum <= 1)) {
        fail("train: the momentum of statistics is ", momentum, "; it must be from 0 to 1");
    }
    for (WeightGroup const& group : options.groups) {
        if (is_nan(group.rate) || !(group.rate >= 0))
            fail("train: impossible rate ", group.rate, " for weights ", group.pattern);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
