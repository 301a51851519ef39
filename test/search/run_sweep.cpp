// Sweeps of a function that is quickly computed: killed anywhere, by one thread or several, no trial is lost and none
// counts twice.
#include <primsel/search/grid.hpp>
#include <primsel/search/random_search.hpp>
#include <primsel/search/run_sweep.hpp>

#include "../error_of.hpp"
#include "../io/scratch.hpp"
#include "spaces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace run_sweep {
namespace {

namespace ps = primsel;
using tests::error_of;

struct Killed {};

ps::search::Sweep sweep_of(std::size_t trials) {
    return {
        .method = ps::search::SweepMethod::random,
        .goals = {{"loss", false}},
        .space = ps::search::Space({ps::search::Parameter::real("x", -1, 1), ps::search::Parameter::real("idle", 0, 1),
                                    ps::search::Parameter::values("kind", {"a", "b"})}),
        .trials = trials};
}
double loss_of(ps::search::Space const& space, ps::search::SearchPoint const& point) {
    const double x = std::get<double>(space.value(point, "x"));
    return x * x + (space.value(point, "kind") == ps::search::Value("b") ? 0.3 : 0);
}
/// Fails now and then.
struct Loss {
    ps::search::Sweep sweep;
    template <class GoesOn>
    void operator()(ps::search::Trial& trial, GoesOn const&) const {
        if (trial.number % 7 == 3) ps::fail("trial ", trial.number, " does not like it");
        trial.metrics["loss"] = loss_of(sweep.space, trial.point);
    }
};
const auto go_on = [](auto const&) {};

std::vector<std::string> lines_of(ps::search::Space const& space, std::vector<ps::search::Trial> trials) {
    std::vector<std::string> lines;
    for (ps::search::Trial& trial : trials) {
        trial.seconds = 0;
        lines.push_back(ps::search::line_of(space, trial));
    }
    return lines;
}

TEST_CASE("a sweep that is killed after any trial ends as if it had not been") {
    const ps::search::Sweep sweep = sweep_of(12);
    const scratch::Folder folder;
    ps::search::TrialLog whole(folder.file("whole"), sweep.space);
    ps::search::run_sweep(sweep, ps::search::RandomSearch(sweep.space, 4), whole, 1, Loss{sweep}, go_on);
    const std::vector<std::string> expected = lines_of(sweep.space, whole.trials());
    REQUIRE(expected.size() == 12);
    for (std::size_t kill = 1; kill <= 12; ++kill) {
        const std::string path = folder.file("killed" + std::to_string(kill));
        for (int times = 0; times < 20; ++times) {
            ps::search::TrialLog log(path, sweep.space);
            std::size_t since = 0;
            try {
                ps::search::run_sweep(sweep, ps::search::RandomSearch(sweep.space, 4), log, 1, Loss{sweep},
                                      [&](auto const&) {
                                          if (++since == kill) throw Killed();
                                      });
                break;
            } catch (Killed const&) {
            }
        }
        CHECK(lines_of(sweep.space, ps::search::read_trials(path, sweep.space)) == expected);
    }
}

TEST_CASE("by several threads, killed again and again, each number comes once and no point twice") {
    const ps::search::Sweep sweep = sweep_of(40);
    const scratch::Folder folder;
    std::size_t begun = 0;
    for (;; ++begun) {
        REQUIRE(begun < 60);
        ps::search::TrialLog log(folder.file("log"), sweep.space);
        std::size_t since = 0;
        try {
            ps::search::run_sweep(sweep, ps::search::RandomSearch(sweep.space, 4), log, 3, Loss{sweep},
                                  [&](auto const&) {
                                      if (++since == 5) throw Killed();
                                  });
            break;
        } catch (Killed const&) {
        }
    }
    CHECK(begun == 8);
    std::set<std::uint64_t> numbers;
    std::set<std::string> points;
    for (ps::search::Trial const& trial : ps::search::read_trials(folder.file("log"), sweep.space)) {
        CHECK(numbers.insert(trial.number).second);
        CHECK(points.insert(sweep.space.text(trial.point)).second);
        CHECK(trial.failure.empty() == (trial.number % 7 != 3));
    }
    CHECK(numbers.size() == 40);
    CHECK(*numbers.rbegin() == 39);
}

TEST_CASE("what is known of a sweep grows as results come in") {
    const ps::search::Sweep sweep = sweep_of(40);
    const scratch::Folder folder;
    ps::search::TrialLog log(folder.file("log"), sweep.space);
    double least = 1e9, importance = 0;
    std::size_t reports = 0;
    const auto run = ps::search::run_sweep(sweep, ps::search::RandomSearch(sweep.space, 1), log, 1, Loss{sweep},
                                           [&](auto const& so_far) {
                                               CHECK(so_far.trials().size() == ++reports);
                                               ps::search::Trial const& last = so_far.trials().back();
                                               if (last.failure.empty())
                                                   least = std::min(least, last.metrics.at("loss"));
                                               REQUIRE(so_far.best().size() == 1);
                                               CHECK(so_far.trials()[so_far.best()[0]].metrics.at("loss") == least);
                                               const ps::search::SweepProgress progress = so_far.progress();
                                               CHECK(progress.done == reports);
                                               CHECK(progress.left.value() + progress.done + progress.under_way == 40);
                                               CHECK(progress.seconds_left >= 0);
                                               if (reports >= 10) importance = so_far.influences("loss")[0].importance;
                                           });
    CHECK(run.progress().failed == 6);
    CHECK(importance > 0.5);
    CHECK(run.influences("loss")[1].importance < 0.2);
}

TEST_CASE("no trial begins after the target is reached") {
    ps::search::Sweep sweep = sweep_of(400);
    sweep.goals[0].target = 0.01;
    const scratch::Folder folder;
    ps::search::TrialLog log(folder.file("log"), sweep.space);
    const auto run = ps::search::run_sweep(sweep, ps::search::RandomSearch(sweep.space, 4), log, 1, Loss{sweep}, go_on);
    REQUIRE(run.trials().size() < 400);
    for (ps::search::Trial const& trial : run.trials()) {
        const bool last = trial.number == run.trials().back().number;
        CHECK((trial.failure.empty() && trial.metrics.at("loss") <= 0.01) == last);
    }
}

TEST_CASE("a budget in seconds, a space that is used up, and the reasons of who refuses") {
    ps::search::Sweep sweep = sweep_of(1000);
    sweep.space = spaces::small();
    const scratch::Folder folder;
    ps::search::TrialLog log(folder.file("log"), sweep.space);
    const auto set = [](ps::search::Trial& trial, auto const&) { trial.metrics["loss"] = 1; };
    CHECK(ps::search::run_sweep(sweep, ps::search::Grid(sweep.space, 9), log, 2, set, go_on).trials().size() == 45);
    ps::search::SweepRun<ps::search::RandomSearch> run(sweep_of(1000), ps::search::RandomSearch(sweep_of(1).space, 1));
    const ps::search::TrialTask task = run.next().value();
    CHECK(run.under_way().size() == 1);
    CHECK(run.add({.number = task.number, .point = task.point, .seconds = 5}));
    CHECK_FALSE(run.add({.number = task.number, .point = task.point}));
    ps::search::Sweep timed = sweep_of(1000);
    timed.seconds = 5;
    ps::search::SweepRun<ps::search::RandomSearch> over(timed, ps::search::RandomSearch(timed.space, 1), run.trials());
    CHECK_FALSE(over.next());
    CHECK(error_of([&] {
              ps::search::SweepRun<ps::search::RandomSearch> other(sweep, ps::search::RandomSearch(timed.space, 1));
          }) == "sweep: the searcher has another space");
    // A result of before whose number was given to another point: that one is tried later.
    ps::search::SweepRun<ps::search::RandomSearch> later(timed, ps::search::RandomSearch(timed.space, 2));
    const ps::search::TrialTask mine = later.next().value();
    CHECK(later.add({.number = mine.number, .point = task.point}));
    CHECK(later.next().value().point == mine.point);
}

TEST_CASE("halving: hopeless trials stop at their rungs, the same after a kill, and most steps are saved") {
    ps::search::Sweep sweep = sweep_of(60);
    sweep.early_terminate = ps::search::HalvingOptions{.least_steps = 1, .factor = 3};
    std::atomic<std::size_t> steps = 0;
    const auto slowly = [&](ps::search::Trial& trial, auto const& goes_on) {
        for (std::size_t step = 1; step <= 9; ++step) {
            ++steps;
            trial.metrics["loss"] = loss_of(sweep.space, trial.point) + 1.0 / static_cast<double>(step);
            if (!goes_on(step, trial.metrics)) return;
        }
    };
    const scratch::Folder folder;
    ps::search::TrialLog whole(folder.file("whole"), sweep.space), killed(folder.file("killed"), sweep.space);
    const auto run = ps::search::run_sweep(sweep, ps::search::RandomSearch(sweep.space, 4), whole, 1, slowly, go_on);
    CHECK(steps < 60 * 9 / 2);
    CHECK(steps > 60);
    double least = 1e9;
    for (ps::search::Trial const& trial : run.trials()) {
        least = std::min(least, loss_of(sweep.space, trial.point));
        CHECK((trial.stopped || trial.rungs.contains(9)));
    }
    CHECK(loss_of(sweep.space, run.trials()[run.best()[0]].point) == least);
    try {
        ps::search::run_sweep(sweep, ps::search::RandomSearch(sweep.space, 4), killed, 1, slowly,
                              [&](auto const& so_far) {
                                  if (so_far.trials().size() == 31) throw Killed();
                              });
    } catch (Killed const&) {
    }
    ps::search::run_sweep(sweep, ps::search::RandomSearch(sweep.space, 4), killed, 1, slowly, go_on);
    CHECK(lines_of(sweep.space, killed.trials()) == lines_of(sweep.space, whole.trials()));
}

TEST_CASE("of two goals the front; a trial that breaks a bound is never chosen") {
    ps::search::Sweep sweep = sweep_of(4);
    sweep.goals = {{"ms", false}, {"top1", true}};
    sweep.bounds = {{.metric = "top1", .at_least = 0.5}};
    const auto trial = [](double ms, double top1) {
        return ps::search::Trial{.metrics = {{"ms", ms}, {"top1", top1}}};
    };
    std::vector<ps::search::Trial> trials{trial(2, 0.8), trial(1, 0.6), trial(3, 0.7), trial(0.5, 0.4), trial(1, 0.7)};
    CHECK(ps::search::best_of(sweep, trials) == std::vector<std::size_t>{4, 0});
    trials[4].failure = "no";
    CHECK(ps::search::best_of(sweep, trials) == std::vector<std::size_t>{1, 0});
    sweep.goals.pop_back();
    CHECK(ps::search::best_of(sweep, trials) == std::vector<std::size_t>{1});
    CHECK(ps::search::halving_loss(sweep, {{"ms", 1e9}, {"top1", 0.6}}) <
          ps::search::halving_loss(sweep, {{"ms", 1}, {"top1", 0.49}}));
    CHECK(ps::search::halving_loss(sweep, {{"ms", 1}, {"top1", 0.4}}) >
          ps::search::halving_loss(sweep, {{"ms", 1}, {"top1", 0.45}}));
}

TEST_CASE(
    "what a queue brings that is no result or no trial fails that trial, with its reason, and nothing waits for it") {
    const scratch::Folder folder;
    const auto failures = [&](std::string const& name, std::size_t trials, ps::search::LocalQueue& queue,
                              int bad_results) {
        const ps::search::Sweep sweep = sweep_of(trials);
        ps::search::TrialLog log(folder.file(name), sweep.space);
        ps::search::SweepRun<ps::search::RandomSearch> run(sweep, ps::search::RandomSearch(sweep.space, 1));
        std::atomic<bool> over = false;
        std::thread worker([&] {
            for (int i = 0; i < bad_results; ++i) {
                const std::optional<ps::search::Lease> lease = queue.take("bad", 60);
                if (lease) (void)queue.finish(*lease, "no JSON");
            }
            (void)ps::search::work(sweep, queue, {}, Loss{sweep}, [&] { return over.load(); });
        });
        ps::search::drive(run, log, queue, {.ahead = 2, .wait_seconds = 0.05}, go_on);
        over = true;
        worker.join();
        std::vector<std::string> reasons;
        for (ps::search::Trial const& trial : log.trials()) reasons.push_back(trial.failure.substr(0, 7));
        std::ranges::sort(reasons);
        return reasons;
    };
    ps::search::LocalQueue no_trial, no_result, before;
    no_trial.put(1, "{}");  // in its place
    CHECK(failures("no trial", 2, no_trial, 0) == std::vector<std::string>{"", "message"});
    CHECK(no_trial.aside().size() == 1);
    CHECK(failures("no result", 3, no_result, 1) == std::vector<std::string>{"", "", "result:"});
    before.put(0, "of before");
    CHECK(before.finish(before.take("bad", 0).value(), "no JSON"));
    CHECK(failures("before", 2, before, 0) == std::vector<std::string>{"", ""});
}

}  // namespace
}  // namespace run_sweep
