// Division of the ops' work into blocks, by the shape alone and never by the number of threads.
#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/core/work.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// Calls f(first, last), or f(first, last, worker) if f takes a worker, for ranges that cover [0, count); each item
/// stands for item_floats floats of work.
template <class F>
void for_ranges(ExecutorRef executor, std::size_t count, std::size_t item_floats, F const& f) noexcept {
    const std::size_t items = std::max(op_block_floats / std::max(item_floats, std::size_t{1}), std::size_t{1});
    executor.parallel_for((count + items - 1) / items, [&f, items, count](std::size_t block, std::size_t worker) {
        const std::size_t first = block * items, last = std::min(first + items, count);
        if constexpr (std::invocable<F const&, std::size_t, std::size_t, std::size_t>) {
            f(first, last, worker);
        } else {
            f(first, last);
        }
    });
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
