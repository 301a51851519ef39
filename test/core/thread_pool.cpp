#include <primsel/core/thread_pool.hpp>

#include "executor.hpp"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

namespace ps = primsel;
using namespace std::chrono_literals;

static_assert(ps::Executor<ps::ThreadPool>);
static_assert(std::default_initializable<ps::ThreadPool> && std::movable<ps::ThreadPool>);
static_assert(!std::copyable<ps::ThreadPool> && !std::convertible_to<std::size_t, ps::ThreadPool>);

/// Calls with 0 to 17 blocks each, every block exactly once and done at the end of its call: how many were not.
int wrong_blocks(ps::ThreadPool& pool, int calls) {
    std::vector<std::atomic<int>> runs(18);
    int wrong = 0;
    for (int call = 0; call < calls; ++call) {
        const auto blocks = static_cast<std::size_t>(call) % 18;
        pool.parallel_for(blocks, [&runs](std::size_t block, std::size_t) { ++runs[block]; });
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (runs[i].exchange(0) != (i < blocks ? 1 : 0)) ++wrong;
        }
    }
    return wrong;
}

/// Waits, at most ten minutes: for as long as a busy machine may take.
template <class Condition>
bool eventually(Condition const& condition) {
    const auto end = std::chrono::steady_clock::now() + 10min;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::yield();
    }
    return true;  // asked again, it may not hold any more
}

/// The processor time of all threads of the process.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST_CASE("ThreadPool runs each block once, on a worker of its own") {
    for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
        ps::ThreadPool pool(threads);
        CHECK(pool.concurrency() == threads);
        laws::check_executor(pool);
        const ps::RunScope scope(pool);
        laws::check_executor(pool);
    }
    CHECK_THROWS_WITH_AS(ps::ThreadPool(0), "thread pool: 0 threads; the caller's is the first", ps::error);
    CHECK(ps::ThreadPool().concurrency() >= 1);
}

