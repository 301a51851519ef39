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

/// How threads divide a network in groups: they share each layer, they take groups each, layer after layer, or
/// whichever is faster in each configuration, measured when the engine is made. Results are the same, bit for bit.
enum class GroupThreads { faster, share_layers, take_groups };

namespace detail {

/// Which lane each node is in, of `groups` groups in as many lanes: each has groups in a row. Of others in none.
[[nodiscard]] inline std::vector<std::size_t> lanes_of_groups(Graph const& graph, std::size_t groups,
                                                              std::size_t lanes) {
    std::vector<std::size_t> lane(graph.size(), 0);
    for (std::size_t i = 0; i < lane.size(); ++i) {
        const auto group = static_cast<std::size_t>(group_number(graph[i].name));
        if (group >= 1 && group <= groups) lane[i] = (group - 1) * lanes / groups + 1;
    }
    return lane;
}

/// The arrangements of a configuration that workers can choose from. The first has no lanes. In the second all groups
/// are in lanes, in the third as many as the workers can take equally often, while they share the layers of the rest.
/// Arenas of more than so many bytes, and batches, have the first only.
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

/// The fastest of them, run in turns for 20 ms, or once each where that takes longer; before, the one with the largest
/// arena, whose pages the system then has made.
[[nodiscard]] inline std::size_t fastest(Program& program, std::span<const Arrangement> arrangements,
                                         ExecutorRef executor) {
    if (arrangements.size() == 1) return 0;
    constexpr int rotates = 5, runs = 4;
    constexpr double enough = 0.02;
    const std::vector<float> image(program.in_floats(), 0.5F);
    std::vector<float> result(program.out_floats());
    std::vector<double> least(arrangements.size(), std::numeric_limits<double>::infinity());
    program.rearrange(*std::ranges::max_element(arrangements, {}, [](Arrangement const& a) { return a.layout.bytes; }));
    program.run(image.data(), result.data(), executor);
    const Timer since;
    for (int turn = 0; turn < rotates && (turn == 0 || since.seconds() < enough); ++turn) {
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
