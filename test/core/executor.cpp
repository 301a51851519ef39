#include "executor.hpp"

#include <thread>
#include <vector>

namespace {

namespace ps = primsel;

/// Counts its calls.
struct Threads {
    int* calls = nullptr;
    std::size_t* threads = nullptr;

    template <class Task>
    void operator()(std::size_t n, Task const& task) const {
        if (calls != nullptr) ++*calls, *threads = n;
        std::vector<std::thread> running;
        for (std::size_t i = 0; i < n; ++i) running.emplace_back([&task, i] { task(i); });
        for (std::thread& thread : running) thread.join();
    }
};

// The minimal model of the concept's documentation.
struct Backwards {
    [[nodiscard]] std::size_t concurrency() const noexcept { return 1; }
    void parallel_for(std::size_t n, ps::BlockFunction f) noexcept {
        while (n-- > 0) f(n, 0);
    }
};

struct Throws {
    [[nodiscard]] std::size_t concurrency() const noexcept { return 1; }
    void parallel_for(std::size_t, ps::BlockFunction) {}
};
struct NoConcurrency {
    void parallel_for(std::size_t, ps::BlockFunction) noexcept {}
};

static_assert(ps::Executor<ps::Sequential> && ps::Executor<ps::CallerPool<Threads>> && ps::Executor<Backwards>);
static_assert(ps::Executor<ps::ExecutorRef>);
static_assert(!ps::Executor<Throws> && !ps::Executor<NoConcurrency> && !ps::Executor<int>);

TEST_CASE("executors run each block once, on a worker of its own") {
    ps::Sequential sequential;
    laws::check_executor(sequential);
    Backwards backwards;
    laws::check_executor(backwards);
    for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
        ps::CallerPool pool(threads, Threads{});
        CHECK(pool.concurrency() == threads);
        laws::check_executor(pool);
    }
}

TEST_CASE("Sequential keeps the order") {
    std::vector<std::size_t> order;
    ps::Sequential{}.parallel_for(5, [&](std::size_t block, std::size_t) { order.push_back(block); });
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
}

TEST_CASE("a pool is not asked for more threads than there are blocks, nor for one") {
    int calls = 0;
    std::size_t threads = 0;
    ps::CallerPool pool(8, Threads{&calls, &threads});
    const auto nothing = [](std::size_t, std::size_t) {};
    pool.parallel_for(3, nothing);
    CHECK(calls == 1);
    CHECK(threads == 3);
    pool.parallel_for(100, nothing);
    CHECK(calls == 2);
    CHECK(threads == 8);
    pool.parallel_for(1, nothing);
    pool.parallel_for(0, nothing);
    CHECK(calls == 2);
    pool.parallel_for(2, nothing);
    CHECK(calls == 3);
    CHECK(threads == 2);
    CHECK(ps::CallerPool(0, Threads{}).concurrency() == 1);
}

TEST_CASE("a block function refers to its callable") {
    int sum = 0;
    auto add = [&sum, calls = 0](std::size_t block, std::size_t worker) mutable {
        sum += static_cast<int>(block * 10 + worker) + calls++;
    };
    const ps::BlockFunction function = add, copy = function;
    function(1, 2);
    copy(3, 4);
    CHECK(sum == 12 + 34 + 1);
}

}  // namespace
