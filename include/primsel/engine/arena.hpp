#pragma once

#include <primsel/core/aligned_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A buffer of so many bytes that must keep its contents from step `first` to step `last`, both included.
struct Lifetime {
    std::size_t bytes = 0;
    std::size_t first = 0, last = 0;
};

/// Where each buffer lies in one arena, in bytes, aligned to cache lines.
struct ArenaLayout {
    std::vector<std::size_t> offsets;
    std::size_t bytes = 0;
};

namespace engine::detail {

/// The most bytes that are alive at a time: no arena is smaller.
[[nodiscard]] inline std::size_t most_alive(std::span<const Lifetime> buffers) {
    std::size_t most = 0;
    for (Lifetime const& at : buffers) {  // the sum grows only where a life begins
        std::size_t alive = 0;
        for (Lifetime const& other : buffers) {
            if (other.first <= at.first && at.first <= other.last) alive += round_up_bytes(other.bytes);
        }
        most = std::max(most, alive);
    }
    return most;
}

using Weight = std::pair<std::size_t, std::size_t>;

/// Positions, of equal weights the first one first.
[[nodiscard]] inline std::vector<std::size_t> heaviest_first(std::span<const Weight> weights) {
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
    });
    return order;
}

/// Each buffer in its turn goes to the smallest gap that holds it.
[[nodiscard]] inline ArenaLayout place_in_order(std::span<const Lifetime> buffers,
                                                std::vector<std::size_t> const& order) {
    ArenaLayout layout{std::vector<std::size_t>(buffers.size(), 0), 0};
    std::vector<std::size_t> placed;  // by offset
    for (const std::size_t i : order) {
        const std::size_t size = round_up_bytes(buffers[i].bytes);
        std::size_t best = 0, best_gap = static_cast<std::size_t>(-1), end = 0;
        bool found = false;
        for (const std::size_t j : placed) {
            if (buffers[j].last < buffers[i].first || buffers[i].last < buffers[j].first) continue;
            const std::size_t begin = layout.offsets[j];
            if (begin >= end + size && begin - end < best_gap) best = end, best_gap = begin - end, found = true;
            end = std::max(end, begin + round_up_bytes(buffers[j].bytes));
        }
        layout.offsets[i] = found ? best : end;
        layout.bytes = std::max(layout.bytes, layout.offsets[i] + size);
        const auto position =
            std::ranges::upper_bound(placed, layout.offsets[i], {}, [&](std::size_t j) { return layout.offsets[j]; });
        placed.insert(position, i);
    }
    return layout;
}

}  // namespace engine::detail

/// Places the buffers so that those alive at the same time do not overlap. Tries five greedy orders: by size, lifetime,
/// size times lifetime, first step and last step. Returns the smallest layout; stops at one that reaches the lower
/// bound.
[[nodiscard]] inline ArenaLayout place_buffers(std::span<const Lifetime> buffers) {
    const std::size_t least = engine::detail::most_alive(buffers);
    const auto steps = [&](std::size_t i) { return buffers[i].last - buffers[i].first + 1; };
    const auto placed_by = [&](auto const& weight) {
        std::vector<engine::detail::Weight> weights(buffers.size());
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = weight(i);
        return engine::detail::place_in_order(buffers, engine::detail::heaviest_first(weights));
    };
    ArenaLayout best = placed_by([&](std::size_t i) { return engine::detail::Weight(buffers[i].bytes, 0); });
    const auto improve = [&](auto const& weight) {
        if (best.bytes == least) return;
        if (ArenaLayout other = placed_by(weight); other.bytes < best.bytes) best = std::move(other);
    };
    improve([&](std::size_t i) { return engine::detail::Weight(steps(i), buffers[i].bytes); });
    improve([&](std::size_t i) { return engine::detail::Weight(steps(i) * buffers[i].bytes, 0); });
    improve([&](std::size_t i) { return engine::detail::Weight(~buffers[i].first, 0); });
    improve([&](std::size_t i) { return engine::detail::Weight(buffers[i].last, 0); });
    return best;
}

}  // namespace primsel::inline PRIMSEL_ABI
