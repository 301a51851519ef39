// Opt-in: needs hiredis, which must be linked (the CMake target primsel::redis), and a Redis server from version 6.2
// on.
#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/search/detail/redis_connection.hpp>
#include <primsel/search/queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// Options of a RedisQueue; times are in seconds.
struct RedisQueueOptions {
    /// The prefix of the queue's keys. Queues of other names in the same server are independent.
    std::string name = "primsel";
    double lease_seconds = 60;
    /// The time that each call waits for a server that went away, before it throws error.
    double patience = 3600;
    /// The time that the first connection may take.
    double first_patience = 5;
};

/// A queue between programs, on one or several machines, in a Redis server. Trials wait in a stream that a consumer
/// group reads; results come back in another stream. A trial of a lost worker is handed out again once its lease ends.
/// A message that is no trial is set aside with the reason. While the server is away every call waits; drive() puts
/// trials again that a restarted server lost.
///
/// Each call is one script, which the server runs atomically. Several threads may call all members but next_result,
/// which one thread may call.
class RedisQueue {
public:
    /// `url`: redis://[[user]:password@]host[:port][/database], with an IPv6 address in brackets and any byte of user
    /// and password as %XX; or unix:/path/of/the/socket. Throws error for any other URL, if no server is found in time,
    /// and if it refuses the login. No error message has the password.
    explicit RedisQueue(std::string const& url, RedisQueueOptions const& options = {})
        : redis_(url, options.first_patience),
          name_(options.name),
          lease_(std::to_string(static_cast<std::int64_t>(options.lease_seconds * 1e3))),
          own_(std::to_string(std::random_device{}())) {
        if (is_nan(options.lease_seconds) || !(options.lease_seconds >= 1e-3))
            fail("queue: a lease of ", options.lease_seconds, " s");
        (void)script("return 1", {});
        redis_.be_patient(options.patience);
    }

    /// The URL without the password, for messages.
    [[nodiscard]] std::string const& url() const { return redis_.url(); }
    /// Also puts a trial again that vanished: one that is not done and that no worker has, or whose result was deleted.
    /// A trial that still waits moves to the end.
    void put(std::uint64_t number, std::string const& message) {
        (void)script(
            "redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2])"
            " local done = redis.call('HGET', KEYS[3], ARGV[1]) local id = redis.call('HGET', KEYS[7], ARGV[1])"
            " if done and not id then return 1 end"
            " local where = done == 'aside' and KEYS[5] or done and KEYS[4] or KEYS[1]"
            " if id and #redis.call('XRANGE', where, id, id) == 1 and (done or"
            " #redis.call('XPENDING', KEYS[1], 'workers', id, id, 1) == 1) then return 1 end"
            " redis.call('HDEL', KEYS[3], ARGV[1])"
            " if id then redis.call('XACK', KEYS[1], 'workers', id) redis.call('XDEL', KEYS[1], id) end"
            " redis.call('HSET', KEYS[7], ARGV[1], redis.call('XADD', KEYS[1], '*', 'number', ARGV[1],"
            " 'message', redis.call('HGET', KEYS[2], ARGV[1]))) return 1",
            {std::to_string(number), message});
    }
    [[nodiscard]] std::optional<Lease> take(std::string const& worker, double seconds) {
        return wait_for(seconds, [&] { return take_now(worker); });
    }
    [[nodiscard]] bool renew(Lease const& lease) {
        return script(
                   "local held = redis.call('XPENDING', KEYS[1], 'workers', ARGV[1], ARGV[1], 1)[1]"
                   " if not held or held[2] ~= ARGV[2] or held[4] ~= tonumber(ARGV[3]) then return 0 end"
                   " redis.call('XCLAIM', KEYS[1], 'workers', ARGV[2], 0, ARGV[1], 'JUSTID') return 1",
                   {entry_of(lease), lease.worker, times_of(lease)})
                   .integer == 1;
    }
    /// If a trial was handed out again, the first result counts.
    [[nodiscard]] bool finish(Lease const& lease, std::string const& result) {
        // The token makes a repeated call, after a lost answer, return the same.
        return script(
                   "if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return 0 end"
                   " if redis.call('HSETNX', KEYS[3], ARGV[1], ARGV[2]) == 0 then"
                   " return redis.call('HGET', KEYS[3], ARGV[1]) == ARGV[2] and 1 or 0 end"
                   " local now = redis.call('HGET', KEYS[7], ARGV[1]) or ARGV[4]"
                   " redis.call('HSET', KEYS[7], ARGV[1],"
                   " redis.call('XADD', KEYS[4], '*', 'number', ARGV[1], 'message', ARGV[3]))"
                   " redis.call('XACK', KEYS[1], 'workers', ARGV[4], now)"
                   " redis.call('XDEL', KEYS[1], ARGV[4], now) return 1",
                   {std::to_string(lease.number), token(), result, entry_of(lease)})
                   .integer == 1;
    }
    void set_aside(Lease const& lease, std::string const& reason) {
        put_aside(std::to_string(lease.number), lease.message, reason, entry_of(lease));
    }
    [[nodiscard]] std::optional<QueuedResult> next_result(double seconds) {
        return wait_for(seconds, [this]() -> std::optional<QueuedResult> {
            for (;;) {
                const detail::RedisReply reply =
                    script("return redis.call('XRANGE', KEYS[4], '(' .. ARGV[1], '+', 'COUNT', 1)", {read_});
                if (reply.elements.empty()) return std::nullopt;
                const Entry entry = entry_from(reply.elements[0]);
                read_ = entry.id;
                if (entry.number) return QueuedResult{*entry.number, entry.message};
            }
        });
    }
    [[nodiscard]] std::vector<SetAside> aside() {
        std::vector<SetAside> all;
        for (detail::RedisReply const& each : script("return redis.call('XRANGE', KEYS[5], '-', '+')", {}).elements) {
            const Entry entry = entry_from(each);
            all.push_back({entry.number, entry.message, entry.reason});
        }
        return all;
    }

