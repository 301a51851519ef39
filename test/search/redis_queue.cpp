// Queues in a Redis server that the tests start: the laws of queues, and sweeps whose workers are killed and whose
// server is killed and started again.
#include <primsel/search/random_search.hpp>
#include <primsel/search/redis_queue.hpp>
#include <primsel/search/run_profile.hpp>
#include <primsel/search/run_sweep.hpp>

#include "../error_of.hpp"
#include "../io/scratch.hpp"
#include "../skipped.hpp"
#include "profiled.hpp"
#include "queue_laws.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace redis_queue {
namespace {

namespace ps = primsel;

/// The program, or nothing.
std::string server_program() {
    const char* path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        const std::string file = std::string(rest.substr(0, end)) + "/redis-server";
        if (::access(file.c_str(), X_OK) == 0) return file;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return {};
}

/// A port of this machine that nobody listens at.
int free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const bool bound = ::bind(socket, any, size) == 0 && ::getsockname(socket, any, &size) == 0;
    ::close(socket);
    REQUIRE(bound);
    return ntohs(address.sin_port);
}

/// A server on a socket in a folder of its own, which keeps all that it is told; one with a password at a port, too.
class Server {
public:
    explicit Server(std::string program, std::string password = {})
        : program_(std::move(program)),
          socket_(folder_.file("s")),
          password_(std::move(password)),
          port_(password_.empty() ? 0 : free_port()) {
        start();
    }
    Server(Server const&) = delete;
    Server& operator=(Server const&) = delete;
    ~Server() { kill(); }

    [[nodiscard]] std::string url() const { return "unix:" + socket_; }
    [[nodiscard]] std::string place() const { return "127.0.0.1:" + std::to_string(port_); }
    void restart() {
        kill();
        start();
    }

private:
    void start() {
        const std::string folder = folder_.file("");
        process_ = ::fork();
        if (process_ != 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int none = ::open("/dev/null", O_RDWR);
        ::dup2(none, 1);
        ::dup2(none, 2);
        const std::string port = std::to_string(port_);
        ::execl(program_.c_str(), program_.c_str(), "--port", port.c_str(), "--bind", "127.0.0.1", "--unixsocket",
                socket_.c_str(), "--dir", folder.c_str(), "--appendonly", "yes", "--appendfsync", "always", "--save",
                "", "--requirepass", password_.c_str(), static_cast<const char*>(nullptr));
        ::_exit(127);
    }
    void kill() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }

    std::string program_;
    scratch::Folder folder_;
    std::string socket_, password_;
    int port_ = 0;
    pid_t process_ = 0;
};

ps::search::Sweep sweep_of(std::size_t trials) {
    return {.goals = {{"loss", false}},
            .space = ps::search::Space(
                {ps::search::Parameter::real("x", -1, 1), ps::search::Parameter::values("kind", {"a", "b"})}),
            .trials = trials};
}
double loss_of(ps::search::SearchPoint const& point) { return 2 * std::get<double>(point.values[0]); }

/// A process that works until it is killed; in the middle of its trial of that number it kills itself.
pid_t start_worker(std::string const& url, ps::search::RedisQueueOptions const& options, std::string const& name,
                   std::size_t fatal) {
    const pid_t process = ::fork();
    if (process != 0) return process;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        ps::search::RedisQueue queue(url, options);
        std::size_t trials = 0;
        const auto function = [&](ps::search::Trial& trial, auto const&) {
            if (++trials == fatal) ::raise(SIGKILL);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            trial.metrics["loss"] = loss_of(trial.point);
        };
        (void)ps::search::work(sweep_of(1), queue, {.name = name}, function, [] { return false; });
    } catch (ps::error const&) {
    }
    ::_exit(1);
}

/// A queue that fails where a sweep would wait for ever.
struct StopsWhenSilent {
    ps::search::RedisQueue& queue;
    int& silent;

    void put(std::uint64_t number, std::string const& message) { queue.put(number, message); }
    std::optional<ps::search::Lease> take(std::string const& worker, double seconds) {
        return queue.take(worker, seconds);
    }
    bool renew(ps::search::Lease const& lease) { return queue.renew(lease); }
    bool finish(ps::search::Lease const& lease, std::string const& result) { return queue.finish(lease, result); }
    void set_aside(ps::search::Lease const& lease, std::string const& reason) { queue.set_aside(lease, reason); }
    std::optional<ps::search::QueuedResult> next_result(double seconds) {
        auto result = queue.next_result(seconds);
        silent = result ? 0 : silent + 1;
        if (silent > 30) ps::fail("the sweep waits for ever");
        return result;
    }
    std::vector<ps::search::SetAside> aside() { return queue.aside(); }
};

