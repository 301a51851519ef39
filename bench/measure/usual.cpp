// bench_measure_usual [--samples] A.csv B.csv ...: what machines usually differ by, from all ordered pairs of profiles
// (as bench_measure_pairs reads them). Prints usual_of_plans (measure/corrected.hpp): the hyperparameters by which the
// times of sixteen convolutions are the most likely, of which a refinement has measured 16, then 64, in the order of
// MultitaskPrior, slopes last; then the same without the pairs that refine on one processor (a profile's name up to the
// first -), and how many of its times then lie within the 95 % that were believed to. --samples: those that fit 250
// times of each pair, drawn at random, and their means and deviations: MultitaskProcess::usual().
#include "machines.hpp"

#include <primsel/core/thread_pool.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>

namespace {

using machines::Machine;
constexpr std::size_t parameters = ps::learn::MultitaskPrior::parameters;

void print(const char* name, std::span<const double> values) {
    std::printf("%-27s", name);
    for (const double value : values) std::printf("%7.2f", value);
    std::printf("\n");
    std::fflush(stdout);
}

/// The hyperparameters that make some deviations of the one machine's times from the other's model most likely.
std::vector<double> hyperparameters(Machine const& from, Machine const& to) {
    constexpr std::size_t observed = 250;
    constexpr ps::learn::MultitaskPrior start{.mean = {-5, -3, -3, -3, -3, -3, -6, -1, -1, -1, -1, -1},
                                              .deviation = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}};
    ps::learn::Dataset const& data = to.profile.primitives.data;
    std::vector<std::size_t> labels, subject_of;
    for (std::string const& id : data.subjects) {
        const auto found = std::ranges::find(from.model.subjects, id);
        subject_of.push_back(static_cast<std::size_t>(found - from.model.subjects.begin()));
        labels.push_back(static_cast<std::size_t>(ps::learn::family_of_id(id)));
    }
    const ps::FloatTable features = ps::learn::features_of(data), predicted = from.model.regression.predict(features);
    ps::learn::MultitaskProcess process(labels, start);
    std::vector<std::size_t> row_of(data.rows(), data.rows());
    std::size_t count = 0;
    for (const std::size_t at : ps::learn::shuffled(data.rows() * data.subjects.size(), 1)) {
        const std::size_t row = at / data.subjects.size(), subject = at % data.subjects.size();
        if (data.time(row, subject) <= 0 || subject_of[subject] == from.model.subjects.size()) continue;
        const double deviation =
            std::log(data.time(row, subject)) - static_cast<double>(predicted(row, subject_of[subject]));
        if (!std::isfinite(deviation)) continue;
        if (row_of[row] == data.rows()) {
            std::array<float, ps::ConvFeatures::count> values{};
            std::ranges::copy(features.row(row), values.begin());
            row_of[row] = process.add_row(values);
        }
        process.observe(row_of[row], subject, deviation);
        if (++count == observed) break;
    }
    process.tune(12);
    const auto found = process.hyperparameters();
    return {found.begin(), found.end()};
}

void print_of_samples(std::vector<Machine> const& all) {
    std::vector<std::vector<double>> found;
    for (Machine const& from : all) {
        for (Machine const& to : all) {
            if (from.name == to.name) continue;
            found.push_back(hyperparameters(from, to));
            print(ps::join(from.name, ' ', to.name).c_str(), found.back());
        }
    }
    for (const bool mean : {true, false}) {
        std::array<double, parameters> values{};
        for (std::size_t i = 0; i < values.size(); ++i) {
            double sum = 0, squares = 0;
            for (auto const& one : found) sum += one[i], squares += one[i] * one[i];
            sum /= static_cast<double>(found.size()), squares /= static_cast<double>(found.size());
            values[i] = mean ? sum : std::sqrt(std::max(0.0, squares - sum * sum));
        }
        print(mean ? "mean" : "deviation", values);
    }
}