TEST_CASE("ThreadPool: many short calls, in runs and on their own") {
    for (const std::size_t threads : {2U, 3U, 5U}) {
        CAPTURE(threads);
        ps::ThreadPool pool(threads);
        {
            const ps::RunScope scope(pool);
            CHECK(wrong_blocks(pool, 100'000) == 0);
        }
        CHECK(wrong_blocks(pool, 5'000) == 0);
        int wrong = 0;
        for (int run = 0; run < 1'000; ++run) {
            const ps::RunScope scope(pool);
            wrong += wrong_blocks(pool, run % 20);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("ThreadPool: all workers take part, and one that is held up does not hold up the blocks of others") {
    ps::ThreadPool pool(3);
    // Each block waits until every worker has one.
    std::atomic<int> begun = 0;
    std::atomic<bool> all_met = true;
    pool.parallel_for(3, [&](std::size_t, std::size_t) {
        ++begun;
        if (!eventually([&] { return begun == 3; })) all_met = false;
    });
    CHECK(all_met);

    // One block ends when all others have ended: whoever has it, they are others'.
    int waited_in_vain = 0;
    for (std::size_t held = 0; held < 100; ++held) {
        std::atomic<int> ended = 0;
        pool.parallel_for(100, [&](std::size_t block, std::size_t) {
            if (block == held && !eventually([&] { return ended == 99; })) ++waited_in_vain;
            ++ended;
        });
        CHECK(ended == 100);
        if (waited_in_vain > 0) break;
    }
    CHECK(waited_in_vain == 0);
}

std::atomic<int> off_core = 0;
static_assert(std::atomic<int>::is_always_lock_free);

TEST_CASE("ThreadPool: a worker that was taken off its core and holds no block delays nothing") {
    ps::ThreadPool pool(2);
    const ps::RunScope scope(pool);
    std::atomic<bool> known = false;
    pthread_t worker{};
    pool.parallel_for(2, [&](std::size_t, std::size_t index) {
        if (index == 1) {
            worker = pthread_self();
            known = true;
        } else {
            eventually([&] { return known.load(); });
        }
    });
    REQUIRE(known);
    // It is away for as long as a signal handler does not return.
    struct sigaction hold {
    }, before{};
    hold.sa_handler = [](int) {
        off_core = 1;
        while (off_core == 1) {
            const timespec millisecond{0, 1'000'000};
            nanosleep(&millisecond, nullptr);
        }
        off_core = 3;
    };
    REQUIRE(sigaction(SIGUSR1, &hold, &before) == 0);
    REQUIRE(pthread_kill(worker, SIGUSR1) == 0);
    REQUIRE(eventually([] { return off_core == 1; }));
    CHECK(wrong_blocks(pool, 1'000) == 0);
    CHECK(off_core == 1);
    off_core = 2;
    CHECK(eventually([] { return off_core == 3; }));
    CHECK(wrong_blocks(pool, 1'000) == 0);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("ThreadPool: blocks see what was written before the call, and the caller what they wrote") {
    ps::ThreadPool pool(2);
    const ps::RunScope scope(pool);
    std::vector<int> values(64);  // not atomic
    int wrong = 0;
    for (int call = 0; call < 1'000; ++call) {
        for (int& value : values) value = call;
        pool.parallel_for(values.size(), [&](std::size_t block, std::size_t) { values[block] *= 2; });
        for (const int value : values) {
            if (value != 2 * call) ++wrong;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("ThreadPool: threads sleep after a run and not within one") {
    ps::ThreadPool pool(2);
    const auto nothing = [](std::size_t, std::size_t) {};
    pool.parallel_for(2, nothing);
    // The processor's time while this thread sleeps. A busy machine may give a thread little of it, or be slow to let
    // it sleep.
    const auto used = [] {
        const double before = cpu_seconds();
        std::this_thread::sleep_for(50ms);
        return cpu_seconds() - before;
    };
    CHECK(eventually([&] { return used() < 0.005; }));
    {
        const ps::RunScope outer(pool);
        {
            const ps::RunScope inner(pool);
            pool.parallel_for(2, nothing);
        }
        CHECK(eventually([&] { return used() > 0.01; }));  // a fifth, where others want the processor too
    }
    CHECK(eventually([&] { return used() < 0.005; }));
}

TEST_CASE("ThreadPool: several at once, each used by several threads in turn") {
    ps::ThreadPool one(2), two(3);
    std::vector<std::thread> callers;
    std::atomic<int> wrong = 0;
    for (ps::ThreadPool* pool : {&one, &two}) {
        callers.emplace_back([pool, &wrong] {
            for (int i = 0; i < 10; ++i) {
                std::thread([pool, &wrong] {
                    const ps::RunScope scope(*pool);
                    wrong += wrong_blocks(*pool, 500);
                }).join();
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong == 0);
}

TEST_CASE("ThreadPool: several callers at once, in runs and on their own") {
    ps::ThreadPool pool(3);
    std::vector<std::thread> callers;
    std::atomic<int> wrong = 0;
    for (int caller = 0; caller < 3; ++caller) {
        callers.emplace_back([&pool, &wrong, caller] {
            for (int i = 0; i < 20; ++i) {
                if ((caller + i) % 2 == 0) {
                    wrong += wrong_blocks(pool, 100);
                } else {
                    const ps::RunScope scope(pool);
                    wrong += wrong_blocks(pool, 100);
                }
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong == 0);
    CHECK(wrong_blocks(pool, 100) == 0);
}

TEST_CASE("ThreadPool: a caller that finds the threads busy runs its blocks alone, and so does a block") {
    ps::ThreadPool pool(2);
    std::atomic<bool> begun = false, done = false;
    std::atomic<int> wrong = 0;
    std::thread other([&] {
        pool.parallel_for(2, [&](std::size_t, std::size_t) {
            begun = true;
            if (!eventually([&] { return done.load(); })) ++wrong;
            wrong += wrong_blocks(pool, 20);
        });
    });
    CHECK(eventually([&] { return begun.load(); }));
    std::size_t on_this_thread = 0;
    const std::thread::id here = std::this_thread::get_id();
    pool.parallel_for(8, [&](std::size_t, std::size_t worker) {
        if (std::this_thread::get_id() == here && worker == 0) ++on_this_thread;
    });
    CHECK(on_this_thread == 8);
    done = true;
    other.join();
    CHECK(wrong == 0);
}

TEST_CASE("ThreadPool: made, moved and destroyed in any state") {
    for (int i = 0; i < 200; ++i) ps::ThreadPool(static_cast<std::size_t>(i % 5 + 1));
    for (int i = 0; i < 200; ++i) {
        ps::ThreadPool pool(3);
        pool.begin_run();
        if (i % 2 == 0) CHECK(wrong_blocks(pool, i % 20) == 0);
    }
    ps::ThreadPool pool(3);
    pool.begin_run();
    ps::ThreadPool moved = std::move(pool);
    CHECK(moved.concurrency() == 3);
    CHECK(wrong_blocks(moved, 100) == 0);
    moved.end_run();
    moved = ps::ThreadPool(2);
    CHECK(moved.concurrency() == 2);
    CHECK(wrong_blocks(moved, 100) == 0);
}

/// How a child of fork ends in which work() returns its exit status; one that hangs is ended by SIGALRM.
template <class Work>
int status_of_child(Work const& work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(300);
        _exit(work());
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

TEST_CASE("ThreadPool: a child of fork runs all blocks on its own thread, and destroys its copy") {
    for (const std::size_t threads : {1U, 2U, 4U, 8U, 16U}) {
        for (const bool awake : {false, true}) {
            CAPTURE(threads);
            CAPTURE(awake);
            std::optional<ps::ThreadPool> pool(threads);
            if (awake) pool->begin_run();
            CHECK(wrong_blocks(*pool, 20) == 0);
            const int status = status_of_child([&] {
                bool right = wrong_blocks(*pool, 100) == 0 && pool->native_handles().empty();
                {
                    const ps::RunScope scope(*pool);
                    right = right && wrong_blocks(*pool, 100) == 0;
                }
                if (awake) pool->end_run();
                pool.reset();
                ps::ThreadPool fresh(threads);
                right = right && wrong_blocks(fresh, 100) == 0 && fresh.native_handles().size() == threads - 1;
                return right ? 0 : 1;
            });
            CHECK(status == 0);
            CHECK(wrong_blocks(*pool, 20) == 0);
        }
    }
}

TEST_CASE("ThreadPool: a child that another thread forks during a run") {
    ps::ThreadPool pool(4);
    std::atomic<int> begun = 0;
    std::atomic<bool> forked = false;
    std::thread caller([&] {
        pool.parallel_for(4, [&](std::size_t, std::size_t) {
            ++begun;
            eventually([&] { return forked.load(); });
        });
    });
    CHECK(eventually([&] { return begun > 0; }));
    const int status = status_of_child([&] {
        const bool right = wrong_blocks(pool, 100) == 0;
        const ps::ThreadPool gone = std::move(pool);
        return right ? 0 : 1;
    });
    forked = true;
    caller.join();
    CHECK(status == 0);
    CHECK(wrong_blocks(pool, 20) == 0);
}

TEST_CASE("ThreadPool: threads - 1 threads, none for one") {
    const std::filesystem::path tasks = "/proc/self/task";  // Linux
    REQUIRE(std::filesystem::exists(tasks));
    const auto threads = [&] {
        std::set<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::directory_iterator(tasks)) found.insert(entry.path());
        return found;
    };
    // Those of earlier pools may still be listed for a moment after they were joined, so only new ones count.
    const auto before = threads();
    const auto started = [&] {
        return std::ranges::count_if(threads(), [&](const auto& thread) { return !before.contains(thread); });
    };
    const ps::ThreadPool one(1);
    CHECK(started() == 0);
    const ps::ThreadPool four(4);
    CHECK(started() == 3);
}

TEST_CASE("RunScope tells an executor that wants to know, through references, and leaves others alone") {
    struct Counting : ps::Sequential {
        int begun = 0, ended = 0;
        void begin_run() noexcept { ++begun; }
        void end_run() noexcept { ++ended; }
    };
    static_assert(ps::Executor<Counting>);
    Counting counting;
    ps::ExecutorRef reference(counting);
    {
        const ps::RunScope direct(counting), by_reference(reference);
        CHECK(counting.begun == 2);
        CHECK(counting.ended == 0);
    }
    CHECK(counting.ended == 2);
    ps::Sequential sequential;
    const ps::RunScope none(sequential);
}

}  // namespace
