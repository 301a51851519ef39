#pragma once

#include <primsel/network/graph.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/detail/layer_prices.hpp>
#include <primsel/prune/detail/ranked_rows.hpp>
#include <primsel/prune/ranking.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune::detail {

/// Marks the layers that run as steps of their own, which simplify() does not fuse or remove.
[[nodiscard]] inline std::vector<bool> layers_that_run(Graph const& graph) {
    std::set<std::string> names;
    const Graph simple = simplify(graph);
    for (Node const& node : simple.nodes()) {
        if (!std::holds_alternative<InputParams>(node.layer)) names.insert(node.name);
    }
    std::vector<bool> runs;
    for (Node const& node : graph.nodes()) runs.push_back(names.contains(node.name));
    return runs;
}

/// The numbers of groups of a ranking that may be removed, ascending from 0. The numbers that stay are multiples of a
/// step: `multiple` rounded up to at least a power of two between 1/32 and 1/16 of the groups, which is as fine as
/// predictions are.
[[nodiscard]] inline std::vector<std::size_t> stops_of(Ranking const& ranking, std::size_t multiple, double most) {
    const auto may = static_cast<std::size_t>(std::floor(most * static_cast<double>(ranking.count) + 1e-9));
    const std::size_t goes = std::min({may, ranking.count - 1, ranking.groups.size()});
    const std::size_t coarse = std::bit_floor(std::max<std::size_t>(1, ranking.count / 16));
    const std::size_t each = (coarse + multiple - 1) / multiple * multiple;
    std::vector<std::size_t> stops{0};
    for (std::size_t left = (ranking.count - 1) / each * each; left > 0 && ranking.count - left <= goes; left -= each) {
        stops.push_back(ranking.count - left);
    }
    return stops;
}

/// Limits of a ranking, as in PruneTarget.
struct PruningLimits {
    std::size_t multiple = 1;
    double most = 1;
};

/// Removes groups of rankings, step by step: those with the least loss for what they save of the sum of all layers'
/// prices. Price: (layer, channels left of each layer's result) -> its cost; Loss: a PruningLoss.
template <class Price>
class GreedyPruning {
public:
    /// `runs`: whether a layer has a price at all. All arguments but the price and `runs` must outlive the object.
    template <class Loss>
    GreedyPruning(Graph const& graph, RankedChannels const& channels, PruningLimits const& limits,
                  std::vector<bool> runs, Price price, Loss const& loss)
        : coupling_(channels.coupling), rankings_(channels.rankings), runs_(std::move(runs)), price_(price) {
        Coupling const& coupling = coupling_;
        const std::span<const Ranking> rankings = rankings_;
        now_.counts = channels_of(graph);
        now_.at.resize(rankings.size());
        std::vector<std::vector<std::size_t>> readers(graph.size());
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (const std::size_t input : graph[i].inputs) readers[input].push_back(i);
        }
        for (std::size_t i = 0; i < graph.size(); ++i) now_.total += price_of(i);
        touched_.resize(rankings.size());
        for (std::size_t r = 0; r < rankings.size(); ++r) {
            Ladder& ladder = ladders_.emplace_back();
            ladder.gone = stops_of(rankings[r], limits.multiple, limits.most);
            for (const std::size_t gone : ladder.gone) ladder.losses.push_back(loss(rankings[r], gone));
            for (const std::size_t group : rankings[r].groups) {
                for (Channel const& channel : coupling.groups()[group].channels) touched_[r].insert(channel.node);
            }
            const std::set<std::size_t> holders = touched_[r];
            for (const std::size_t holder : holders) touched_[r].insert(readers[holder].begin(), readers[holder].end());
        }
        neighbours_.resize(rankings.size());
        for (std::size_t r = 0; r < rankings.size(); ++r) {
            for (std::size_t other = 0; other < rankings.size(); ++other) {
                const auto both = [&](std::size_t i) { return touched_[other].contains(i); };
                if (std::ranges::any_of(touched_[r], both)) neighbours_[r].push_back(other);
            }
            now_.best.push_back(best_move(r));
        }
    }

    /// The sum of all layers' prices.
    [[nodiscard]] double total() const { return now_.total; }
    /// The loss of all rankings.
    [[nodiscard]] double loss() const {
        double sum = 0;
        for (std::size_t r = 0; r < ladders_.size(); ++r) sum += ladders_[r].losses[now_.at[r]];
        return sum;
    }
    /// The groups that are removed.
    [[nodiscard]] std::set<std::size_t> choice() const {
        std::set<std::size_t> gone;
        for (std::size_t r = 0; r < ladders_.size(); ++r) {
            auto const& groups = rankings_[r].groups;
            gone.insert(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(ladders_[r].gone[now_.at[r]]));
        }
        return gone;
    }
    /// Removes the best next groups, but none of the ranking `held`. Returns whether there were any.
    bool step(std::optional<std::size_t> held = {}) {
        std::size_t best = rankings_.size();
        for (std::size_t r = 0; r < rankings_.size(); ++r) {
            if (r == held || now_.best[r].steps == 0) continue;
            if (best == rankings_.size() || now_.best[r].loss_per_saving < now_.best[best].loss_per_saving) best = r;
        }
        if (best == rankings_.size()) return false;
        move(best, now_.at[best] + now_.best[best].steps);
        return true;
    }
    /// Puts groups back as long as removing others instead loses less and the total stays within `most_total`.
    void improve(double most_total) {
        for (bool better = true; better;) {
            better = false;
            for (std::size_t r = 0; r < rankings_.size(); ++r) {
                for (std::size_t steps = 1; steps <= now_.at[r]; steps *= 2) {
                    const Now before = now_;
                    const double loss_before = loss();
                    move(r, now_.at[r] - steps);
                    while (now_.total > most_total && loss() < loss_before && step(r)) {
                    }
                    if (now_.total <= most_total && loss() < loss_before - 1e-9 * std::abs(loss_before)) {
                        better = true;
                    } else {
                        now_ = before;
                    }
                }
            }
        }
    }

