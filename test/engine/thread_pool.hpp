#pragma once

#include <primsel/core/executor.hpp>

#include <cstddef>
#include <thread>
#include <vector>

namespace threads {

/// An executor that starts so many threads for each call.
inline auto pool(std::size_t count) {
    return primsel::CallerPool(count, [](std::size_t n, auto const& task) noexcept {
        std::vector<std::thread> workers;
        for (std::size_t i = 0; i < n; ++i) workers.emplace_back([&task, i] { task(i); });
        for (std::thread& worker : workers) worker.join();
    });
}

}  // namespace threads
