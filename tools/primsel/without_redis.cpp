#include "remote_queue.hpp"

#include <primsel/core/error.hpp>

namespace cli {

struct RemoteQueue::Held {};

RemoteQueue::RemoteQueue(std::string const&, std::string const&, double) {
    ps::fail("--queue: this program was built without hiredis");
}
RemoteQueue::~RemoteQueue() = default;

void RemoteQueue::put(std::uint64_t, std::string const&) {}
std::optional<ps::search::Lease> RemoteQueue::take(std::string const&, double) { return std::nullopt; }
bool RemoteQueue::renew(ps::search::Lease const&) { return false; }
bool RemoteQueue::finish(ps::search::Lease const&, std::string const&) { return false; }
void RemoteQueue::set_aside(ps::search::Lease const&, std::string const&) {}
std::optional<ps::search::QueuedResult> RemoteQueue::next_result(double) { return std::nullopt; }
std::vector<ps::search::SetAside> RemoteQueue::aside() { return {}; }
std::string RemoteQueue::keep_about(std::string const&) { return {}; }
void RemoteQueue::keep_lease(double) {}
std::optional<double> RemoteQueue::kept_lease() { return std::nullopt; }
std::string RemoteQueue::url() const { return {}; }
std::string RemoteQueue::about() { return {}; }

}  // namespace cli
