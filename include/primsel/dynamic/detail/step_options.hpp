#pragma once

#include <primsel/core/error.hpp>
#include <primsel/dynamic/configuration.hpp>
#include <primsel/dynamic/detail/weight_block.hpp>
#include <primsel/dynamic/incremental_options.hpp>
#include <primsel/train/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// Marks the layers that belong to all sub-networks: those with all channels of the whole network's layer that read,
/// directly or not, fewer channels than it. `first` is the smallest sub-network.
[[nodiscard]] inline std::vector<bool> common_layers(Graph const& whole, Configuration const& first) {
    std::vector<bool> common(first.graph.size(), false);
    for (std::size_t i = 0; i < first.graph.size(); ++i) {
        Node const& node = first.graph[i];
        const bool is_whole = node.shape.c == whole[whole.find(node.name)].shape.c;
        for (const std::size_t input : node.inputs) {
            const bool fewer = first.graph[input].shape.c < whole[whole.find(first.graph[input].name)].shape.c;
            if (is_whole && (fewer || common[input])) common[i] = true;
        }
    }
    return common;
}

/// Makes the options of one step from those of the whole training. Weights that the sub-network before has are frozen;
/// those of the layers that belong to all sub-networks learn slower with each step.
class StepOptions {
public:
    StepOptions(Graph const& whole, std::vector<Configuration> const& configurations, IncrementalOptions const& options)
        : whole_(whole), configurations_(configurations), options_(options) {
        const std::vector<bool> common = common_layers(whole, configurations.front());
        for (std::size_t i = 0; i < common.size(); ++i) {
            if (common[i]) common_.push_back(configurations.front().graph[i].name);
        }
    }

    /// Steps and attempts count from 1.
    [[nodiscard]] TrainingOptions of(int step, int attempt) const {
        Configuration const& now = configurations_[static_cast<std::size_t>(step) - 1];
        TrainingOptions options = options_.training;
        options.seed = Random(options.seed, step, attempt)();
        options.groups.clear();
        std::map<std::string, WeightBlock> before;
        if (step > 1) {
            each_block(whole_, configurations_[static_cast<std::size_t>(step) - 2],
                       [&](WeightBlock const& block) { before.emplace(block.name, block); });
        }
        const double slower = std::pow(options_.dense_rate, step - 1);
        each_block(whole_, now, [&](WeightBlock const& block) {
            WeightGroup group = group_of(options_.training.groups, block.name);
            group.pattern = block.name;
            const auto known = before.find(block.name);
            if (is_common(block.name)) {
                group.rate *= slower;
            } else if (known != before.end() && known->second.dims == block.dims) {
                group.rate = 0;
            } else if (known != before.end()) {
                if (block.name.ends_with(".running_var")) {
                    fail("incremental: weight ", block.name, ": statistics of a part of the channels cannot be kept");
                }
                options.fixed.emplace(block.name, positions_within(known->second, block));
            }
            options.groups.push_back(std::move(group));
        });
        return options;
    }

private:
    [[nodiscard]] bool is_common(std::string const& weight) const {
        return std::ranges::any_of(common_, [&](std::string const& layer) {
            return weight == layer || (weight.starts_with(layer) && weight[layer.size()] == '.');
        });
    }
    /// The positions in `block` of the values that `part` has too.
    [[nodiscard]] static std::vector<std::size_t> positions_within(WeightBlock const& part, WeightBlock const& block) {
        std::vector<std::size_t> all, positions;
        part.each([&](std::size_t at) { all.push_back(at); });
        std::size_t next = 0;
        block.each([&](std::size_t at) {
            if (std::ranges::binary_search(all, at)) positions.push_back(next);
            ++next;
        });
        return positions;
    }

    Graph const& whole_;
    std::vector<Configuration> const& configurations_;
    IncrementalOptions const& options_;
    std::vector<std::string> common_;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
