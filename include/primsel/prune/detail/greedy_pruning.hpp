#pragma once

#include <primsel/network/graph.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/detail/layer_prices.hpp>
#include <primsel/prune/detail/ranked_rows.hpp>
#include <primsel/prune/ranking.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// The layers that have a step of their own: simplify leaves them.
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

/// Takes from rankings, step by step, what loses the least importance for what it saves of the sum of all layers'
/// prices. Price: (layer, channels left of each layer's result) -> what it costs.
template <class Price>
class GreedyPruning {
public:
    /// runs: whether a layer has a price at all. All but the price must outlive it.
    GreedyPruning(Graph const& graph, Coupling const& coupling, std::span<const Ranking> rankings, std::size_t multiple,
                  double most, std::vector<bool> runs, Price price)
        : coupling_(coupling), rankings_(rankings), runs_(std::move(runs)), price_(price), counts_(channels_of(graph)) {
        std::vector<std::vector<std::size_t>> readers(graph.size());
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (const std::size_t input : graph[i].inputs) readers[input].push_back(i);
        }
        for (std::size_t i = 0; i < graph.size(); ++i) total_ += price_of(i);
        for (Ranking const& ranking : rankings) states_.push_back(state_of(ranking, multiple, most));
        touched_.resize(rankings.size());
        for (std::size_t r = 0; r < rankings.size(); ++r) {
            for (const std::size_t group : rankings[r].groups) {
                for (Channel const& channel : coupling.groups()[group].channels) touched_[r].insert(channel.node);
            }
            const std::set<std::size_t> holders = touched_[r];
            for (const std::size_t holder : holders) touched_[r].insert(readers[holder].begin(), readers[holder].end());
            best_.push_back(best_move(r));
        }
    }

    /// The sum of all layers' prices.
    [[nodiscard]] double total() const { return total_; }
    /// What is gone.
    [[nodiscard]] std::set<std::size_t> choice() const {
        std::set<std::size_t> gone;
        for (std::size_t r = 0; r < states_.size(); ++r) {
            auto const& groups = rankings_[r].groups;
            gone.insert(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(states_[r].gone));
        }
        return gone;
    }
    /// Returns whether there was something to take.
    bool step() {
        const auto best = std::ranges::min_element(best_, {}, &Move::loss_per_saving);
        if (best == best_.end() || best->groups == 0) return false;
        const auto r = static_cast<std::size_t>(best - best_.begin());
        const Move move = *best;
        change(r, move.groups, -1);
        total_ -= move.saving;
        states_[r].left -= move.importance;
        states_[r].gone += move.groups;
        for (std::size_t other = 0; other < best_.size(); ++other) {
            const bool both =
                std::ranges::any_of(touched_[r], [&](std::size_t i) { return touched_[other].contains(i); });
            if (both) best_[other] = best_move(other);
        }
        return true;
    }

private:
    /// Of a ranking: how many groups are gone, and may be; how many go at least at once; the importance that is left.
    struct State {
        std::size_t gone = 0, most = 0, first = 1, each = 1;
        double left = 0;
    };
    struct Move {
        double loss_per_saving = std::numeric_limits<double>::infinity();
        std::size_t groups = 0;
        double saving = 0, importance = 0;
    };

    [[nodiscard]] static State state_of(Ranking const& ranking, std::size_t multiple, double most) {
        State state;
        const auto may = static_cast<std::size_t>(std::floor(most * static_cast<double>(ranking.count) + 1e-9));
        const std::size_t left = std::max<std::size_t>(ranking.count - may, 1);
        const std::size_t kept = std::min(ranking.count, (left + multiple - 1) / multiple * multiple);
        state.most = std::min(ranking.count - kept, ranking.groups.size());
        state.left = std::accumulate(ranking.scores.begin(), ranking.scores.end(), 0.0);
        // Sixteen steps or so from all to nothing are as fine as predictions are.
        const std::size_t coarse = std::max<std::size_t>(1, ranking.count / 16);
        state.each = (coarse + multiple - 1) / multiple * multiple;
        // Those beyond the greatest multiple go first.
        state.first = ranking.count % multiple == 0 ? state.each : ranking.count % multiple;
        return state;
    }
    [[nodiscard]] double price_of(std::size_t i) { return runs_[i] ? price_(i, counts_) : 0; }
    /// Takes so many of the ranking's next groups away, or puts them back.
    void change(std::size_t r, std::size_t groups, int by) {
        for (std::size_t at = states_[r].gone; at < states_[r].gone + groups; ++at) {
            for (Channel const& channel : coupling_.groups()[rankings_[r].groups[at]].channels) {
                counts_[channel.node] += by;
            }
        }
    }
    [[nodiscard]] double price_of_touched(std::size_t r) {
        double sum = 0;
        for (const std::size_t i : touched_[r]) sum += price_of(i);
        return sum;
    }
    /// The best of taking the least that goes at once, or twice, four times, ... as much: the price of some layers
    /// stays until half of their channels or more are gone.
    [[nodiscard]] Move best_move(std::size_t r) {
        State const& state = states_[r];
        Ranking const& ranking = rankings_[r];
        const double before = price_of_touched(r);
        Move best;
        for (std::size_t times = 1;; times *= 2) {
            const std::size_t groups = (state.gone == 0 ? state.first : state.each) + (times - 1) * state.each;
            if (state.gone + groups > state.most) break;
            change(r, groups, -1);
            const bool empty = std::ranges::any_of(touched_[r], [&](std::size_t i) { return counts_[i] < 1; });
            const double saving = empty ? 0 : before - price_of_touched(r);
            change(r, groups, 1);
            if (empty) break;
            Move move{.groups = groups, .saving = saving};
            for (std::size_t at = state.gone; at < state.gone + groups; ++at) move.importance += ranking.scores[at];
            const double left = std::max(state.left - move.importance, 1e-9 * state.left);
            const double loss = state.left > 0
                                    ? static_cast<double>(ranking.layers.size()) * std::log(state.left / left)
                                    : static_cast<double>(groups);
            // What saves nothing comes last, that which loses least first.
            move.loss_per_saving = saving > 0 ? loss / saving : worst * (1 + loss);
            if (move.loss_per_saving < best.loss_per_saving) best = move;
        }
        return best;
    }

    static constexpr double worst = 1e100;

    Coupling const& coupling_;
    std::span<const Ranking> rankings_;
    std::vector<bool> runs_;
    Price price_;
    std::vector<int> counts_;
    double total_ = 0;
    std::vector<State> states_;
    std::vector<std::set<std::size_t>> touched_;
    std::vector<Move> best_;
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
