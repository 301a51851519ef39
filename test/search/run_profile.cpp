// Profiles that several measure through a queue within the program: whoever drops its part, sends nonsense, or is
// killed, every row is there once.
#include <primsel/search/run_profile.hpp>

#include "../error_of.hpp"
#include "../io/scratch.hpp"
#include "profiled.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace run_profile {
namespace {

namespace ps = primsel;
using tests::error_of;

struct Killed {};
constexpr auto never = [] { return false; };
constexpr auto times = [](ps::search::ProfiledTable const& table, std::vector<int> const& row) {
    return profiled::times_of(row, table.subjects.size());
};

TEST_CASE("what a queue says of a profile reads back, and no part of it may be missing") {
    const ps::search::ProfileWork work = profiled::work_of();
    const std::string line = ps::search::line_of(work);
    CHECK(ps::search::line_of(ps::search::parse_profile_work("w", line)) == line);
    for (std::size_t i = 0; i < line.size(); i += 3) {
        CHECK(error_of([&] { (void)ps::search::parse_profile_work("w", line.substr(0, i)); }).starts_with("w:"));
    }
    const ps::search::ProfilePart part{.number = 7, .table = "convolutions", .rows = profiled::rows_of(3, false)};
    const std::string text = ps::search::line_of(part);
    CHECK(ps::search::line_of(ps::search::parse_part("p", text, work.tables)) == text);
    for (const char* wrong :
         {"", "{}", "[]", R"({"part":-1,"table":"convolutions","rows":[]})", R"({"part":1,"table":"none","rows":[]})",
          R"({"part":1,"table":"layouts","rows":[[1,2,3]]})", R"({"part":1,"table":"layouts","rows":[[1,0]]})",
          R"({"part":1,"table":"layouts","rows":[[1048576,1048576]]})",
          R"({"part":1,"table":"convolutions","rows":[[1,1,1,3000,1]]})",
          R"({"part":1,"table":"convolutions","rows":[1]})"}) {
        CAPTURE(wrong);
        CHECK(error_of([&] { (void)ps::search::parse_part("p", wrong, work.tables); }).starts_with("p:"));
    }
    ps::search::ProfiledRows rows{.worker = "w"};
    for (auto const& row : part.rows) rows.seconds.push_back(profiled::times_of(row, 3));
    const std::string result = ps::search::line_of(part, rows);
    CHECK(ps::search::parse_rows("r", result, part, 3).seconds.size() == 3);
    CHECK(error_of([&] { (void)ps::search::parse_rows("r", result, part, 2); }) == "r: ns[0]: has 3 times, not 2");
    ps::search::ProfilePart other = part;
    other.number = 8;
    CHECK(error_of([&] { (void)ps::search::parse_rows("r", result, other, 3); }) == "r: part: is 7, not 8");
    other = part;
    other.rows.pop_back();
    CHECK(error_of([&] { (void)ps::search::parse_rows("r", result, other, 3); }) == "r: ns: has 3 rows, not 2");
}

TEST_CASE("a machine of another kind is told from the one that is profiled, with what both are") {
    const ps::search::ProfiledMachine there = profiled::work_of().machine;
    CHECK(ps::search::difference(there, there, 0) == "");
    const auto said = [&](auto const& change) {
        ps::search::ProfiledMachine here = there;
        change(here);
        return ps::search::difference(there, here, 0.05);
    };
    CHECK(said([](auto& here) { here.arch = "b"; }) ==
          "its instruction set is b, and a of the machine that is profiled");
    CHECK(said([](auto& here) { here.cpu = "b"; }) == "its processor is b, and c of the machine that is profiled");
    CHECK(said([](auto& here) { here.lanes = 4; }) ==
          "its vector width in floats is 4, and 8 of the machine that is profiled");
    CHECK(said([](auto& here) { here.version = "2"; }) ==
          "its version of primsel is 2, and 1 of the machine that is profiled");
    CHECK(said([](auto& here) { here.compiler = "h"; }) == "its compiler is h, and g of the machine that is profiled");
    for (const double factor : {0.96, 1.04}) {
        CHECK(said([&](auto& here) { here.reference_seconds *= factor, here.peak_flops *= factor; }) == "");
    }
    CHECK(said([](auto& here) { here.reference_seconds *= 1.06; }) ==
          "its reference's time is 10.600 us, and 10.000 us of the machine that is profiled; at most 5 % are borne");
    CHECK(said([](auto& here) { here.peak_flops *= 0.9; }) ==
          "its peak of multiply-adds is 90.0 GFLOP/s, and 100.0 GFLOP/s of the machine that is profiled; at most 5 % "
          "are borne");
    CHECK(said([](auto& here) { here.peak_flops = 0.0 / 0.0; }) != "");
}

TEST_CASE("workers that drop parts and send nonsense, and junk in the queue: every row is there once") {
    for (const std::size_t at_once : {1U, 4U}) {
        CAPTURE(at_once);
        const scratch::Folder folder;
        profiled::Files files(folder.file(""));
        ps::search::LocalQueue queue(0.05);
        queue.put(3, "no part");  // where a part will be
        const ps::search::ProfileWork work = profiled::work_of();
        std::atomic<bool> over = false;
        std::atomic<std::size_t> counted = 0;
        std::vector<std::thread> workers;
        for (int w = 0; w < 2; ++w) {
            workers.emplace_back(
                [&] { counted += ps::search::work(work, queue, {}, times, [&] { return over.load(); }); });
        }
        workers.emplace_back([&] {
            for (int taken = 0; !over; ++taken) {
                const std::optional<ps::search::Lease> lease = queue.take("bad", 0.01);
                if (lease && taken == 0) (void)queue.finish(*lease, R"({"part":0,"table":"layouts"})");
                if (taken > 8) return;
            }
        });
        ps::search::ProfileRun run = files.run(20, at_once);
        ps::search::drive(
            run, queue, {.ahead = 5, .wait_seconds = 0.05}, [](auto const&) {}, never);
        over = true;
        for (std::thread& worker : workers) worker.join();
        profiled::check_whole(files.convolutions.data(), profiled::rows_of(20, false));
        profiled::check_whole(files.layouts.data(), profiled::rows_of(10, true));
        const ps::search::ProfileProgress progress = run.progress();
        CHECK(std::pair(progress.done, progress.now) == std::pair<std::size_t, std::size_t>(30, 30));
        CHECK(progress.refused >= 1);
        CHECK(progress.seconds_left == 0);
        CHECK(progress.workers.contains("worker"));
    }
}

TEST_CASE("who hands out is killed after any row: it goes on with file and queue, and nothing is measured twice") {
    for (std::size_t kill = 1; kill < 12; kill += 2) {
        CAPTURE(kill);
        const scratch::Folder folder;
        ps::search::LocalQueue queue(10);
        std::multiset<std::vector<int>> measured;
        const ps::search::ProfileWork work = profiled::work_of();
        // The program that hands out does all that waits, as a queue of one thread.
        const auto measure_all = [&] {
            while (const std::optional<ps::search::Lease> lease = queue.take("one", 0)) {
                const ps::search::ProfilePart part = ps::search::parse_part("p", lease->message, work.tables);
                ps::search::ProfiledRows rows{.worker = "one"};
                for (std::vector<int> const& row : part.rows) {
                    measured.insert(row);
                    rows.seconds.push_back(profiled::times_of(row, part.table == "layouts" ? 1 : 3));
                }
                CHECK(queue.finish(*lease, ps::search::line_of(part, rows)));
            }
            return false;
        };
        {
            profiled::Files files(folder.file(""));
            ps::search::ProfileRun run = files.run(8, 1);
            std::size_t added = 0;
            const auto killed = [&](auto const&) {
                if (++added == kill) throw Killed{};
            };
            CHECK_THROWS_AS(ps::search::drive(run, queue, {.ahead = 3, .wait_seconds = 0}, killed, measure_all),
                            Killed);
        }
        profiled::Files files(folder.file(""));
        ps::search::ProfileRun run = files.run(8, 1);
        CHECK(run.progress().done == kill);
        ps::search::drive(
            run, queue, {.ahead = 3, .wait_seconds = 0}, [](auto const&) {}, measure_all);
        profiled::check_whole(files.convolutions.data(), profiled::rows_of(8, false));
        profiled::check_whole(files.layouts.data(), profiled::rows_of(4, true));
        for (std::vector<int> const& row : measured) CHECK(measured.count(row) == 1);
    }
}

TEST_CASE("samples are told apart") {
    const scratch::Folder folder;
    profiled::Files files(folder.file(""));
    const std::string one = files.run(4, 1).sample();
    CHECK(files.run(4, 1).sample() == one);
    CHECK(files.run(6, 1).sample() != one);
    CHECK(files.run(4, 2).sample() != one);
}

TEST_CASE("a part that is refused again and again ends the profile, with the reason") {
    const scratch::Folder folder;
    profiled::Files files(folder.file(""));
    ps::search::LocalQueue queue(10);
    ps::search::ProfileRun run = files.run(2, 1);
    const std::string said = error_of([&] {
        ps::search::drive(
            run, queue, {.ahead = 1, .wait_seconds = 0}, [](auto const&) {},
            [&] {
                if (const auto lease = queue.take("bad", 0)) queue.set_aside(*lease, "I do not like it");
                return false;
            });
    });
    CHECK(said == "profile: part 0 was refused 3 times, last: I do not like it");
}

}  // namespace
}  // namespace run_profile
