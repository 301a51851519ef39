// Queues within a program, and many threads at once.
#include <primsel/search/queue.hpp>

#include "../error_of.hpp"
#include "queue_laws.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace queue {
namespace {

namespace ps = primsel;

static_assert(ps::search::Queue<ps::search::LocalQueue>);

TEST_CASE("laws of queues: between threads") {
    ps::search::LocalQueue each(10), ends(0.15), aside(10);
    queue_laws::check_each_once(each);
    queue_laws::check_lease_ends(ends);
    queue_laws::check_set_aside(aside);
    CHECK(tests::error_of([] { ps::search::LocalQueue none(0); }).starts_with("queue: a lease of 0"));
}

TEST_CASE("workers that drop every third trial lose none, and none counts twice") {
    ps::search::LocalQueue queue(0.05);
    constexpr std::uint64_t count = 60;
    std::atomic<int> counted = 0;
    std::vector<std::thread> workers;
    for (int w = 0; w < 3; ++w) {
        workers.emplace_back([&, w] {
            int taken = 0;
            while (const std::optional<ps::search::Lease> lease = queue.take(std::to_string(w), 0.4)) {
                if (++taken % 3 == 0) continue;
                counted += queue.finish(*lease, lease->message) ? 1 : 0;
            }
        });
    }
    for (std::uint64_t i = 0; i < count; ++i) queue.put(i, std::to_string(i));
    for (std::thread& worker : workers) worker.join();
    CHECK(counted == count);
    const auto results = queue_laws::results_of(queue);
    CHECK(results.size() == count);
    for (auto const& [number, all] : results) CHECK(all == std::vector<std::string>{std::to_string(number)});
}

}  // namespace
}  // namespace queue
