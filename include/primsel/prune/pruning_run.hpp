#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/prune/choose.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/schedule.hpp>
#include <primsel/prune/surgery.hpp>
#include <primsel/train/checkpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// Prunes a network while it is trained, between epochs, as a schedule says. Weights of removed filters are set to zero
/// and kept so after every update; thinned() removes them at the end.
///
///     PruningRun run(schedule, trainer.graph());
///     run.begin(trainer, 0);
///     trainer.fit(source, normalise, augment, validation, [&](EpochReport const& epoch) {
///         run.begin(trainer, epoch.epoch);
///         return true;
///     });
///     const Pruned thin = run.thinned(trainer.weights());
class PruningRun {
public:
    /// Throws error as check_schedule does.
    PruningRun(PruningSchedule schedule, Graph graph)
        : schedule_(std::move(schedule)), graph_(std::move(graph)), coupling_(graph_) {
        check_schedule(schedule_, graph_, coupling_);
    }

    /// Call before each epoch, counted from 0. Sets the weights that the schedule prunes then to zero in the trainer,
    /// from now on.
    template <class Trainer>
    void begin(Trainer& trainer, std::int64_t epoch) {
        if (epoch >= trainer.options().epochs) return;  // there is none
        for (SchedulePolicy const& policy : schedule_.policies) {
            if (!policy.prunes || std::ranges::find(policy.epochs, epoch) == policy.epochs.end()) continue;
            SchedulePruner const& pruner = schedule_.pruners[policy.instance];
            take(pruner, detail::sparsity_at(pruner, policy, epoch), trainer.weights());
            trainer.keep_zero(zeros());
        }
    }
    /// The groups that are removed so far.
    [[nodiscard]] RemovedGroups const& choice() const { return choice_; }
    /// The network and the weights without the removed groups.
    [[nodiscard]] Pruned thinned(Weights const& weights) const {
        return remove_channels(graph_, weights, coupling_, choice_);
    }

    /// Adds the removed groups to a checkpoint of the trainer, for resume().
    void store(Checkpoint& checkpoint) const {
        std::string groups;
        for (const std::size_t group : choice_) groups += join(groups.empty() ? "" : ",", group);
        checkpoint.facts.insert_or_assign("pruned channels", groups);
    }
    /// Continues from a checkpoint that the trainer has resumed already. Throws error, naming the checkpoint, if it has
    /// no removed groups or some that this network does not have.
    template <class Trainer>
    void resume(Checkpoint const& from, Trainer& trainer) {
        const auto found = from.facts.find("pruned channels");
        if (found == from.facts.end()) fail(from.tensors.source(), ": does not say which channels are pruned");
        RemovedGroups choice;
        if (!found->second.empty()) {
            for (std::string const& cell : core::cells_of(found->second)) {
                std::size_t group = 0;
                if (!read_number(std::string_view(cell), group) || group >= coupling_.groups().size() ||
                    !coupling_.groups()[group].fixed.empty()) {
                    fail(from.tensors.source(), ": its pruned channels are ", cell, ", which are none here");
                }
                choice.insert(group);
            }
        }
        choice_ = std::move(choice);
        trainer.keep_zero(zeros());
    }

private:
    void take(SchedulePruner const& pruner, double sparsity, Weights const& weights) {
        std::vector<Ranking> named;
        for (Ranking& ranking : detail::ranked_by(pruner.criterion, graph_, weights, coupling_, pruner.type)) {
            const auto names = [&](std::string const& pattern) { return detail::names_weight(pattern, ranking); };
            if (std::ranges::none_of(pruner.weights, names)) continue;
            first_gone(ranking);
            named.push_back(std::move(ranking));
        }
        RemovedGroups more;
        if (pruner.together) {
            more = choose(std::span<const Ranking>(named), sparsity);
        } else {
            for (Ranking const& ranking : named) more.merge(choose(ranking, sparsity));
        }
        more.insert(choice_.begin(), choice_.end());
        choice_ = sparing(graph_, coupling_, std::move(more));
    }
    /// Puts groups that are removed already first, whatever the criterion says of zeros.
    void first_gone(Ranking& ranking) const {
        std::vector<std::pair<double, std::size_t>> order;  // score, group
        for (std::size_t i = 0; i < ranking.groups.size(); ++i) {
            const bool gone = choice_.contains(ranking.groups[i]);
            order.emplace_back(gone ? -1 : ranking.scores[i], ranking.groups[i]);
        }
        std::stable_partition(order.begin(), order.end(), [](auto const& each) { return each.first < 0; });
        for (std::size_t i = 0; i < order.size(); ++i)
            ranking.scores[i] = order[i].first, ranking.groups[i] = order[i].second;
    }
    [[nodiscard]] ZeroWeights zeros() const { return zero_weights(graph_, coupling_, choice_); }

    PruningSchedule schedule_;
    Graph graph_;
    Coupling coupling_;
    RemovedGroups choice_;
};

}  // namespace primsel::inline PRIMSEL_ABI::prune
