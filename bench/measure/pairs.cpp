// bench_measure_pairs A.csv B.csv ...: how honest beliefs about another machine are. Each file is a profile (primitives
// by c, k, im, f, s; its layouts are in A-layouts.csv, or B_layouts.csv for B_primitives.csv). For each ordered pair, a
// model of the first is refined by the times of the second, for each of six networks that was measured wholly and for
// forty of its convolutions: how far above the optimum the plan ends, how many measurements that took; and how many of
// the times that were not measured lie within the 95 % that were believed to, after 16 measurements and after 64.
#include "machines.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/plan/reprice.hpp>

#include <cstdio>
#include <exception>

namespace {

using machines::Machine;

/// The number of times that were not measured, and how many of them lie within 95 % of belief.
struct Coverage {
    double all = 0, within = 0;

    void add(ps::Graph const& graph, ps::Kernels const& kernels, machines::Guess& guess,
             ps::measure::Corrected<machines::Guess>& model, machines::Records const& truth) {
        machines::each_deviation(
            graph, kernels, guess, truth, [&](ps::ConvQuery const& query, double guessed, double deviation) {
                if (model.measured(kernels, query)) return;
                double believed = 0;
                model.predict(kernels, std::span(&query, 1), std::span(&believed, 1));
                const double away = std::abs(deviation - std::log(believed / guessed));
                ++all, within += away <= ps::measure::BeliefTails::within_95 * model.deviation(kernels, query) ? 1 : 0;
            });
    }
    [[nodiscard]] double percent() const { return 100 * within / std::max(all, 1.0); }
};

struct Line {
    std::string text;
    double worst = 0;  // % above the optimum
    Coverage early, late;
};

void judge(ps::Graph const& graph, Machine const& from, Machine const& to, Line& line) {
    std::vector<ps::PrimitiveEntry> entries;
    const ps::Kernels kernels = machines::kernels_of(to.profile, entries);
    const machines::Records truth(to.profile);
    machines::Guess guess(from.model, truth);
    machines::Judged records(guess, truth);
    const double best = ps::make_plan(graph, kernels, records, ps::ExactPbqp{}).total_seconds;
    if (best >= ps::learn::Recorded::beyond) {
        line.text += "       -    -";
        return;
    }
    ps::measure::Corrected<machines::Guess> model(kernels, guess);
    std::size_t measured = 0;
    const auto refine = [&](std::size_t most) {
        ps::measure::Refinement refined = machines::refine_by(truth, graph, kernels, model, most, [](auto const&) {});
        measured += refined.steps.back().measurements;
        return refined;
    };
    (void)refine(16);
    line.early.add(graph, kernels, guess, model, truth);
    (void)refine(64 - measured);
    line.late.add(graph, kernels, guess, model, truth);
    const ps::measure::Refinement refined = refine(std::numeric_limits<std::size_t>::max());
    const double above = 100 * (ps::reprice(refined.plan, graph, kernels, records) / best - 1);
    char text[64];
    std::snprintf(text, sizeof(text), "%8.2f %4zu", above, measured);
    line.text += text;
    line.worst = std::max(line.worst, above);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        ps::Sequential executor;
        std::vector<Machine> all;
        for (int i = 1; i < argc; ++i) all.push_back(machines::read_machine(argv[i], executor));
        std::vector<ps::Graph> networks;
        std::printf("%-13s %-13s", "model of", "refined on");
        for (ps::zoo::Entry const& entry : ps::zoo::entries) {
            networks.push_back(ps::simplify(entry.graph()));
            std::printf("%13s", std::string(entry.name).c_str());
        }
        std::printf("%13s   worst  after 16     64\n%-26s", "forty", "");
        for (std::size_t i = 0; i <= networks.size(); ++i) std::printf("   +%%  number");
        std::printf("          within 95 %%\n");
        std::vector<std::pair<Machine const*, Machine const*>> pairs;
        for (Machine const& from : all) {
            for (Machine const& to : all) {
                if (from.name != to.name) pairs.emplace_back(&from, &to);
            }
        }
        ps::ThreadPool pool;
        std::vector<Line> lines(pairs.size());
        pool.parallel_for(pairs.size(), [&](std::size_t i, std::size_t) {
            auto const& [from, to] = pairs[i];
            for (ps::Graph const& graph : networks) judge(graph, *from, *to, lines[i]);
            judge(machines::convolutions_of(to->profile, 40), *from, *to, lines[i]);
            std::fprintf(stderr, "%s on %s\n", from->name.c_str(), to->name.c_str());
        });
        std::size_t settled = 0, honest[2]{};
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            Line const& line = lines[i];
            const double within[]{line.early.percent(), line.late.percent()};
            for (std::size_t late : {0U, 1U}) honest[late] += within[late] >= 90 && within[late] <= 98 ? 1 : 0;
            settled += line.worst <= 0.5 ? 1 : 0;
            std::printf("%-13s %-13s%s%8.2f%10.1f%7.1f\n", pairs[i].first->name.c_str(), pairs[i].second->name.c_str(),
                        line.text.c_str(), line.worst, within[0], within[1]);
        }
        std::printf("of %zu pairs %zu end within 0.5 %% of the optimum; 90 to 98 %% lie within for %zu and %zu\n",
                    pairs.size(), settled, honest[0], honest[1]);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
