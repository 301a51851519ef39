// Threads for a CallerPool, started anew for every call; the caller's is the first.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace laws {

struct Threads {
    template <class Task>
    void operator()(std::size_t n, Task const& task) const noexcept {
        std::vector<std::thread> threads;
        for (std::size_t i = 1; i < n; ++i) threads.emplace_back([&task, i] { task(i); });
        task(0);
        for (std::thread& thread : threads) thread.join();
    }
};

}  // namespace laws
