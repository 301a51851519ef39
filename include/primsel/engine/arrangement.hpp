#pragma once

#include <primsel/engine/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// In which order a schedule's steps run, which of them at the same time, and where its tensors lie.
///
/// Lanes are parts of a network that have nothing to do with each other, such as groups of channels. Each runs on one
/// worker, step by step; the steps before and behind them are shared by all workers. A lane's tensors lie in a room of
/// its own, so that it does not matter how far the others are.
struct Arrangement {
    /// Positions in the schedule.
    std::vector<std::size_t> order;
    /// Where each lane begins in the order, and where the last one ends; empty without lanes.
    std::vector<std::size_t> lanes;
    ArenaLayout layout;

    [[nodiscard]] std::size_t lane_count() const { return lanes.empty() ? 0 : lanes.size() - 1; }
};

/// One step after the other.
[[nodiscard]] inline Arrangement arrange(Schedule const& schedule) {
    Arrangement result{std::vector<std::size_t>(schedule.steps.size()), {}, place_buffers(schedule)};
    std::iota(result.order.begin(), result.order.end(), std::size_t{0});
    return result;
}

namespace engine::detail {

/// The steps that read and write each tensor.
class TensorUses {
public:
    struct Use {
        std::size_t step;
        bool writes;
        bool part;  // of a concatenation: other steps write the rest
    };

    explicit TensorUses(Schedule const& schedule) : of_(schedule.tensors()) {
        for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
            ScheduledStep const& step = schedule.steps[i];
            for (const std::size_t src : step.src) add(src, {i, false, false});
            add(step.residual(), {i, false, false});
            add(step.dst, {i, true, step.written().stride != 0});
            add(step.scratch(), {i, true, false});
            add(step.packed(), {i, true, false});
        }
    }
    [[nodiscard]] std::vector<Use> const& operator[](std::size_t tensor) const { return of_[tensor]; }
    [[nodiscard]] std::size_t size() const { return of_.size(); }

private:
    void add(std::size_t tensor, Use use) {
        if (tensor != no_tensor) of_[tensor].push_back(use);
    }
    std::vector<std::vector<Use>> of_;
};

/// Makes the arrangement of a schedule whose nodes belong to lanes, from 1 on, or to none, 0.
class LaneArranger {
public:
    LaneArranger(Schedule const& schedule, std::span<const std::size_t> lane_of_node)
        : schedule_(schedule), uses_(schedule), phase_(schedule.steps.size(), 0) {
        for (const std::size_t lane : lane_of_node) lanes_ = std::max(lanes_, lane);
        for (std::size_t i = 0; i < phase_.size(); ++i) phase_[i] = lane_of_node[schedule.steps[i].node];
        std::vector<std::vector<std::size_t>> tensors(phase_.size());  // of each step
        for (std::size_t tensor = 0; tensor < uses_.size(); ++tensor) {
            for (Use const& use : uses_[tensor]) tensors[use.step].push_back(tensor);
        }
        for (std::size_t i = 0; i < phase_.size(); ++i) {
            if (phase_[i] == 0 && follows_lanes(i, tensors[i])) phase_[i] = behind();
        }
    }

    [[nodiscard]] std::optional<Arrangement> arrangement() const {
        if (lanes_ == 0 || !keeps_order()) return std::nullopt;
        Arrangement result{std::vector<std::size_t>(phase_.size()), {}, {}};
        std::iota(result.order.begin(), result.order.end(), std::size_t{0});
        std::ranges::stable_sort(result.order, {}, [this](std::size_t step) { return phase_[step]; });
        for (std::size_t lane = 1; lane <= behind(); ++lane) {
            const auto first =
                std::ranges::find_if(result.order, [&](std::size_t step) { return phase_[step] >= lane; });
            result.lanes.push_back(static_cast<std::size_t>(first - result.order.begin()));
        }
        result.layout = layout(result);
        return result;
    }

private:
    using Use = TensorUses::Use;

    /// The phases are 0, before the lanes; each lane's number; and this.
    [[nodiscard]] std::size_t behind() const { return lanes_ + 1; }
    [[nodiscard]] static bool meet(Use const& one, Use const& other) {
        return (one.writes || other.writes) && !(one.part && other.part);
    }
    /// Whether a step of no lane, which uses these tensors, must wait for one that is in a lane, or behind them.
    [[nodiscard]] bool follows_lanes(std::size_t step, std::span<const std::size_t> tensors) const {
        for (const std::size_t tensor : tensors) {
            for (Use const& own : uses_[tensor]) {
                if (own.step != step) continue;
                for (Use const& other : uses_[tensor]) {
                    if (other.step < step && phase_[other.step] > 0 && meet(other, own)) return true;
                }
            }
        }
        return false;
    }
    /// Whether all that depend on each other still follow each other.
    [[nodiscard]] bool keeps_order() const {
        for (std::size_t tensor = 0; tensor < uses_.size(); ++tensor) {
            for (Use const& one : uses_[tensor]) {
                for (Use const& other : uses_[tensor]) {
                    if (one.step >= other.step || !meet(one, other)) continue;
                    const std::size_t first = phase_[one.step], second = phase_[other.step];
                    const bool apart = first > 0 && second < behind() && first != second;
                    if (first > second || apart) return false;
                }
            }
        }
        return true;
    }

