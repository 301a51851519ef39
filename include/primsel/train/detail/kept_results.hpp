#pragma once

#include <primsel/engine/schedule.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::train::detail {

/// How much memory a step takes from layer to layer, and which layers of its forward pass are computed again that it be
/// less. An estimate: copies in other layouts are left out, and what is computed in place counts twice.
class KeptResults {
public:
    KeptResults(Graph const& step, std::size_t backward, Plan const& plan, Schedule const& schedule)
        : step_(step), backward_(backward), again_(step.size(), false), read_backward_(step.size(), false) {
        for (PlannedLayer const& layer : plan.layers) seconds_.push_back(layer.seconds);
        const auto batch = static_cast<std::size_t>(step.batch());
        for (Node const& node : step.nodes()) {
            const std::size_t bytes = node.shape.size() * sizeof(float);
            bytes_.push_back(given(node) ? 0 : of_batch(node.layer) ? bytes : batch * bytes);
        }
        for (const std::size_t output : step.outputs()) bytes_[output] = 0;  // the caller's
        beside_.resize(step.size(), 0);
        const auto add = [&](std::size_t node, std::size_t tensor) {
            if (tensor != no_tensor) beside_[node] += schedule.lifetimes[tensor - schedule.callers()].bytes;
        };
        for (ScheduledStep const& each : schedule.steps) {
            if (!each.is<ConvStep>()) continue;
            add(each.node, each.scratch());
            add(each.node, each.packed());
        }
        for (std::size_t i = backward; i < step.size(); ++i) {
            for (const std::size_t input : step[i].inputs) read_backward_[input] = true;
        }
    }

    [[nodiscard]] std::vector<bool> const& again() const { return again_; }
    [[nodiscard]] std::size_t most_bytes() const { return std::ranges::max(alive(again_)); }

    /// Computes further layers again until no more than so many bytes are alive at a time, or nothing else helps:
    /// always those that take the least time for the bytes above, summed over the layers during which they are. Returns
    /// whether there was anything.
    bool reduce(std::size_t most) {
        bool changed = false;
        for (double above = above_of(again_, most); above > 0;) {
            std::optional<std::vector<bool>> best;
            double best_price = 0, best_above = 0;
            for (std::size_t i = 0; i < backward_; ++i) {
                if (!kept(i)) continue;
                const auto consider = [&](std::vector<bool> other, double seconds) {
                    const double left = above_of(other, most);
                    if (left >= above || (best && seconds / (above - left) >= best_price)) return;
                    best = std::move(other), best_price = seconds / (above - left), best_above = left;
                };
                std::vector<bool> alone = again_, together = again_;
                const double seconds = add(i, false, alone), of_all = add(i, true, together);
                if (together != alone) consider(std::move(together), of_all);
                consider(std::move(alone), seconds);
            }
            if (!best) break;
            again_ = std::move(*best), above = best_above, changed = true;
        }
        return changed;
    }

private:
    static constexpr std::size_t never = static_cast<std::size_t>(-1);

    [[nodiscard]] static bool given(Node const& node) {
        return std::holds_alternative<InputParams>(node.layer) || std::holds_alternative<ParameterParams>(node.layer) ||
               std::holds_alternative<ConstantParams>(node.layer);
    }
    [[nodiscard]] bool can_repeat(std::size_t i) const { return bytes_[i] > 0 && !of_batch(step_[i].layer); }
    /// Whether its first result is kept until the backward pass, for that or for what is computed again.
    [[nodiscard]] bool kept(std::size_t i) const { return can_repeat(i) && !again_[i] && is_read(i, again_); }
    [[nodiscard]] bool is_read(std::size_t i, std::vector<bool> const& again) const {
        if (read_backward_[i]) return true;
        for (std::size_t reader = i + 1; reader < backward_; ++reader) {
            if (again[reader] && std::ranges::find(step_[reader].inputs, i) != step_[reader].inputs.end()) return true;
        }
        return false;
    }
    /// Computes a layer again, and so its inputs where nothing else has kept them, or else keeps these. Returns the
    /// seconds.
    [[nodiscard]] double add(std::size_t layer, bool with_inputs, std::vector<bool>& again) const {
        std::vector<bool> const before = again;
        std::vector<std::size_t> stack{layer};
        double seconds = 0;
        while (!stack.empty()) {
            const std::size_t i = stack.back();
            stack.pop_back();
            if (again[i]) continue;
            again[i] = true;
            seconds += seconds_[i];
            for (const std::size_t input : step_[i].inputs) {
                if (with_inputs && can_repeat(input) && !is_read(input, before)) stack.push_back(input);
            }
        }
        return seconds;
    }

    /// Bytes alive while each layer runs, in the order in which recompute() has them run.
    [[nodiscard]] std::vector<std::size_t> alive(std::vector<bool> const& again) const {
        const std::size_t n = step_.size();
        std::vector<std::size_t> written(2 * n, never), last(2 * n, 0), order;  // results of the second time from n on
        const auto run = [&](std::size_t i, bool reads_again, std::size_t result) {
            for (const std::size_t input : step_[i].inputs) {
                last[reads_again && again[input] ? n + input : input] = order.size();
            }
            written[result] = last[result] = order.size();
            order.push_back(i);
        };
        std::vector<std::size_t> due;
        for (std::size_t i = 0; i < n; ++i) {
            const auto add_due = [&](std::size_t layer) {
                for (const std::size_t input : step_[layer].inputs) {
                    if (again[input] && written[n + input] == never) due.push_back(input);
                }
            };
            due.clear();
            if (i >= backward_) add_due(i);
            for (std::size_t at = 0; at < due.size(); ++at) add_due(due[at]);
            std::ranges::sort(due);
            due.erase(std::unique(due.begin(), due.end()), due.end());
            for (const std::size_t layer : due) run(layer, true, n + layer);
            run(i, i >= backward_, i);
        }
        std::vector<std::size_t> begins(order.size(), 0), ends(order.size() + 1, 0), result(order.size());
        for (std::size_t slot = 0; slot < 2 * n; ++slot) {
            if (written[slot] == never) continue;
            begins[written[slot]] += bytes_[slot % n];
            ends[last[slot] + 1] += bytes_[slot % n];
        }
        std::size_t now = 0;
        for (std::size_t at = 0; at < order.size(); ++at) {
            now += begins[at];
            now -= ends[at];
            result[at] = now + beside_[order[at]];
        }
        return result;
    }
    [[nodiscard]] double above_of(std::vector<bool> const& again, std::size_t most) const {
        double sum = 0;
        for (const std::size_t bytes : alive(again)) sum += bytes > most ? static_cast<double>(bytes - most) : 0;
        return sum;
    }

    Graph const& step_;
    std::size_t backward_;
    std::vector<bool> again_, read_backward_;
    std::vector<std::size_t> bytes_, beside_;  // beside: scratch and packed weights
    std::vector<double> seconds_;
};

}  // namespace primsel::inline PRIMSEL_ABI::train::detail