TEST_CASE("a server that there is none of, and what is none") {
    CHECK(tests::error_of([] {
              ps::search::RedisQueue queue("unix:/none/s", {.first_patience = 0.01});
          }).starts_with("queue unix:/none/s: "));
    CHECK(tests::error_of([] { ps::search::RedisQueue queue("http://here"); }) ==
          "queue http://here: is none; redis://host:port or unix:/path/of/the/socket is needed");
    CHECK(tests::error_of([] { ps::search::RedisQueue queue("redis://here:x"); }) == "queue redis://here:x: no port x");
    for (const char* url :
         {"redis://:secret@here:x", "redis://u:secret@", "rediss://u:secret@here", "redis://secret@here",
          "redis://u:secret@here/x", "redis://u:secret@[::1", "other://u:secret@here", "redis://u:a/secret@[here]x",
          "redis://u:secret@@:1", "u:secret@here"}) {
        const std::string error = tests::error_of([&] { const ps::search::detail::RedisUrl none(url); });
        CAPTURE(error);
        CHECK(error.starts_with("queue "));
        CHECK(error.find("secret") == std::string::npos);
    }
}

TEST_CASE("URLs of Redis servers") {
    const ps::search::detail::RedisUrl plain("redis://here"), whole("redis://u%3a:p%40:/%C3%BC@[::1]:1234/5"),
        none("redis://:a@b/");
    CHECK(plain.host == "here");
    CHECK(plain.port == 6379);
    CHECK(plain.password.empty());
    CHECK(whole.host == "::1");
    CHECK(whole.port == 1234);
    CHECK(whole.user == "u:");
    CHECK(whole.password == "p@:/\xC3\xBC");
    CHECK(whole.database == 5);
    CHECK(whole.shown == "redis://[::1]:1234/5");
    CHECK(none.user.empty());
    CHECK(none.password == "a");
    CHECK(none.database == 0);
}

TEST_CASE("a Redis server with a password and databases" * doctest::test_suite("outside")) {
    const std::string program = server_program();
    if (program.empty()) {
        tests::skip("redis-server");
        return;
    }
    const Server server(program, "a secret/@:");
    const std::string login = "redis://default:a%20secret%2F@:@" + server.place(), wrong = "redis://:nonsense@";
    ps::search::RedisQueue first(login), again("redis://:a secret%2f%40%3A@" + server.place()), other(login + "/3");
    first.put(0, "message");
    CHECK_FALSE(other.take("worker", 0));
    const std::optional<ps::search::Lease> lease = again.take("worker", 0);
    REQUIRE(lease);
    CHECK(lease->message == "message");
    CHECK(first.url() == "redis://" + server.place());
    CHECK_FALSE(again.kept_lease());
    first.keep_lease(60);
    first.keep_lease(0.5);
    CHECK(again.kept_lease() == 0.5);
    for (std::string const& url : {wrong + server.place(), "redis://" + server.place(), login + "/99"}) {
        const std::string error = tests::error_of([&] { const ps::search::RedisQueue none(url); });
        CAPTURE(error);
        CHECK(error.starts_with("queue redis://" + server.place()));
        CHECK(error.find("secret") == std::string::npos);
        CHECK(error.find("nonsense") == std::string::npos);
    }
}

TEST_CASE("laws of queues: in a Redis server" * doctest::test_suite("outside")) {
    const std::string program = server_program();
    if (program.empty()) {
        tests::skip("redis-server");
        return;
    }
    const Server server(program);
    const auto options = [](std::string const& name, double lease) {
        return ps::search::RedisQueueOptions{
            .name = name, .lease_seconds = lease, .patience = 20, .first_patience = 20};
    };
    ps::search::RedisQueue each(server.url(), options("each", 10)), ends(server.url(), options("ends", 0.15)),
        aside(server.url(), options("aside", 10));
    queue_laws::check_each_once(each);
    queue_laws::check_lease_ends(ends);
    queue_laws::check_set_aside(aside);
    // Another object, of another program perhaps, sees all results again, and what others put there is set aside.
    ps::search::RedisQueue other(server.url(), options("each", 10));
    CHECK(queue_laws::results_of(other).size() == 5);
    ps::search::detail::RedisConnection raw(server.url(), 20);
    raw.call({"XADD", "each:todo", "*", "junk", std::string("\x00\xff", 2)});
    raw.call({"XADD", "each:todo", "*", "number", "-1", "message", "m"});
    raw.call({"XADD", "each:results", "*", "what", "is this"});
    CHECK_FALSE(other.take("one", 0));
    CHECK_FALSE(other.next_result(0));
    REQUIRE(other.aside().size() == 2);
    CHECK(other.aside()[0].reason == "is no trial: it has no number and message");
    CHECK(other.aside()[0].message == std::string("junk \x00\xff ", 8));
    CHECK_FALSE(other.aside()[0].number);  // and no trial failed because of it
    CHECK(each.about() == "");
    CHECK(each.keep_about("first") == "first");
    CHECK(other.keep_about("second") == "first");
    CHECK(tests::error_of([&] { raw.call({"NONSENSE"}); }).find("unknown command") != std::string::npos);
}

