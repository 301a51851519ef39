// A queue in a Redis server, where the program was built with hiredis.
#pragma once

#include <primsel/search/queue.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cli {

namespace ps = primsel;

/// As ps::search::RedisQueue; without hiredis it throws error when it is made.
class RemoteQueue {
public:
    RemoteQueue(std::string const& url, std::string const& name, double lease_seconds);
    ~RemoteQueue();

    void put(std::uint64_t number, std::string const& message);
    [[nodiscard]] std::optional<ps::search::Lease> take(std::string const& worker, double seconds);
    [[nodiscard]] bool renew(ps::search::Lease const& lease);
    [[nodiscard]] bool finish(ps::search::Lease const& lease, std::string const& result);
    void set_aside(ps::search::Lease const& lease, std::string const& reason);
    [[nodiscard]] std::optional<ps::search::QueuedResult> next_result(double seconds);
    [[nodiscard]] std::vector<ps::search::SetAside> aside();
    std::string keep_about(std::string const& text);
    [[nodiscard]] std::string about();
    void keep_lease(double seconds);
    [[nodiscard]] std::optional<double> kept_lease();
    /// For messages, without the password.
    [[nodiscard]] std::string url() const;

private:
    struct Held;
    std::unique_ptr<Held> held_;
};

}  // namespace cli
