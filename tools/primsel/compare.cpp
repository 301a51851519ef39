// primsel compare NET: measured time of the plan against greedy and every uniform plan.
#include "commands.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/plan/print.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace cli {
namespace {

struct CompareOptions : Options {
    std::size_t rounds = 9;
    std::vector<std::string> against;
};

struct Times {
    std::vector<double> seconds;
    std::vector<double> at_clock;  ///< the same at the clock that costs predict for
};

/// The times of each session. They run in turns, so that other work of the machine slows all alike; each twice, of
/// which the second counts, as the first finds the caches as another left them.
std::vector<Times> time_in_turns(std::vector<std::unique_ptr<Session>>& sessions, std::size_t rounds) {
    Progress progress("running", sessions.size() * rounds);
    std::vector<Times> times(sessions.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < sessions.size(); ++i) {
            sessions[i]->run();
            const double before = relative_clock();
            const ps::Timer timer;
            sessions[i]->run();
            const double seconds = timer.seconds();
            times[i].seconds.push_back(seconds);
            times[i].at_clock.push_back(seconds * (before + relative_clock()) / 2);
            progress.tick();
        }
    }
    return times;
}

void compare(CompareOptions const& options) {
    const Model model = load_model(options.model);
    std::vector<Rival> rivals, refused;
    for (Rival& rival : options.against.empty()
                            ? rivals_of(model, options.planning, options.threads)
                            : rivals_of(model, options.planning, options.threads, options.against)) {
        (rival.refusal.empty() ? rivals : refused).push_back(std::move(rival));
    }
    std::vector<std::unique_ptr<Session>> sessions;
    for (Rival const& rival : rivals) {
        sessions.push_back(std::make_unique<Session>(model, rival.plan, options.threads));
        for (std::size_t i = 0; i < sessions.back()->inputs(); ++i) {
            sessions.back()->fill_randomly(i, options.model.seed);
        }
    }
    const std::vector<Times> times = time_in_turns(sessions, options.rounds);
    const auto median = [&](std::size_t i) { return ps::median(times[i].seconds); };
    const auto at_clock = [&](std::size_t i) { return ps::median(times[i].at_clock); };
    const auto least = [&](std::size_t i) { return *std::ranges::min_element(times[i].seconds); };

    ps::Json::Array plans, left_out;
    ps::TextTable table;
    table.add({"plan", "predicted ms", "median ms", "at predicted clock", "least ms", "x the plan"});
    for (std::size_t i = 0; i < rivals.size(); ++i) {
        const double ratio = median(i) / median(0);
        plans.push_back(ps::Json::Object{{"name", rivals[i].name},
                                         {"predicted_ms", rivals[i].plan.total_seconds * 1e3},
                                         {"median_ms", median(i) * 1e3},
                                         {"at_clock_ms", at_clock(i) * 1e3},
                                         {"min_ms", least(i) * 1e3},
                                         {"ratio", ratio}});
        char over_plan[16];
        std::snprintf(over_plan, sizeof(over_plan), "%.2f", ratio);
        table.add({rivals[i].name, ps::milliseconds(rivals[i].plan.total_seconds), ps::milliseconds(median(i)),
                   ps::milliseconds(at_clock(i)), ps::milliseconds(least(i)), over_plan});
    }
    std::string text = table.text();
    for (Rival const& rival : refused) {
        left_out.push_back(ps::Json::Object{{"name", rival.name}, {"reason", rival.refusal}});
        text += ps::printable(rival.name + ": " + rival.refusal) + '\n';
    }
    if (options.json) {
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"threads", options.threads},
                                           {"rounds", options.rounds},
                                           {"costs", rivals[0].plan.cost_model},
                                           {"predict_ms", rivals[0].plan.predict_seconds * 1e3},
                                           {"solve_ms", rivals[0].plan.solve_seconds * 1e3},
                                           {"optimal", rivals[0].plan.optimal},
                                           {"plans", std::move(plans)},
                                           {"refused", std::move(left_out)}});
    }
    print(text);
}

}  // namespace

void add_compare(CLI::App& app) {
    const auto options = std::make_shared<CompareOptions>();
    CLI::App& command = *app.add_subcommand("compare", "Time the plan against greedy and every uniform plan");
    add_options(command, *options, SavedPlan::beside);
    command
        .add_option("--rounds", options->rounds,
                    "Rounds in which each plan runs twice, and is timed the second time (default 9)")
        ->check(CLI::Range(1, 100000))
        ->type_name("R");
    command
        .add_option("--against", options->against,
                    "Instead of those, against the plans that other costs lead to; +S calibrates them for S seconds")
        ->type_name("COSTS[+S]...");
    command.callback([options, &command] {
        // Against greedy and uniform plans nothing is left for the solver to do.
        if (!options->planning.plan.empty() && options->against.empty() && command.count("--solver") > 0) {
            throw CLI::ExcludesError("--plan", "--solver");
        }
        compare(*options);
    });
}

}  // namespace cli
