// bench_tune_pairs [--usual] A.csv B.csv ...: how honest beliefs about another machine are. Each file is a profile
// (primitives by c, k, im, f, s; its layouts are in A-layouts.csv, or B_layouts.csv for B_primitives.csv). For each
// ordered pair, a model of the first is refined by the times of the second: how far above the optimum its plans end,
// how many measurements that took, and how far the times that were not measured lie from what was believed of them.
// --usual: the hyperparameters of MultitaskProcess that fit each pair, and their means and deviations:
// MultitaskProcess::usual().
#include <primsel/core/statistics.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/cost/learned_cost.hpp>
#include <primsel/io/dataset.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/fit_model.hpp>
#include <primsel/learn/recorded.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/reprice.hpp>
#include <primsel/tune/corrected.hpp>
#include <primsel/tune/refine.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ps = primsel;

namespace {

/// What was measured, as a cost model. Where no 1x1 convolution with a stride was measured, the same one with stride 1
/// stands for it.
class Records {
public:
    static constexpr std::string_view name = "records";

    explicit Records(ps::Profile const& profile)
        : recorded_(std::make_shared<const ps::Recorded>(profile.primitives.data, profile.layouts->data)) {
        for (std::size_t row = 0; row < profile.primitives.data.rows(); ++row) {
            const ps::ConvShape shape = profile.primitives.data.conv(row);
            strided_shortcuts_ = strided_shortcuts_ || (shape.fh == 1 && shape.stride_h > 1);
        }
    }
    [[nodiscard]] ps::ConvShape as_measured(ps::ConvShape shape) const {
        if (!strided_shortcuts_ && shape.fh == 1 && shape.fw == 1) shape.stride_h = shape.stride_w = 1;
        shape.pad_top = shape.pad_bottom = shape.fh / 2;
        shape.pad_left = shape.pad_right = shape.fw / 2;
        return shape;
    }
    [[nodiscard]] std::vector<ps::ConvQuery> as_measured(std::span<const ps::ConvQuery> queries) const {
        std::vector<ps::ConvQuery> result(queries.begin(), queries.end());
        for (ps::ConvQuery& query : result) query.shape = as_measured(query.shape);
        return result;
    }
    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        recorded_->predict(kernels, std::span<const ps::ConvQuery>(as_measured(queries)), seconds);
    }
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) const {
        recorded_->predict(kernels, queries, seconds);
    }

private:
    std::shared_ptr<const ps::Recorded> recorded_;
    bool strided_shortcuts_ = false;
};

/// Another machine's model, of what there are records to judge it by. What it does not know is beyond reach.
class Guess {
public:
    static constexpr std::string_view name = "guess";

    Guess(ps::Trained<ps::AnyRegression> const& trained, Records records)
        : subjects_(trained.subjects), learned_(trained, records), records_(std::move(records)) {}

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) {
        learned_.predict(kernels, std::span<const ps::ConvQuery>(records_.as_measured(queries)), seconds);
        std::vector<double> recorded(queries.size());
        records_.predict(kernels, queries, std::span(recorded));
        for (std::size_t i = 0; i < recorded.size(); ++i) {
            if (recorded[i] >= ps::Recorded::beyond) seconds[i] = recorded[i];
            const bool learned = std::ranges::count(subjects_, kernels.primitives[queries[i].primitive].id) > 0;
            if (!learned || !std::isfinite(seconds[i])) seconds[i] = ps::Recorded::beyond;
        }
    }
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
        records_.predict(kernels, queries, seconds);
    }

private:
    std::vector<std::string> subjects_;
    ps::LearnedCost<ps::AnyRegression, Records> learned_;
    Records records_;
};

struct Machine {
    std::string name;
    ps::Profile profile;
    ps::Trained<ps::AnyRegression> model;
};

std::string layouts_path(std::string const& path) {
    const std::string suffix = "_primitives.csv";
    if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size()) + "_layouts.csv";
    return path.substr(0, path.rfind(".csv")) + "-layouts.csv";
}