TEST_CASE("ten sweeps, of each a worker killed in mid-trial and the server killed and started again: none is lost" *
          doctest::test_suite("outside")) {
    const std::string program = server_program();
    if (program.empty()) {
        tests::skip("redis-server");
        return;
    }
    Server server(program);
    for (int round = 0; round < 10; ++round) {
        CAPTURE(round);
        const ps::search::Sweep sweep = sweep_of(12);
        const ps::search::RedisQueueOptions options{
            .name = "round" + std::to_string(round), .lease_seconds = 0.3, .patience = 20, .first_patience = 20};
        const std::vector<pid_t> workers{start_worker(server.url(), options, "first", 2),
                                         start_worker(server.url(), options, "second", 1000)};
        const scratch::Folder folder;
        ps::search::TrialLog log(folder.file("log"), sweep.space);
        ps::search::SweepRun<ps::search::RandomSearch> run(sweep, ps::search::RandomSearch(sweep.space, 1));
        ps::search::RedisQueue queue(server.url(), options);
        ps::search::drive(run, log, queue, {.ahead = 3, .wait_seconds = 1}, [&](auto const& so_far) {
            if (so_far.trials().size() == 4) server.restart();
        });
        std::set<std::uint64_t> numbers;
        for (ps::search::Trial const& trial : ps::search::read_trials(folder.file("log"), sweep.space)) {
            CHECK(numbers.insert(trial.number).second);
            CHECK(trial.failure == "");
            CHECK(trial.metrics.at("loss") == loss_of(trial.point));
        }
        CHECK(numbers.size() == 12);
        // The driver that is started again reads what it knows once more, and adds nothing.
        ps::search::SweepRun<ps::search::RandomSearch> again(sweep, ps::search::RandomSearch(sweep.space, 1),
                                                             log.trials());
        ps::search::RedisQueue later(server.url(), options);
        ps::search::drive(again, log, later, {}, [](auto const&) {});
        CHECK(log.trials().size() == 12);
        int status = 0;
        for (const pid_t worker : workers) {
            ::kill(worker, SIGKILL);
            ::waitpid(worker, &status, 0);
            CHECK(WIFSIGNALED(status));
        }
    }
}

TEST_CASE("a dead worker among thirty, ten times: its trial is handed out again, and every trial comes back once" *
          doctest::test_suite("outside")) {
    const std::string program = server_program();
    if (program.empty()) {
        tests::skip("redis-server");
        return;
    }
    const Server server(program);
    for (int round = 0; round < 10; ++round) {
        CAPTURE(round);
        ps::search::RedisQueue queue(
            server.url(),
            {.name = "dead" + std::to_string(round), .lease_seconds = 0.3, .patience = 20, .first_patience = 20});
        constexpr std::uint64_t dead = 29;
        std::vector<ps::search::Lease> leases;
        for (std::uint64_t i = 0; i <= dead; ++i) queue.put(i, "trial");
        while (const auto lease = queue.take("worker" + std::to_string(leases.size()), 0)) {
            if (lease->number != dead) leases.push_back(*lease);
        }
        bool is_back = false;
        for (int tries = 0; tries < 200 && !is_back; ++tries) {
            for (ps::search::Lease const& lease : leases) (void)queue.renew(lease);
            const auto lease = queue.take("other", 0.02);
            if (lease) leases.push_back(*lease);
            is_back = lease && lease->number == dead;
        }
        CHECK(is_back);
        for (ps::search::Lease const& lease : leases) (void)queue.finish(lease, "done");
        const auto results = queue_laws::results_of(queue);
        CHECK(results.size() == dead + 1);
        for (auto const& [number, all] : results) CHECK(all.size() == 1);
        CHECK_FALSE(queue.take("other", 0));
    }
}

