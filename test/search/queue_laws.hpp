// Laws of queues: a new queue of the kind for each, whose leases last so many seconds.
#pragma once

#include <primsel/search/queue.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace queue_laws {

namespace ps = primsel;

template <class Q>
std::map<std::uint64_t, std::vector<std::string>> results_of(Q& queue) {
    std::map<std::uint64_t, std::vector<std::string>> results;
    while (const std::optional<ps::search::QueuedResult> result = queue.next_result(0)) {
        results[result->number].push_back(result->message);
    }
    return results;
}

/// Each trial comes out once, and its result comes back once.
template <class Q>
void check_each_once(Q& queue) {
    for (std::uint64_t i = 0; i < 5; ++i) queue.put(i, "trial " + std::to_string(i));
    queue.put(3, "again");
    std::map<std::uint64_t, std::string> taken;
    while (const std::optional<ps::search::Lease> lease = queue.take("one", 0)) {
        CHECK(taken.emplace(lease->number, lease->message).second);
        CHECK(queue.renew(*lease));
        CHECK(queue.finish(*lease, "done " + lease->message));
        CHECK_FALSE(queue.finish(*lease, "twice"));
        CHECK_FALSE(queue.renew(*lease));
    }
    CHECK(taken.size() == 5);
    queue.put(2, "after it was done");
    CHECK_FALSE(queue.take("one", 0));
    const auto results = results_of(queue);
    CHECK(results.size() == 5);
    for (auto const& [number, all] : results) {
        CHECK(all == std::vector<std::string>{"done trial " + std::to_string(number)});
    }
    CHECK_FALSE(queue.next_result(0));
}
/// A trial whose worker is gone is handed out again; whoever finishes first counts. Leases last 0.15 s.
template <class Q>
void check_lease_ends(Q& queue) {
    queue.put(7, "slow");
    const std::optional<ps::search::Lease> lost = queue.take("gone", 0);
    REQUIRE(lost);
    CHECK_FALSE(queue.take("other", 0));
    const std::optional<ps::search::Lease> again = queue.take("other", 2);
    REQUIRE(again);
    CHECK(again->number == 7);
    CHECK(again->message == "slow");
    CHECK_FALSE(queue.renew(*lost));
    CHECK(queue.finish(*lost, "late but first"));
    CHECK_FALSE(queue.finish(*again, "second"));
    CHECK(results_of(queue).at(7) == std::vector<std::string>{"late but first"});
    // A worker that renews a lease keeps its trial for longer.
    queue.put(8, "kept");
    const std::optional<ps::search::Lease> kept = queue.take("one", 0);
    REQUIRE(kept);
    for (int i = 0; i < 6; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        CHECK(queue.renew(*kept));
        CHECK_FALSE(queue.take("other", 0));
    }
    CHECK(queue.finish(*kept, "done"));
}
/// A malformed message is set aside with its reason, once.
template <class Q>
void check_set_aside(Q& queue) {
    queue.put(1, std::string("\x00{", 2));
    queue.put(2, "good");
    for (int i = 0; i < 2; ++i) {
        const std::optional<ps::search::Lease> lease = queue.take("one", 0);
        REQUIRE(lease);
        if (lease->message == "good") {
            CHECK(queue.finish(*lease, "fine"));
        } else {
            queue.set_aside(*lease, "no JSON"), queue.set_aside(*lease, "no JSON");
        }
    }
    CHECK_FALSE(queue.take("one", 0.3));
    const std::vector<ps::search::SetAside> aside = queue.aside();
    REQUIRE(aside.size() == 1);
    CHECK(aside[0].number == 1);
    CHECK(aside[0].message == std::string("\x00{", 2));
    CHECK(aside[0].reason == "no JSON");
    CHECK(results_of(queue).size() == 1);
}

}  // namespace queue_laws