Machine read_machine(std::string const& path, ps::ExecutorRef executor) {
    constexpr std::size_t most = 800;  // rows to learn from
    Machine machine{
        .name = path.substr(path.rfind('/') + 1), .profile = ps::read_profile(path, layouts_path(path)), .model = {}};
    machine.name.resize(machine.name.find_first_of("_."));
    ps::Profile some = machine.profile;
    std::vector<std::size_t> rows = ps::shuffled(some.primitives.data.rows(), 1);
    rows.resize(std::min(rows.size(), most));
    some.primitives.data = some.primitives.data.select(rows);
    some.layouts.reset();
    machine.model = ps::fit_model(some, {}, executor).model.primitives;
    return machine;
}

/// The primitives that the profile has.
ps::Kernels kernels_of(ps::Profile const& profile, std::vector<ps::PrimitiveEntry>& entries) {
    ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    for (ps::PrimitiveEntry const& entry : kernels.primitives) {
        if (profile.primitives.data.find(entry.id) < profile.primitives.data.subjects.size()) entries.push_back(entry);
    }
    kernels.primitives = entries;
    return kernels;
}

/// The records of what another machine's model knows.
class Judged {
public:
    static constexpr std::string_view name = "judged";

    Judged(Guess guess, Records records) : guess_(std::move(guess)), records_(std::move(records)) {}

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) {
        std::vector<double> guessed(queries.size());
        guess_.predict(kernels, queries, std::span(guessed));
        records_.predict(kernels, queries, seconds);
        for (std::size_t i = 0; i < guessed.size(); ++i) {
            if (guessed[i] >= ps::Recorded::beyond) seconds[i] = ps::Recorded::beyond;
        }
    }
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
        records_.predict(kernels, queries, seconds);
    }

private:
    Guess guess_;
    Records records_;
};

/// How far what was not measured lies from what was believed, in standard deviations.
std::vector<double> deviations(ps::Graph const& graph, ps::Kernels const& kernels, ps::Corrected<Guess>& model,
                               Records const& truth) {
    std::vector<double> result;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (!std::holds_alternative<ps::ConvParams>(graph[i].layer)) continue;
        for (std::size_t p = 0; p < kernels.primitives.size(); ++p) {
            const ps::ConvQuery query{ps::conv_shape_of(graph, i), p};
            if (!kernels.primitives[p].supports(query.shape) || model.measured(query)) continue;
            double measured = 0, believed = 0;
            truth.predict(kernels, std::span(&query, 1), std::span(&measured, 1));
            if (measured >= ps::Recorded::beyond) continue;
            model.predict(kernels, std::span(&query, 1), std::span(&believed, 1));
            if (believed >= ps::Recorded::beyond) continue;
            result.push_back(std::log(measured / believed) / model.deviation(query));
        }
    }
    return result;
}

double percent(std::vector<double> const& values, double beyond) {
    const auto count = std::ranges::count_if(values, [&](double z) { return std::abs(z) > beyond; });
    return 100 * static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(values.size(), 1));
}
double root_mean_square(std::vector<double> const& values) {
    double sum = 0;
    for (const double z : values) sum += z * z;
    return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(values.size(), 1)));
}

