#pragma once

#include <primsel/core/aligned_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A buffer of so many floats that must keep its contents from step `first` to step `last`, both included.
struct Lifetime {
    std::size_t floats = 0;
    std::size_t first = 0, last = 0;
};

/// Where each buffer lies in one arena, in floats, aligned to cache lines.
struct ArenaLayout {
    std::vector<std::size_t> offsets;
    std::size_t floats = 0;
};

/// Buffers that live at the same time do not overlap; others may share room. The largest first, each in the smallest
/// gap that holds it.
[[nodiscard]] inline ArenaLayout place(std::span<const Lifetime> buffers) {
    std::vector<std::size_t> order(buffers.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return buffers[a].floats > buffers[b].floats; });

    ArenaLayout layout{std::vector<std::size_t>(buffers.size(), 0), 0};
    std::vector<std::size_t> placed;  // by offset
    for (const std::size_t i : order) {
        const std::size_t size = round_up_floats(buffers[i].floats);
        std::size_t best = 0, best_gap = static_cast<std::size_t>(-1), end = 0;
        bool found = false;
        for (const std::size_t j : placed) {
            if (buffers[j].last < buffers[i].first || buffers[i].last < buffers[j].first) continue;
            const std::size_t begin = layout.offsets[j];
            if (begin >= end + size && begin - end < best_gap) best = end, best_gap = begin - end, found = true;
            end = std::max(end, begin + round_up_floats(buffers[j].floats));
        }
        layout.offsets[i] = found ? best : end;
        layout.floats = std::max(layout.floats, layout.offsets[i] + size);
        const auto position =
            std::ranges::upper_bound(placed, layout.offsets[i], {}, [&](std::size_t j) { return layout.offsets[j]; });
        placed.insert(position, i);
    }
    return layout;
}

}  // namespace primsel::inline PRIMSEL_ABI
