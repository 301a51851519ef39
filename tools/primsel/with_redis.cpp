#include "remote_queue.hpp"

#include <primsel/search/redis_queue.hpp>

namespace cli {

struct RemoteQueue::Held {
    ps::search::RedisQueue queue;
};

RemoteQueue::RemoteQueue(std::string const& url, std::string const& name, double lease_seconds)
    : held_(new Held{ps::search::RedisQueue(url, {.name = name, .lease_seconds = lease_seconds})}) {}
RemoteQueue::~RemoteQueue() = default;

void RemoteQueue::put(std::uint64_t number, std::string const& message) { held_->queue.put(number, message); }
std::optional<ps::search::Lease> RemoteQueue::take(std::string const& worker, double seconds) {
    return held_->queue.take(worker, seconds);
}
bool RemoteQueue::renew(ps::search::Lease const& lease) { return held_->queue.renew(lease); }
bool RemoteQueue::finish(ps::search::Lease const& lease, std::string const& result) {
    return held_->queue.finish(lease, result);
}
void RemoteQueue::set_aside(ps::search::Lease const& lease, std::string const& reason) {
    held_->queue.set_aside(lease, reason);
}
std::optional<ps::search::QueuedResult> RemoteQueue::next_result(double seconds) {
    return held_->queue.next_result(seconds);
}
std::vector<ps::search::SetAside> RemoteQueue::aside() { return held_->queue.aside(); }
std::string RemoteQueue::keep_about(std::string const& text) { return held_->queue.keep_about(text); }
void RemoteQueue::keep_lease(double seconds) { held_->queue.keep_lease(seconds); }
std::optional<double> RemoteQueue::kept_lease() { return held_->queue.kept_lease(); }
std::string RemoteQueue::url() const { return held_->queue.url(); }
std::string RemoteQueue::about() { return held_->queue.about(); }

}  // namespace cli