    /// Keeps a text with the queue for its workers, unless one is kept already. Returns the kept one.
    std::string keep_about(std::string const& text) {
        return script("redis.call('SETNX', KEYS[6], ARGV[1]) return redis.call('GET', KEYS[6])", {text}).text;
    }
    /// The kept text; empty if there is none.
    [[nodiscard]] std::string about() { return script("return redis.call('GET', KEYS[6]) or ''", {}).text; }
    /// Keeps the lease's seconds for workers that are given none; replaces the former value.
    void keep_lease(double seconds) { (void)script("return redis.call('SET', KEYS[8], ARGV[1])", {join(seconds)}); }
    /// The kept lease; nothing if there is none.
    [[nodiscard]] std::optional<double> kept_lease() {
        double seconds = 0;
        const std::string text = script("return redis.call('GET', KEYS[8]) or ''", {}).text;
        return read_number(std::string_view(text), seconds) && seconds >= 1e-3 ? std::optional(seconds) : std::nullopt;
    }

private:
    struct Entry {
        std::string id, message, reason;
        std::optional<std::uint64_t> number;
    };

    /// KEYS 1 to 8: the stream of trials, all trials, those that are done, the streams of results and of what was set
    /// aside, the text, the id of each trial's entry in the stream where it is now, and the lease. A server that lost
    /// the group gets it again.
    detail::RedisReply script(std::string_view body, std::vector<std::string> const& arguments) {
        static constexpr std::string_view make_group =
            "if redis.call('EXISTS', KEYS[1]) == 0 or #redis.call('XINFO', 'GROUPS', KEYS[1]) == 0 then"
            " redis.call('XGROUP', 'CREATE', KEYS[1], 'workers', '0', 'MKSTREAM') end ";
        std::vector<std::string> command{"EVAL", std::string(make_group) + std::string(body), "8"};
        for (const char* key : {":todo", ":trials", ":done", ":results", ":aside", ":about", ":entries", ":lease"}) {
            command.push_back(name_ + key);
        }
        command.insert(command.end(), arguments.begin(), arguments.end());
        const std::scoped_lock lock(mutex_);
        return redis_.call(command);
    }

