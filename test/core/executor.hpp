// The laws of executors, for any model.
#pragma once

#include <primsel/core/executor.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <vector>

namespace laws {

/// Each block runs exactly once, done when parallel_for returns; workers are below concurrency, and no two calls at a
/// time have the same.
template <primsel::Executor E>
void check_executor(E& executor) {
    const std::size_t workers = executor.concurrency();
    REQUIRE(workers >= 1);
    CHECK(primsel::ExecutorRef(executor).concurrency() == workers);
    for (const std::size_t blocks : {0U, 1U, 2U, 3U, 7U, 64U, 1000U}) {
        for (const bool by_reference : {false, true}) {
            std::vector<std::atomic<int>> runs(blocks), busy(workers);
            std::atomic<int> wrong_workers = 0, shared_workers = 0;
            const auto block_function = [&](std::size_t block, std::size_t worker) {
                if (worker >= workers) {
                    ++wrong_workers;
                    return;
                }
                if (busy[worker]++ != 0) ++shared_workers;
                ++runs[block];
                --busy[worker];
            };
            if (by_reference) {
                primsel::ExecutorRef(executor).parallel_for(blocks, block_function);
            } else {
                executor.parallel_for(blocks, block_function);
            }
            CHECK(wrong_workers == 0);
            CHECK(shared_workers == 0);
            for (auto const& count : runs) CHECK(count == 1);
        }
    }
}

}  // namespace laws