TEST_CASE("what others delete from the server is done again, and every trial is logged once" *
          doctest::test_suite("outside")) {
    const std::string program = server_program();
    if (program.empty()) {
        tests::skip("redis-server");
        return;
    }
    const Server server(program);
    const ps::search::Sweep sweep = sweep_of(8);
    // Keys are of the queue; {ENTRY} is the entry of the trial that a dead worker has.
    const std::vector<std::vector<std::string>> attacks{{"XGROUP", "DELCONSUMER", ":todo", "workers", "gone"},
                                                        {"XGROUP", "DESTROY", ":todo", "workers"},
                                                        {"XDEL", ":todo", "{ENTRY}"},
                                                        {"XTRIM", ":todo", "MAXLEN", "0"},
                                                        {"DEL", ":todo"},
                                                        {"DEL", ":trials"},
                                                        {"DEL", ":done"},
                                                        {"DEL", ":results"},
                                                        {"DEL", ":entries"},
                                                        {"FLUSHALL"}};
    for (std::vector<std::string> const& attack : attacks) {
        const std::string name = "attack" + std::to_string(&attack - attacks.data());
        CAPTURE(attack[0]);
        CAPTURE(name);
        const ps::search::RedisQueueOptions options{
            .name = name, .lease_seconds = 0.3, .patience = 20, .first_patience = 20};
        std::atomic<bool> over = false;
        std::thread worker([&] {
            ps::search::RedisQueue queue(server.url(), options);
            const auto function = [](ps::search::Trial& trial, auto const&) {
                trial.metrics["loss"] = loss_of(trial.point);
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            };
            (void)ps::search::work(sweep, queue, {.name = "alive"}, function, [&] { return over.load(); });
        });
        const scratch::Folder folder;
        ps::search::TrialLog log(folder.file("log"), sweep.space);
        ps::search::SweepRun<ps::search::RandomSearch> run(sweep, ps::search::RandomSearch(sweep.space, 1));
        ps::search::RedisQueue queue(server.url(), options), other(server.url(), options);
        ps::search::detail::RedisConnection raw(server.url(), 20);
        int silent = 0;
        StopsWhenSilent patient{queue, silent};
        try {
            ps::search::drive(run, log, patient, {.ahead = 4, .wait_seconds = 0.2}, [&](auto const& so_far) {
                if (so_far.trials().size() != 2) return;
                const auto held = other.take("gone", 0.5);
                std::vector<std::string> command = attack;
                for (std::string& word : command) {
                    if (word.starts_with(':')) word.insert(0, name);
                    if (word == "{ENTRY}") word = held ? held->id.substr(0, held->id.find('/')) : "0-1";
                }
                (void)raw.call(command);
            });
        } catch (ps::error const& fault) {
            CHECK_MESSAGE(false, fault.what());
        }
        over = true;
        worker.join();
        std::set<std::uint64_t> numbers;
        for (ps::search::Trial const& trial : ps::search::read_trials(folder.file("log"), sweep.space)) {
            CHECK(numbers.insert(trial.number).second);
            CHECK(trial.failure == "");
        }
        CHECK(numbers.size() == 8);
    }
}

/// As start_worker, of a profile.
pid_t start_profiler(std::string const& url, ps::search::RedisQueueOptions const& options, std::size_t fatal) {
    const pid_t process = ::fork();
    if (process != 0) return process;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        ps::search::RedisQueue queue(url, options);
        std::size_t rows = 0;
        const auto measure = [&](ps::search::ProfiledTable const& table, std::vector<int> const& row) {
            if (++rows == fatal) ::raise(SIGKILL);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return profiled::times_of(row, table.subjects.size());
        };
        (void)ps::search::work(profiled::work_of(), queue, {}, measure, [] { return false; });
    } catch (ps::error const&) {
    }
    ::_exit(1);
}

TEST_CASE("three profiles, of each a worker killed in mid-part, the server too, and junk in the queue: none is lost" *
          doctest::test_suite("outside")) {
    const std::string program = server_program();
    if (program.empty()) {
        tests::skip("redis-server");
        return;
    }
    Server server(program);
    for (int round = 0; round < 3; ++round) {
        CAPTURE(round);
        const ps::search::RedisQueueOptions options{
            .name = "profile" + std::to_string(round), .lease_seconds = 0.3, .patience = 20, .first_patience = 20};
        ps::search::RedisQueue queue(server.url(), options);
        ps::search::detail::RedisConnection raw(server.url(), 20);
        raw.call({"XADD", options.name + ":todo", "*", "junk", "here"});
        queue.put(1, "no part");
        const std::vector<pid_t> workers{start_profiler(server.url(), options, 3),
                                         start_profiler(server.url(), options, 1000)};
        const scratch::Folder folder;
        profiled::Files files(folder.file(""));
        ps::search::ProfileRun run = files.run(12, 1);
        const auto report = [&](ps::search::ProfileRun const& so_far) {
            if (so_far.progress().now == 6) server.restart();
        };
        ps::search::drive(run, queue, {.ahead = 4, .wait_seconds = 0.5}, report, [] { return false; });
        profiled::check_whole(files.convolutions.data(), profiled::rows_of(12, false));
        profiled::check_whole(files.layouts.data(), profiled::rows_of(6, true));
        CHECK(run.progress().refused == 1);
        CHECK(queue.aside().size() == 2);
        int status = 0;
        for (const pid_t worker : workers) {
            ::kill(worker, SIGKILL);
            ::waitpid(worker, &status, 0);
            CHECK(WIFSIGNALED(status));
        }
    }
}

}  // namespace
}  // namespace redis_queue
