#include "plans.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/cost/learned_cost.hpp>
#include <primsel/measure/corrected.hpp>
#include <primsel/measure/refine.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/make_plan.hpp>
#include <primsel/plan/reprice.hpp>

#include <time.h>

#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace reproduce {
namespace {

using Learned = ps::LearnedCost<AnyModel, Truth>;

/// Predictions, where there are measurements to judge them by.
class Guess {
public:
    static constexpr std::string_view name = "guess";

    Guess(Learned learned, Truth truth) : learned_(std::move(learned)), truth_(std::move(truth)) {}

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) {
        std::vector<ps::ConvQuery> published(queries.begin(), queries.end());
        for (ps::ConvQuery& query : published) query.shape = truth_.as_measured(query.shape);
        learned_.predict(kernels, std::span<const ps::ConvQuery>(published), seconds);
        std::vector<double> measured(queries.size());
        truth_.predict(kernels, queries, std::span(measured));
        for (std::size_t i = 0; i < measured.size(); ++i) {
            if (measured[i] >= ps::learn::Recorded::beyond) seconds[i] = measured[i];
        }
    }
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
        learned_.predict(kernels, queries, seconds);
    }

private:
    Learned learned_;
    Truth truth_;
};

Learned learned_of(Platform const& platform, AnyModel const& primitives, AnyModel const* layouts) {
    const ps::Trained learned{platform.primitives.subjects, primitives};
    if (layouts == nullptr) return Learned(learned, platform.truth);
    return {learned, ps::Trained{platform.layouts.subjects, *layouts}, platform.truth};
}

double above_best(World const& world, Platform const& platform, std::size_t network, ps::Plan const& plan) {
    Network const& planned = world.networks[network];
    Truth truth = platform.truth;
    const double seconds = ps::reprice(plan, planned.graph, platform.kernels, truth);
    if (seconds >= ps::learn::Recorded::beyond) {
        ps::fail("the plan of ", planned.name, " on ", platform.name, " rests on a time that was not measured");
    }
    return 100 * (seconds / platform.best[network].value() - 1);
}

}  // namespace

double increase_percent(World const& world, Platform const& platform, std::size_t network, AnyModel const& primitives,
                        AnyModel const* layouts) {
    Guess guess(learned_of(platform, primitives, layouts), platform.truth);
    ps::Graph const& graph = world.networks[network].graph;
    const ps::Plan plan = ps::make_plan(graph, platform.kernels, guess, ps::ExactPbqp{});
    return above_best(world, platform, network, plan);
}

RefinedPlan refine_plan(World const& world, Platform const& platform, std::size_t network, AnyModel const& primitives,
                        std::size_t most) {
    Guess guess(learned_of(platform, primitives, nullptr), platform.truth);
    ps::measure::Corrected<Guess> model(platform.kernels, guess);
    Truth truth = platform.truth;
    ps::Graph const& graph = world.networks[network].graph;
    RefinedPlan result;
    const auto measure = [&](ps::ConvQuery const& query) {
        double seconds = 0;
        truth.predict(platform.kernels, std::span<const ps::ConvQuery>(&query, 1), std::span(&seconds, 1));
        result.seconds += seconds;
        return ps::measure::Measurement{.seconds = seconds, .spent = 0};
    };
    // By the number of measurements and never by this machine's time: a report says the same wherever it is made.
    const ps::measure::RefineOptions options{.seconds = std::numeric_limits<double>::infinity(), .most = most};
    const ps::measure::Refinement refined =
        ps::measure::refine(graph, platform.kernels, model, ps::ExactPbqp{}, measure, options);
    result.measurements = refined.steps.back().measurements;
    result.settled = refined.settled;
    result.increase_percent = above_best(world, platform, network, refined.plan);
    return result;
}

double cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

SelectionTime time_selection(World const& world, Platform const& platform, std::size_t network,
                             AnyModel const& primitives, AnyModel const& layouts, std::size_t plans) {
    Learned learned = learned_of(platform, primitives, &layouts);
    std::vector<double> predict, solve;
    // An interrupted selection does not count, unless there is no other.
    for (std::size_t i = 0; i < 3 * plans && predict.size() < plans; ++i) {
        const double cpu = cpu_seconds();
        const ps::Timer timer;
        const ps::Plan plan = ps::make_plan(world.networks[network].graph, platform.kernels, learned, ps::ExactPbqp{});
        const double wall = timer.seconds();
        if (cpu_seconds() - cpu < 0.9 * wall && i + plans < 3 * plans) continue;
        predict.push_back(1e3 * plan.predict_seconds);
        solve.push_back(1e3 * plan.solve_seconds);
    }
    return {ps::median(predict), ps::median(solve)};
}

}  // namespace reproduce
