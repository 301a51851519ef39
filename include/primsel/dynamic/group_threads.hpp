#pragma once

#include <primsel/core/timer.hpp>
#include <primsel/dynamic/grouped.hpp>
#include <primsel/engine/program.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// How threads divide a network in groups. share_layers: all threads share each layer. take_groups: each thread
/// computes groups of its own, and all share the other layers. faster: the faster of the two for each sub-network,
/// measured when the engine is made. Results are the same, bit for bit.
enum class GroupThreads { faster, share_layers, take_groups };

namespace detail {

/// The lane of each node, from 1 on: groups 1 to `groups` are spread over `lanes` lanes, consecutive groups in the same
/// lane. Nodes of other groups or of none are in lane 0, which means no lane.
[[nodiscard]] inline std::vector<std::size_t> lanes_of_groups(Graph const& graph, std::size_t groups,
                                                              std::size_t lanes) {
    std::vector<std::size_t> lane(graph.size(), 0);
    for (std::size_t i = 0; i < lane.size(); ++i) {
        const auto group = static_cast<std::size_t>(group_number(graph[i].name));
        if (group >= 1 && group <= groups) lane[i] = (group - 1) * lanes / groups + 1;
    }
    return lane;
}

/// The arrangements of a sub-network to choose from. The first has no lanes: threads share each layer. The second has
/// all groups in lanes. The third, if the groups are no multiple of the workers, has the largest multiple in lanes; all
/// share the layers of the rest. Arrangements whose arena exceeds `max_arena` bytes are left out. A batch has the first
/// only.
[[nodiscard]] inline std::vector<Arrangement> arrangements(Graph const& graph, Schedule const& schedule,
                                                           std::size_t workers, std::size_t max_arena) {
    std::vector<Arrangement> result{arrange(schedule)};
    std::size_t groups = 0;
    for (Node const& node : graph.nodes()) {
        groups = std::max(groups, static_cast<std::size_t>(group_number(node.name)));
    }
    if (workers < 2 || groups < 2 || graph.batch() > 1) return result;
    const auto add = [&](std::size_t some) {
        auto next = arrange(schedule, lanes_of_groups(graph, some, std::min(workers, some)));
        if (next && next->layout.bytes <= max_arena) result.push_back(std::move(*next));
    };
    add(groups);
    if (groups > workers && groups % workers > 0) add(groups - groups % workers);
    return result;
}

/// The index of the fastest arrangement. They are timed in turns, for 5 rounds or until 20 ms have passed; in a round
/// each runs up to 4 times or for 5 ms, but at least once. The least time counts. An untimed run with the largest arena
/// comes first, so that the system maps its pages.
[[nodiscard]] inline std::size_t fastest(Program& program, std::span<const Arrangement> arrangements,
                                         ExecutorRef executor) {
    if (arrangements.size() == 1) return 0;
    constexpr int rounds = 5, runs = 4;
    constexpr double enough = 0.02;
    const std::vector<float> image(program.in_floats(), 0.5F);
    std::vector<float> result(program.out_floats());
    std::vector<double> least(arrangements.size(), std::numeric_limits<double>::infinity());
    program.rearrange(*std::ranges::max_element(arrangements, {}, [](Arrangement const& a) { return a.layout.bytes; }));
    program.run(image.data(), result.data(), executor);
    const Timer since;
    for (int round = 0; round < rounds && (round == 0 || since.seconds() < enough); ++round) {
        for (std::size_t i = 0; i < arrangements.size(); ++i) {
            program.rearrange(arrangements[i]);
            const Timer own;
            for (int run = 0; run < runs && (run == 0 || own.seconds() < enough / runs); ++run) {
                const Timer timer;
                program.run(image.data(), result.data(), executor);
                least[i] = std::min(least[i], timer.seconds());
            }
        }
    }
    return static_cast<std::size_t>(std::ranges::min_element(least) - least.begin());
}

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