/// The measurements of a refinement on one machine, and all that is known.
struct Pair {
    struct One {
        std::size_t row = 0;
        ps::learn::PredictedPrimitive what;
        double deviation = 0;
    };
    std::string to;
    std::vector<std::size_t> labels;
    std::vector<std::array<float, ps::ConvFeatures::count>> rows;
    std::vector<One> measured;  // in that order
    std::vector<One> others;

    Pair(Machine const& from, Machine const& machine) : to(machine.name) {
        std::vector<ps::PrimitiveEntry> entries;
        const ps::Kernels kernels = machines::kernels_of(machine.profile, entries);
        for (auto const& entry : entries) labels.push_back(static_cast<std::size_t>(entry.family));
        const ps::Graph graph = machines::convolutions_of(machine.profile, 16);
        const machines::Records truth(machine.profile);
        machines::Guess guess(from.model, truth);
        ps::measure::Corrected<machines::Guess> model(kernels, guess);
        std::vector<ps::ConvShape> shapes;
        std::vector<std::vector<double>> guessed;
        machines::each_deviation(graph, kernels, guess, truth,
                                 [&](ps::ConvQuery const& query, double seconds, double deviation) {
                                     if (shapes.empty() || shapes.back() != query.shape) {
                                         shapes.push_back(query.shape);
                                         rows.push_back(ps::ConvFeatures::of(query.shape));
                                         guessed.emplace_back(entries.size(), std::nan(""));
                                     }
                                     guessed.back()[query.primitive] = std::log(seconds);
                                     others.push_back({rows.size() - 1, {query.primitive, 0}, deviation});
                                 });
        for (One& one : others) one.what = ps::learn::predicted_primitives(guessed[one.row])[one.what.primitive];
        (void)machines::refine_by(truth, graph, kernels, model, most, [&](ps::ConvQuery const& query) {
            const auto found = std::ranges::find_if(others, [&](One const& one) {
                return shapes[one.row] == query.shape && one.what.primitive == query.primitive;
            });
            if (found == others.end()) return;
            measured.push_back(*found);
            others.erase(found);
        });
    }

    struct Judgement {
        double surprise = 0, within = 0, all = 0;
    };
    /// After so many measurements: the mean of the negative logarithm of how likely the others are, and how many of
    /// them lie within 95 %.
    void judge(std::size_t count, ps::learn::MultitaskPrior const& prior, Judgement& sum) const {
        ps::learn::MultitaskProcess process(labels, prior);
        for (auto const& row : rows) process.add_row(row);
        count = std::min(count, measured.size());
        for (std::size_t i = 0; i < count; ++i)
            process.observe(measured[i].row, measured[i].what, measured[i].deviation);
        process.fit();
        std::vector<One> left = others;
        left.insert(left.end(), measured.begin() + static_cast<std::ptrdiff_t>(count), measured.end());
        if (left.empty()) return;
        std::ranges::stable_sort(left, {}, &One::row);
        double surprise = 0;
        for (std::size_t first = 0; first < left.size();) {
            std::size_t last = first;
            std::vector<ps::learn::PredictedPrimitive> what;
            while (last < left.size() && left[last].row == left[first].row) what.push_back(left[last++].what);
            std::vector<ps::learn::Belief> beliefs(what.size());
            process.predict(rows[left[first].row], what, beliefs);
            for (ps::learn::Belief const& belief : beliefs) {
                const double deviation = std::sqrt(std::max(1e-6, process.scale() * belief.variance)),
                             z = (left[first++].deviation - belief.mean) / deviation;
                const auto normal = [](double at) { return std::exp(-0.5 * at * at); };
                surprise -=
                    std::log(((1 - ps::measure::BeliefTails::outliers) * normal(z) +
                              ps::measure::BeliefTails::outliers * normal(z / ps::measure::BeliefTails::outlying) /
                                  ps::measure::BeliefTails::outlying) /
                             deviation);
                ++sum.all, sum.within += std::abs(z) <= ps::measure::BeliefTails::within_95 ? 1 : 0;
            }
        }
        sum.surprise += surprise / static_cast<double>(left.size());
    }
    static constexpr std::size_t few = 16, most = 64;
};