    /// The lane that has a tensor for itself; 0: none.
    [[nodiscard]] std::size_t owner(std::size_t tensor) const {
        if (uses_[tensor].empty()) return 0;
        const std::size_t lane = phase_[uses_[tensor][0].step];
        const bool all = std::ranges::all_of(uses_[tensor], [&](Use const& use) { return phase_[use.step] == lane; });
        return all && lane < behind() ? lane : 0;
    }
    /// From the first to the last of a tensor's steps, in a time that maps a position in the order to.
    template <class Time>
    [[nodiscard]] Lifetime lifetime(std::size_t tensor, std::vector<std::size_t> const& position,
                                    Time const& time) const {
        Lifetime result{bytes(tensor), no_tensor, 0};
        for (Use const& use : uses_[tensor]) {
            const std::size_t now = time(position[use.step]);
            result.first = std::min(result.first, now), result.last = std::max(result.last, now);
        }
        if (uses_[tensor].empty()) result.first = 0;
        return result;
    }
    /// Bytes of a tensor. Scratch in a lane is sized for one worker, since one worker runs the lane.
    [[nodiscard]] std::size_t bytes(std::size_t tensor) const {
        if (owner(tensor) > 0) {
            ScheduledStep const& step = schedule_.steps[uses_[tensor][0].step];
            if (step.scratch() == tensor) return scratch_bytes(step, 1);
        }
        return schedule_.lifetimes[tensor - schedule_.callers()].bytes;
    }
    /// A room for each lane, in which its tensors lie by its own steps; for the rest all lanes are one step.
    [[nodiscard]] ArenaLayout layout(Arrangement const& arranged) const {
        std::vector<std::size_t> position(arranged.order.size());
        for (std::size_t i = 0; i < position.size(); ++i) position[arranged.order[i]] = i;
        const std::size_t begin = arranged.lanes.front(), end = arranged.lanes.back();
        const auto outside = [&](std::size_t at) { return at < begin ? at : at < end ? begin : at - end + begin + 1; };
        std::vector<Lifetime> common;
        std::vector<std::vector<Lifetime>> own(lanes_ + 1);
        std::vector<std::size_t> place_of(schedule_.lifetimes.size());
        for (std::size_t i = 0; i < place_of.size(); ++i) {
            const std::size_t tensor = schedule_.callers() + i, lane = owner(tensor);
            std::vector<Lifetime>& list = lane == 0 ? common : own[lane];
            place_of[i] = list.size();
            list.push_back(lane == 0 ? lifetime(tensor, position, outside)
                                     : lifetime(tensor, position, [](std::size_t at) { return at; }));
        }
        const std::size_t rooms = common.size();
        std::vector<ArenaLayout> inside{{}};
        for (std::size_t lane = 1; lane <= lanes_; ++lane) {
            inside.push_back(place_buffers(own[lane]));
            common.push_back({inside.back().bytes, begin, begin});
        }
        const ArenaLayout outer = place_buffers(common);
        ArenaLayout result{{}, outer.bytes};
        for (std::size_t i = 0; i < place_of.size(); ++i) {
            const std::size_t lane = owner(schedule_.callers() + i);
            result.offsets.push_back(lane == 0 ? outer.offsets[place_of[i]]
                                               : outer.offsets[rooms + lane - 1] + inside[lane].offsets[place_of[i]]);
        }
        return result;
    }

    Schedule const& schedule_;
    TensorUses uses_;
    std::vector<std::size_t> phase_;
    std::size_t lanes_ = 0;
};

}  // namespace engine::detail

/// With the nodes of the graph in these lanes, which are numbered from 1 on; 0: in none. Of a schedule of one image.
/// Nothing where lanes need each other, or write where another one reads.
[[nodiscard]] inline std::optional<Arrangement> arrange(Schedule const& schedule,
                                                        std::span<const std::size_t> lane_of_node) {
    return engine::detail::LaneArranger(schedule, lane_of_node).arrangement();
}

}  // namespace primsel::inline PRIMSEL_ABI