    [[nodiscard]] std::optional<Lease> take_now(std::string const& worker) {
        for (;;) {
            const detail::RedisReply reply = script(
                // Each call looks at ten entries only and says where the next one is to begin.
                "local entry, cursor = nil, '0-0' repeat local answer ="
                " redis.call('XAUTOCLAIM', KEYS[1], 'workers', ARGV[1], ARGV[2], cursor, 'COUNT', 1)"
                " cursor = answer[1] entry = answer[2][1] until entry or cursor == '0-0'"
                " if not entry then local read = redis.call('XREADGROUP', 'GROUP', 'workers', ARGV[1], 'COUNT', 1,"
                " 'STREAMS', KEYS[1], '>') if not read then return {} end entry = read[1][2][1] end"
                " local held = redis.call('XPENDING', KEYS[1], 'workers', entry[1], entry[1], 1)[1]"
                " return {entry, held and held[4] or 1}",
                {worker, lease_});
            if (reply.elements.size() != 2) return std::nullopt;
            const Entry entry = entry_from(reply.elements[0]);
            if (entry.number) {
                return Lease{*entry.number, entry.message, worker, join(entry.id, '/', reply.elements[1].integer)};
            }
            put_aside("", entry.message, "is no trial: it has no number and message", entry.id);
        }
    }
    /// `number` is empty for a message that another program put into the stream.
    void put_aside(std::string const& number, std::string const& message, std::string const& reason,
                   std::string const& entry) {
        (void)script(
            "if ARGV[1] ~= '' and redis.call('HSETNX', KEYS[3], ARGV[1], 'aside') == 0 then return 0 end"
            " local id = redis.call('XADD', KEYS[5], '*', 'number', ARGV[1], 'message', ARGV[2], 'reason', ARGV[3])"
            " if ARGV[1] ~= '' then redis.call('HSET', KEYS[7], ARGV[1], id) end"
            " redis.call('XACK', KEYS[1], 'workers', ARGV[4]) redis.call('XDEL', KEYS[1], ARGV[4]) return 1",
            {number, message, reason, entry});
    }

    /// Reads {id, {field, value, ...}}. The entry has a number only if it has a message too.
    [[nodiscard]] static Entry entry_from(detail::RedisReply const& reply) {
        Entry entry;
        if (reply.elements.size() != 2) return entry;
        entry.id = reply.elements[0].text;
        std::vector<detail::RedisReply> const& fields = reply.elements[1].elements;
        bool has_message = false;
        std::optional<std::uint64_t> number;
        for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
            std::string const &field = fields[i].text, &value = fields[i + 1].text;
            if (field == "message") entry.message = value, has_message = true;
            if (field == "reason") entry.reason = value;
            std::uint64_t read = 0;
            if (field == "number" && read_number(std::string_view(value), read)) number = read;
        }
        if (has_message) {
            entry.number = number;
        } else if (entry.message.empty()) {
            for (detail::RedisReply const& field : fields) entry.message += field.text + ' ';
        }
        return entry;
    }

    [[nodiscard]] static std::string entry_of(Lease const& lease) { return lease.id.substr(0, lease.id.find('/')); }
    [[nodiscard]] static std::string times_of(Lease const& lease) { return lease.id.substr(lease.id.find('/') + 1); }
    /// A token that differs for each call.
    [[nodiscard]] std::string token() {
        const std::scoped_lock lock(mutex_);
        return join(own_, '-', ++tokens_);
    }

    template <class Ask>
    [[nodiscard]] static auto wait_for(double seconds, Ask const& ask) -> decltype(ask()) {
        using Clock = std::chrono::steady_clock;
        const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8)));
        for (int pause = 1;; pause = std::min(2 * pause, 50)) {
            if (auto found = ask()) return found;
            const auto left = until - Clock::now();
            if (left <= Clock::duration::zero()) return std::nullopt;
            std::this_thread::sleep_for(std::min<Clock::duration>(std::chrono::milliseconds(pause), left));
        }
    }

    std::mutex mutex_;
    detail::RedisConnection redis_;
    std::string name_, lease_, own_, read_ = "0-0";
    std::uint64_t tokens_ = 0;
};

static_assert(Queue<RedisQueue>);

}  // namespace primsel::inline PRIMSEL_ABI::search
