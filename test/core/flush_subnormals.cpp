#include <primsel/core/executor.hpp>
#include <primsel/core/flush_subnormals.hpp>
#include <primsel/core/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace flushing {
namespace {

namespace ps = primsel;

/// Half the least normal number, computed here and now.
float half_the_least_normal() {
    volatile float least = 1.17549435e-38F;
    return least * 0.5F;
}

/// A thread of its own for each block.
struct Threads {
    bool* flushed_after;
    [[nodiscard]] std::size_t concurrency() const noexcept { return 4; }
    void parallel_for(std::size_t blocks, ps::BlockFunction function) noexcept {
        for (std::size_t block = 0; block < blocks; ++block) {
            std::thread([&] {
                function(block, block % 4);
                if (half_the_least_normal() == 0) *flushed_after = true;
            }).join();
        }
    }
};

TEST_CASE("subnormals are flushed within the scope, and the mode before is restored") {
    CHECK(half_the_least_normal() > 0);
    CHECK_FALSE(ps::flushes_subnormals());
    {
        const ps::FlushSubnormals outer;
        CHECK(half_the_least_normal() == 0);
        {
            const ps::FlushSubnormals inner;
            CHECK(half_the_least_normal() == 0);
        }
        CHECK(half_the_least_normal() == 0);
        CHECK(ps::flushes_subnormals());
    }
    CHECK(half_the_least_normal() > 0);
    CHECK_FALSE(ps::flushes_subnormals());
}

template <class Executor>
void check_blocks(Executor& executor) {
    const ps::ExecutorRef ref(executor);
    std::atomic<int> flushed = 0, kept = 0;
    const auto count = [&](std::size_t, std::size_t) { ++(half_the_least_normal() == 0 ? flushed : kept); };
    ref.parallel_for(8, count);
    CHECK(kept == 8);
    {
        const ps::FlushSubnormals scope;
        ref.parallel_for(8, count);
    }
    CHECK(flushed == 8);
    ref.parallel_for(8, count);
    CHECK(kept == 16);
}

TEST_CASE("blocks flush subnormals where their caller does, on every executor, and leave threads as they were") {
    bool flushed_after = false;
    Threads threads{&flushed_after};
    check_blocks(threads);
    CHECK_FALSE(flushed_after);
    ps::Sequential sequential;
    check_blocks(sequential);
    ps::ThreadPool pool(3);
    check_blocks(pool);
    ps::CallerPool caller(3, [](std::size_t n, auto const& task) {
        std::vector<std::thread> all;
        for (std::size_t i = 0; i < n; ++i) all.emplace_back([&task, i] { task(i); });
        for (std::thread& thread : all) thread.join();
    });
    check_blocks(caller);
}

}  // namespace

}  // namespace flushing
