#pragma once

#include <primsel/core/error.hpp>
#include <primsel/search/detail/redis_url.hpp>

#include <hiredis/hiredis.h>

#if defined(__linux__)
#include <signal.h>
#include <time.h>
#endif

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search::detail {

/// An answer of a Redis server.
struct RedisReply {
    std::int64_t integer = 0;
    std::string text;
    std::vector<RedisReply> elements;
};

/// Blocks SIGPIPE for this thread while it lives, so that writing to a server that went away is an error and no signal.
/// Elsewhere than on Linux it does nothing: Windows has no such signal, and hiredis turns it off on macOS.
class NoPipeSignal {
public:
#if defined(__linux__)
    NoPipeSignal() {
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    NoPipeSignal(NoPipeSignal const&) = delete;
    NoPipeSignal& operator=(NoPipeSignal const&) = delete;
    ~NoPipeSignal() {
        const timespec at_once{0, 0};
        while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t pipe_{}, before_{};
    bool was_pending_ = false;
#else
    NoPipeSignal() {}  // not trivial, so that a variable counts as used
#endif
};

/// A connection that is restored: a call waits while the server is away, and is then repeated.
class RedisConnection {
public:
    /// `patience`: seconds that a call waits for a server that is away.
    RedisConnection(std::string const& url, double patience) : url_(url), patience_(patience) {}

    /// The URL without the password, for messages.
    [[nodiscard]] std::string const& url() const { return url_.shown; }
    void be_patient(double seconds) { patience_ = seconds; }
    /// Sends a command, whose words may hold any bytes. Throws error if the server refuses it or stays away.
    RedisReply call(std::vector<std::string> const& words) {
        using Clock = std::chrono::steady_clock;
        const NoPipeSignal no_signal;
        const auto begin = Clock::now();
        for (int pause = 5;; pause = std::min(2 * pause, 500)) {
            std::string away = connect();
            if (away.empty()) {
                RedisReply reply;
                away = send(words, reply);
                if (away.empty()) return reply;
                context_.reset();
            }
            if (std::chrono::duration<double>(Clock::now() - begin).count() > patience_)
                fail("queue ", url(), ": ", away);
            std::this_thread::sleep_for(std::chrono::milliseconds(pause));
        }
    }

private:
    struct FreeContext {
        void operator()(redisContext* context) const { redisFree(context); }
    };
    struct FreeReply {
        void operator()(redisReply* reply) const { freeReplyObject(reply); }
    };

    /// Connects if needed. Returns the reason if there is no connection; else empty.
    [[nodiscard]] std::string connect() {
        if (context_) return {};
        const timeval timeout{5, 0};
        context_.reset(url_.path.empty() ? redisConnectWithTimeout(url_.host.c_str(), url_.port, timeout)
                                         : redisConnectUnixWithTimeout(url_.path.c_str(), timeout));
        std::string why;
        if (!context_) {
            why = "there is no memory";
        } else if (context_->err != 0) {
            why = std::string(static_cast<const char*>(context_->errstr));
        } else {
            // A server that does not answer in 30 s counts as away.
            redisSetTimeout(context_.get(), timeval{30, 0});
            try {
                why = log_in();
            } catch (...) {
                context_.reset();  // the next call logs in again
                throw;
            }
        }
        if (!why.empty()) context_.reset();
        return why;
    }

    /// Logs in. Returns the reason if the server is away; else empty. Throws error if it refuses the login.
    [[nodiscard]] std::string log_in() {
        std::vector<std::vector<std::string>> commands;
        if (!url_.password.empty()) {
            commands.push_back({"AUTH"});
            if (!url_.user.empty()) commands.back().push_back(url_.user);
            commands.back().push_back(url_.password);
        }
        if (url_.database != 0) commands.push_back({"SELECT", std::to_string(url_.database)});
        RedisReply ignored;
        for (std::vector<std::string> const& command : commands) {
            if (std::string why = send(command, ignored); !why.empty()) return why;
        }
        return {};
    }

    /// Sends a command once. Returns the reason if the server is away; else empty. Throws error if it refuses the
    /// command.
    [[nodiscard]] std::string send(std::vector<std::string> const& words, RedisReply& into) {
        std::vector<const char*> texts;
        std::vector<std::size_t> sizes;
        for (std::string const& word : words) texts.push_back(word.data()), sizes.push_back(word.size());
        const std::unique_ptr<redisReply, FreeReply> reply(static_cast<redisReply*>(
            redisCommandArgv(context_.get(), static_cast<int>(texts.size()), texts.data(), sizes.data())));
        if (!reply) return std::string(static_cast<const char*>(context_->errstr));
        if (reply->type == REDIS_REPLY_ERROR) {
            const std::string_view why(reply->str, reply->len);
            // The server is starting, stopping, or busy with a script.
            for (const char* soon : {"LOADING", "BUSY ", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"}) {
                if (why.find(soon) != std::string_view::npos) return std::string(why);
            }
            fail("queue ", url(), ": ", why);
        }
        into = read(*reply);
        return {};
    }

    [[nodiscard]] static RedisReply read(redisReply const& from) {
        RedisReply reply;
        if (from.type == REDIS_REPLY_INTEGER) reply.integer = from.integer;
        if (from.type == REDIS_REPLY_STRING || from.type == REDIS_REPLY_STATUS) reply.text.assign(from.str, from.len);
        if (from.type == REDIS_REPLY_ARRAY) {
            for (std::size_t i = 0; i < from.elements; ++i) reply.elements.push_back(read(*from.element[i]));
        }
        return reply;
    }

    RedisUrl url_;
    double patience_;
    std::unique_ptr<redisContext, FreeContext> context_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search::detail