double surprise(std::span<const Pair* const> pairs, ps::learn::MultitaskPrior const& prior, ps::ThreadPool& pool) {
    std::vector<Pair::Judgement> each(pairs.size());
    pool.parallel_for(pairs.size(), [&](std::size_t i, std::size_t) {
        pairs[i]->judge(Pair::few, prior, each[i]);
        pairs[i]->judge(Pair::most, prior, each[i]);
    });
    double sum = 0;
    for (auto const& one : each) sum += one.surprise;
    return sum / (2 * static_cast<double>(pairs.size()));
}

/// The hyperparameters of least surprise, one after the other by steps that shrink; the machine's constant stays.
ps::learn::MultitaskPrior least_surprise(std::span<const Pair* const> pairs, ps::learn::MultitaskPrior prior,
                                         ps::ThreadPool& pool) {
    double step = 0.8;
    double best = surprise(pairs, prior, pool);
    for (int round = 0; round < 3; ++round, step *= 0.5) {
        for (std::size_t i = 1; i < parameters + prior.slopes.size(); ++i) {
            for (const double change : {step, -step}) {
                ps::learn::MultitaskPrior other = prior;
                if (i < parameters)
                    other.mean[i] += change;
                else
                    other.slopes[i - parameters] *= std::exp(change);
                if (const double now = surprise(pairs, other, pool); now < best - 1e-4) {
                    best = now, prior = other;
                    break;
                }
            }
        }
        std::fprintf(stderr, "step %.2f: %.4f\n", step, best);
    }
    return prior;
}
void print(std::string const& name, ps::learn::MultitaskPrior const& prior) {
    std::vector<double> values(prior.mean.begin(), prior.mean.end());
    values.insert(values.end(), prior.slopes.begin(), prior.slopes.end());
    print(name.c_str(), values);
}

void print_of_plans(std::vector<Machine> const& all) {
    ps::ThreadPool pool;
    std::vector<std::pair<Machine const*, Machine const*>> ordered;
    for (Machine const& from : all) {
        for (Machine const& to : all) {
            if (from.name != to.name) ordered.emplace_back(&from, &to);
        }
    }
    std::vector<std::unique_ptr<Pair>> pairs(ordered.size());
    pool.parallel_for(ordered.size(), [&](std::size_t i, std::size_t) {
        pairs[i] = std::make_unique<Pair>(*ordered[i].first, *ordered[i].second);
    });
    std::vector<const Pair*> every;
    for (auto const& pair : pairs) every.push_back(pair.get());
    // From what samples show, lest those that are left out have had their say before.
    ps::learn::MultitaskPrior start = ps::learn::MultitaskProcess::usual();
    start.mean[0] = 0, start.slopes = {0.1, 0.1};
    print("all pairs", least_surprise(every, start, pool));
    std::map<std::string, std::vector<const Pair*>> refined_on;
    for (const Pair* pair : every) refined_on[pair->to.substr(0, pair->to.find('-'))].push_back(pair);
    for (auto const& [processor, left] : refined_on) {
        std::vector<const Pair*> kept;
        for (const Pair* pair : every) {
            if (std::ranges::find(left, pair) == left.end()) kept.push_back(pair);
        }
        const ps::learn::MultitaskPrior without = least_surprise(kept, start, pool);
        Pair::Judgement early, late;
        for (const Pair* pair : left) pair->judge(Pair::few, without, early), pair->judge(Pair::most, without, late);
        print(ps::join("without ", processor), without);
        std::printf("%-27s %.1f %% of its times lie within 95 %% after %zu measurements, %.1f %% after %zu\n", "",
                    100 * early.within / early.all, Pair::few, 100 * late.within / late.all, Pair::most);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        ps::Sequential executor;
        std::vector<Machine> all;
        const bool samples = argc > 1 && std::string(argv[1]) == "--samples";
        for (int i = samples ? 2 : 1; i < argc; ++i) all.push_back(machines::read_machine(argv[i], executor));
        samples ? print_of_samples(all) : print_of_plans(all);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