/// The hyperparameters that make some deviations of the one machine's times from the other's model most likely.
std::vector<double> hyperparameters(Machine const& from, Machine const& to) {
    constexpr std::size_t observed = 250;
    constexpr ps::MultitaskPrior start{.mean = {-5, -3, -3, -3, -3, -3, -6, -1, -1, -1, -1, -1},
                                       .deviation = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}};
    ps::Dataset const& data = to.profile.primitives.data;
    std::vector<std::size_t> labels, subject_of;
    for (std::string const& id : data.subjects) {
        const auto found = std::ranges::find(from.model.subjects, id);
        subject_of.push_back(static_cast<std::size_t>(found - from.model.subjects.begin()));
        labels.push_back(static_cast<std::size_t>(ps::family_of_id(id)));
    }
    const ps::Table features = ps::features_of(data), predicted = from.model.regression.predict(features);
    ps::MultitaskProcess process(labels, start);
    std::vector<std::size_t> row_of(data.rows(), data.rows());
    std::size_t count = 0;
    for (const std::size_t at : ps::shuffled(data.rows() * data.subjects.size(), 1)) {
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

void print_usual(std::vector<Machine> const& machines) {
    std::vector<std::vector<double>> all;
    for (Machine const& from : machines) {
        for (Machine const& to : machines) {
            if (from.name == to.name) continue;
            all.push_back(hyperparameters(from, to));
            std::printf("%-13s %-13s", from.name.c_str(), to.name.c_str());
            for (const double value : all.back()) std::printf("%7.2f", value);
            std::printf("\n");
            std::fflush(stdout);
        }
    }
    for (const bool mean : {true, false}) {
        std::printf("%-27s", mean ? "mean" : "deviation");
        for (std::size_t i = 0; i < all.front().size(); ++i) {
            double sum = 0, squares = 0;
            for (auto const& one : all) sum += one[i], squares += one[i] * one[i];
            sum /= static_cast<double>(all.size()), squares /= static_cast<double>(all.size());
            std::printf("%7.2f", mean ? sum : std::sqrt(std::max(0.0, squares - sum * sum)));
        }
        std::printf("\n");
    }
}

/// One line; nothing where no network of the six was measured wholly.
void judge(Machine const& from, Machine const& to) {
    std::vector<ps::PrimitiveEntry> entries;
    const ps::Kernels kernels = kernels_of(to.profile, entries);
    const Records truth(to.profile);
    std::vector<double> early;  // after 16 measurements
    std::string line;
    double worst = 0;
    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        const ps::Graph graph = ps::simplify(entry.graph());
        Judged records(Guess(from.model, truth), truth);
        const double best = ps::make_plan(graph, kernels, records, ps::ExactPbqp{}).total_seconds;
        if (best >= ps::Recorded::beyond) continue;
        const auto refine = [&](std::size_t most, auto&& then) {
            Guess guess(from.model, truth);
            ps::Corrected<Guess> model(kernels, guess);
            const auto measure = [&](ps::ConvQuery const& query) {
                double seconds = 0;
                truth.predict(kernels, std::span(&query, 1), std::span(&seconds, 1));
                return ps::Measurement{.seconds = seconds, .spent = 0};
            };
            then(ps::refine(graph, kernels, model, ps::ExactPbqp{}, measure,
                            {.seconds = std::numeric_limits<double>::infinity(), .most = most}),
                 model);
        };
        refine(16, [&](ps::Refinement const&, ps::Corrected<Guess>& model) {
            const std::vector<double> z = deviations(graph, kernels, model, truth);
            early.insert(early.end(), z.begin(), z.end());
        });
        refine(std::numeric_limits<std::size_t>::max(), [&](ps::Refinement const& refined, ps::Corrected<Guess>&) {
            const double above = 100 * (ps::reprice(refined.plan, graph, kernels, records) / best - 1);
            char text[64];
            std::snprintf(text, sizeof(text), "%7.2f %4zu", above, refined.steps.back().measurements);
            line += text;
            worst = std::max(worst, above);
        });
    }
    if (line.empty()) return;
    std::printf("%-13s %-13s%-74s%7.2f %6.2f %6.1f %6.1f\n", from.name.c_str(), to.name.c_str(), line.c_str(), worst,
                root_mean_square(early), percent(early, 1.96), percent(early, 3));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        ps::Sequential executor;
        std::vector<Machine> machines;
        const bool usual = argc > 1 && std::string(argv[1]) == "--usual";
        for (int i = usual ? 2 : 1; i < argc; ++i) machines.push_back(read_machine(argv[i], executor));
        if (usual) return print_usual(machines), 0;
        std::printf("%-13s %-13s", "model of", "refined on");
        for (ps::zoo::Entry const& entry : ps::zoo::entries) std::printf("%12s", std::string(entry.name).c_str());
        std::printf("    worst    rms  >1.96     >3\n%-26s", "");
        for (std::size_t i = 0; i < ps::zoo::entries.size(); ++i) std::printf("  +%%  number");
        std::printf("          of deviations, in %%\n");
        for (Machine const& from : machines) {
            for (Machine const& to : machines) {
                if (from.name != to.name) judge(from, to);
            }
        }
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