private:
    /// The numbers of groups of a ranking that may be removed, and the loss of each.
    struct Ladder {
        std::vector<std::size_t> gone;
        std::vector<double> losses;
    };
    struct Move {
        double loss_per_saving = std::numeric_limits<double>::infinity();
        std::size_t steps = 0;
    };
    struct Now {
        std::vector<std::size_t> at;  // of each ranking: where on its ladder
        std::vector<int> counts;
        double total = 0;
        std::vector<Move> best;
    };

    [[nodiscard]] double price_of(std::size_t i) { return runs_[i] ? price_(i, now_.counts) : 0; }
    /// Moves the ranking to a place of its ladder and updates the channel counts only.
    void set(std::size_t r, std::size_t to) {
        const std::size_t from = ladders_[r].gone[now_.at[r]], until = ladders_[r].gone[to];
        for (std::size_t at = std::min(from, until); at < std::max(from, until); ++at) {
            for (Channel const& channel : coupling_.groups()[rankings_[r].groups[at]].channels) {
                now_.counts[channel.node] += until > from ? -1 : 1;
            }
        }
        now_.at[r] = to;
    }
    void move(std::size_t r, std::size_t to) {
        const double before = price_of_touched(r);
        set(r, to);
        now_.total += price_of_touched(r) - before;
        for (const std::size_t other : neighbours_[r]) now_.best[other] = best_move(other);
    }
    [[nodiscard]] double price_of_touched(std::size_t r) {
        double sum = 0;
        for (const std::size_t i : touched_[r]) sum += price_of(i);
        return sum;
    }
    /// The best of moves by 1, 2, 4, ... steps: the price of some layers changes only when half of their channels or
    /// more are removed.
    [[nodiscard]] Move best_move(std::size_t r) {
        Ladder const& ladder = ladders_[r];
        const std::size_t at = now_.at[r];
        const double before = price_of_touched(r);
        Move best;
        for (std::size_t steps = 1; at + steps < ladder.gone.size(); steps *= 2) {
            set(r, at + steps);
            const bool empty = std::ranges::any_of(touched_[r], [&](std::size_t i) { return now_.counts[i] < 1; });
            const double saving = empty ? 0 : before - price_of_touched(r);
            set(r, at);
            if (empty) break;
            const double loss = ladder.losses[at + steps] - ladder.losses[at];
            // Moves that save nothing come last, those with the least loss first.
            const double loss_per_saving = saving > 0 ? loss / saving : worst * (1 + loss);
            if (loss_per_saving < best.loss_per_saving) best = {loss_per_saving, steps};
        }
        return best;
    }

    static constexpr double worst = 1e100;

    Coupling const& coupling_;
    std::span<const Ranking> rankings_;
    std::vector<bool> runs_;
    Price price_;
    std::vector<Ladder> ladders_;
    std::vector<std::set<std::size_t>> touched_;
    /// For each ranking, the rankings whose savings change with it, itself included.
    std::vector<std::vector<std::size_t>> neighbours_;
    Now now_;
};

}  // namespace primsel::inline PRIMSEL_ABI::prune::detail
