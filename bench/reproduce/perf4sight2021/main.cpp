// Figures 3 and 4 and section 6.1 of Rajagopal and Bouganis 2021 on the TX2's measurements, beside the paper's figures.
// Errors are the paper's: the mean of |forecast - measured| / measured, in percent.
//
//     PRIMSEL_DATA=<folder with perf4sight2021/> reproduce_perf4sight2021 [<folder for index.html> [<folder of own
//     tables>]]
#include "bars.hpp"
#include "measurements.hpp"
#include "own_tables.hpp"
#include "report.hpp"

#include <primsel/forecast/forecaster.hpp>
#include <primsel/io/file.hpp>
#include <primsel/show/chart.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reproduce {
namespace {

using Rows = std::vector<Measurement>;
enum class Attribute { memory, time };

/// A number, for a cell.
std::optional<double> known(double value) { return value; }

const std::vector<std::string> networks{"resnet18", "resnet50", "mobilenetv2", "squeezenet"};
const std::set<int> paper_levels{0, 30, 50, 70, 90};

double value_of(Measurement const& row, Attribute attribute) {
    return attribute == Attribute::memory ? row.megabytes : row.milliseconds;
}

/// A model to fit, by a name; all candidates of an attribute are compared by cross-validation within the training rows.
struct Candidate {
    std::string name;
    enum class Model { forest, boosted, sum, corrected, mean } model;
    ps::forecast::SumOptions options{};
};
/// The most memory that any training row used: what the device has.
double device_memory(Rows const& training) {
    double most = 0;
    for (Measurement const& row : training) {
        if (!std::isnan(row.megabytes)) most = std::max(most, row.megabytes);
    }
    return most;
}
std::vector<Candidate> candidates(Attribute attribute, double most) {
    constexpr double mega = 1048576;
    using Model = Candidate::Model;
    std::vector<Candidate> list{{"forest (paper's)", Model::forest}, {"boosted trees", Model::boosted}};
    if (attribute == Attribute::memory) {
        // Weight, gradient and momentum; each result of a convolution, and what batch norm makes of it.
        const std::vector<ps::forecast::SumTerm> known{{0, 12 / mega}, {3, 8 / mega}};
        list.push_back({"sum of 42", Model::sum, {.most = most}});
        list.push_back({"sum, 12 B a weight and 8 B a result known", Model::sum, {{5}, known, most}});
        list.push_back({"sum of 42, corrected", Model::corrected, {.most = most}});
        list.push_back({"known sum, corrected", Model::corrected, {{5}, known, most}});
    } else {
        const std::vector<std::size_t> few{0, 2, 3, 7, 12};
        list.push_back({"sum of 42", Model::sum});
        list.push_back({"sum of 5", Model::sum, {.learned = few}});
        list.push_back({"sum of 42, corrected", Model::corrected});
        list.push_back({"sum of 5, corrected", Model::corrected, {.learned = few}});
    }
    list.push_back({"geometric mean of these", Model::mean, {.most = most}});
    return list;
}

struct Split {
    Rows training, test;
};
Split split(Rows const& rows, auto const& trains, auto const& tests) {
    Split result;
    for (Measurement const& row : rows) {
        if (trains(row))
            result.training.push_back(row);
        else if (tests(row))
            result.test.push_back(row);
    }
    return result;
}

std::vector<double> forecasts_of(Candidate const& candidate, Split const& rows, Attribute attribute);

/// The mean of all other candidates' forecasts.
std::vector<double> mean_forecasts(Split const& rows, Attribute attribute, double most) {
    std::vector<double> logarithms(rows.test.size(), 0.0);
    double count = 0;
    for (Candidate const& each : candidates(attribute, most)) {
        if (each.model == Candidate::Model::mean) continue;
        const std::vector<double> of = forecasts_of(each, rows, attribute);
        for (std::size_t i = 0; i < of.size(); ++i) logarithms[i] += std::log(of[i]);
        count += 1;
    }
    for (double& value : logarithms) value = std::exp(value / count);
    return logarithms;
}

/// For the test rows.
std::vector<double> forecasts_of(Candidate const& candidate, Split const& rows, Attribute attribute) {
    if (candidate.model == Candidate::Model::mean) return mean_forecasts(rows, attribute, candidate.options.most);
    std::vector<ps::forecast::NetworkLoad> loads;
    std::vector<double> values;
    for (Measurement const& row : rows.training) {
        if (std::isnan(value_of(row, attribute))) continue;
        loads.push_back(row.load), values.push_back(value_of(row, attribute));
    }
    const auto forecasts = [&](auto const& model) {
        std::vector<double> result;
        for (Measurement const& row : rows.test) result.push_back(model.predict(row.load).value);
        return result;
    };
    switch (candidate.model) {
        case Candidate::Model::forest:
            return forecasts(ps::forecast::NetworkForest::fit(loads, values, {.trees = 200}));
        case Candidate::Model::boosted:
            return forecasts(ps::forecast::NetworkBoosting::fit(loads, values));
        case Candidate::Model::sum:
            return forecasts(ps::forecast::NonNegativeSum::fit(loads, values, candidate.options));
        default:
            return forecasts(ps::forecast::CorrectedSum::fit(loads, values, candidate.options));
    }
}
/// The test rows' relative errors, in percent; where there is no value, NaN.
std::vector<double> errors_of(Candidate const& candidate, Split const& rows, Attribute attribute) {
    std::vector<double> errors = forecasts_of(candidate, rows, attribute);
    for (std::size_t i = 0; i < errors.size(); ++i) {
        const double truth = value_of(rows.test[i], attribute);
        errors[i] = 100 * std::abs(errors[i] - truth) / truth;
    }
    return errors;
}
double mean(std::vector<double> const& values) {
    double sum = 0, count = 0;
    for (const double value : values) {
        if (!std::isnan(value)) sum += value, count += 1;
    }
    return sum / count;
}
/// The standard error of the mean.
double standard_error(std::vector<double> const& values) {
    double squares = 0;
    const double middle = mean(values), count = static_cast<double>(values.size());
    for (const double value : values) squares += (value - middle) * (value - middle);
    return std::sqrt(squares / (count - 1) / count);
}
double mean_error(Candidate const& candidate, Split const& rows, Attribute attribute) {
    return mean(errors_of(candidate, rows, attribute));
}

Rows of_network(Rows const& rows, std::string const& network) {
    Rows result;
    std::ranges::copy_if(rows, std::back_inserter(result), [&](auto const& row) { return row.network == network; });
    return result;
}
Rows of_levels(Rows const& rows, std::set<int> const& levels) {
    Rows result;
    std::ranges::copy_if(rows, std::back_inserter(result), [&](auto const& row) { return levels.contains(row.level); });
    return result;
}

/// Mean error over training levels, each forecast from the others; the first and last would be extrapolated.
double validated_by_level(Candidate const& candidate, Rows const& training, Attribute attribute) {
    std::vector<double> errors;
    for (const int level : {30, 50, 70}) {
        errors.push_back(mean_error(
            candidate,
            split(
                training, [=](auto const& row) { return row.level != level; }, [](auto const&) { return true; }),
            attribute));
    }
    return mean(errors);
}

std::string_view name_of(Attribute attribute) { return attribute == Attribute::memory ? "memory" : "time"; }

void figure_3(Report& report, Rows const& rows) {
    report.heading("Figure 3: levels that were not trained, of the same network");
    report.paragraph(
        "Levels 0, 30, 50, 70 and 90 train, a model a network; all others whose layers are known test. The choice is "
        "that of the "
        "smallest mean in cross-validation over the training levels 30, 50 and 70.");
    for (const Attribute attribute : {Attribute::memory, Attribute::time}) {
        std::vector<Row> lines;
        std::string chosen;
        double best = 1e300, chosen_mean = 0, chosen_worst = 0;
        std::vector<double> chosen_errors, forest_errors;
        for (Candidate const& candidate : candidates(attribute, device_memory(of_levels(rows, paper_levels)))) {
            Row line{candidate.name};
            std::vector<double> validated, tested;
            for (std::string const& network : networks) {
                const Split of = split(
                    of_network(rows, network), [](auto const& row) { return paper_levels.contains(row.level); },
                    [](auto const&) { return true; });
                validated.push_back(validated_by_level(candidate, of.training, attribute));
                tested.push_back(mean_error(candidate, of, attribute));
                line.emplace_back(tested.back());
            }
            const double worst = *std::ranges::max_element(tested);
            line.emplace_back(mean(tested)), line.emplace_back(worst), line.emplace_back(mean(validated));
            if (mean(validated) < best) {
                best = mean(validated), chosen = candidate.name, chosen_mean = mean(tested), chosen_worst = worst;
                chosen_errors = tested;
            }
            if (candidate.model == Candidate::Model::forest) forest_errors = tested;
            lines.push_back(std::move(line));
        }
        lines.push_back({"chosen: " + chosen, "", "", "", "", known(chosen_mean), known(chosen_worst), known(best)});
        const bool memory = attribute == Attribute::memory;
        lines.push_back({"paper", "", "", "", "", known(memory ? 5.53 : 9.37), known(memory ? 9.15 : 14.7), ""});
        std::vector<std::string> columns{"model"};
        columns.insert(columns.end(), networks.begin(), networks.end());
        columns.insert(columns.end(), {"mean", "worst", "cross-validated"});
        report.table(ps::join("figure_3_", name_of(attribute)),
                     ps::join("Figure 3, ", name_of(attribute), ": mean error, %"), columns, lines, true);
        std::vector<BarGroup> groups;
        for (std::size_t i = 0; i < networks.size(); ++i) {
            groups.push_back({networks[i], {forest_errors[i], chosen_errors[i]}});
        }
        report.picture("The paper gives its mean over figures 3 and 4, and the worst of its figure 3.",
                       bars(ps::join("Figure 3, ", name_of(attribute), ": mean error, %"),
                            {"forest, as the paper's", "here: " + chosen}, groups,
                            {{"paper's mean", memory ? 5.53 : 9.37}, {"paper's worst", memory ? 9.15 : 14.7}}));
    }
}

void figure_4(Report& report, Rows const& rows) {
    report.heading("Figure 4: a network that was not trained");
    report.paragraph(
        "ResNet-18, MobileNetV2 and SqueezeNet train at levels 0, 30, 50, 70 and 90; ResNet-50 tests, at all levels. "
        "The choice is "
        "that of the smallest mean in cross-validation: each of the three forecast from the other two; but the mean of "
        "all "
        "models where that is within one standard error of the best (Breiman et al. 1984), as three networks tell "
        "little.");
    const std::vector<std::string> basis{"resnet18", "mobilenetv2", "squeezenet"};
    const auto in_basis = [&](Measurement const& row) {
        return row.network != "resnet50" && paper_levels.contains(row.level);
    };
    const Split of = split(rows, in_basis, [](auto const& row) { return row.network == "resnet50"; });
    for (const Attribute attribute : {Attribute::memory, Attribute::time}) {
        std::vector<Row> lines;
        std::string chosen;
        double best = 1e300, best_deviation = 0, chosen_error = 0, forest_error = 0;
        for (Candidate const& candidate : candidates(attribute, device_memory(of.training))) {
            std::vector<double> validated;
            for (std::string const& network : basis) {
                validated.push_back(mean_error(candidate,
                                               split(
                                                   of.training, [&](auto const& row) { return row.network != network; },
                                                   [](auto const&) { return true; }),
                                               attribute));
            }
            const double tested = mean_error(candidate, of, attribute);
            if (candidate.model == Candidate::Model::forest) forest_error = tested;
            // The mean of all comes last.
            const double within = candidate.model == Candidate::Model::mean ? best_deviation : 0;
            if (mean(validated) < best + within) {
                best = mean(validated), best_deviation = standard_error(validated);
                chosen = candidate.name, chosen_error = tested;
            }
            lines.push_back({candidate.name, known(tested), known(mean(validated))});
        }
        lines.push_back({"chosen: " + chosen, known(chosen_error), known(best)});
        report.table(ps::join("figure_4_", name_of(attribute)),
                     ps::join("Figure 4, ", name_of(attribute), " of ResNet-50: mean error, % (goal: 10)"),
                     {"model", "resnet50", "cross-validated"}, lines, true);
        const bool memory = attribute == Attribute::memory;
        report.picture("The paper's mean is over its figures 3 and 4; its unseen networks are 2.6 to 16 points worse.",
                       bars(ps::join("Figure 4, ", name_of(attribute), ": mean error, %"),
                            {"forest, as the paper's", "here: " + chosen}, {{"resnet50", {forest_error, chosen_error}}},
                            {{"paper's mean", memory ? 5.53 : 9.37}}));
    }
}

/// Mean over the networks, trained on some levels and batches, tested on levels that none of the sets has.
double sparse_error(Rows const& rows, Attribute attribute, std::set<int> const& levels, std::set<int> const& batches) {
    const std::set<int> tested{25, 35, 45, 65, 75, 85};
    const Candidate candidate = candidates(attribute, device_memory(of_levels(rows, paper_levels)))[4];
    std::vector<double> errors;
    for (std::string const& network : networks) {
        const Split of = split(
            of_network(rows, network),
            [&](auto const& row) {
                return levels.contains(row.level) && (batches.empty() || batches.contains(row.load.batch));
            },
            [&](auto const& row) { return tested.contains(row.level); });
        errors.push_back(mean_error(candidate, of, attribute));
    }
    return mean(errors);
}

void section_6_1(Report& report, Rows const& rows) {
    report.heading("Section 6.1: how few levels and batch sizes are enough");
    report.paragraph("Of the sum of 42, corrected; mean over the networks at levels 25, 35, 45, 65, 75 and 85.");
    const std::vector<std::set<int>> levels{{0},
                                            {90},
                                            {50},
                                            {0, 90},
                                            {0, 50},
                                            {0, 50, 90},
                                            {0, 30, 70},
                                            {0, 30, 70, 90},
                                            {0, 30, 50, 70, 90},
                                            {0, 10, 30, 50, 70, 90},
                                            {0, 10, 20, 30, 50, 70, 90}};
    const std::vector<std::set<int>> batches{{2, 64},
                                             {8, 64},
                                             {4, 32, 80},
                                             {2, 16, 64},
                                             {2, 8, 32, 80, 128},
                                             {2, 4, 8, 16, 32, 64, 80, 100, 128, 160, 200, 256},
                                             {}};
    const auto text = [](std::set<int> const& numbers) {
        std::string list;
        for (const int number : numbers) list += ps::join(list.empty() ? "" : " ", number);
        return numbers.empty() ? "all" : list;
    };
    std::vector<Row> lines;
    ps::show::Chart curve{"Mean error, %, by the number of training levels",
                          "levels",
                          {{"memory", {}, {}, false}, {"time", {}, {}, false}}};
    for (std::set<int> const& set : levels) {
        const double memory = sparse_error(rows, Attribute::memory, set, {}),
                     time = sparse_error(rows, Attribute::time, set, {});
        lines.push_back({text(set), known(memory), known(time)});
        for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
            curve.series[i].x.push_back(static_cast<double>(set.size()));
            curve.series[i].y.push_back(i == 0 ? memory : time);
        }
    }
    report.table("levels", "Training levels (all batch sizes): mean error, %", {"levels", "memory", "time"}, lines,
                 true);
    report.picture("More than one point at a number: other levels.", ps::show::to_svg(std::span(&curve, 1)));
    lines.clear();
    for (std::set<int> const& set : batches) {
        lines.push_back({text(set), known(sparse_error(rows, Attribute::memory, paper_levels, set)),
                         known(sparse_error(rows, Attribute::time, paper_levels, set))});
    }
    report.table("batches", "Batch sizes (levels 0, 30, 50, 70, 90): mean error, %", {"batch sizes", "memory", "time"},
                 lines, true);
}

int run(int argc, char** argv) {
    const char* data = std::getenv("PRIMSEL_DATA");
    if (data == nullptr) {
        std::puts("reproduce_perf4sight2021: skipped: PRIMSEL_DATA is not set to the folder that has perf4sight2021/");
        return 0;
    }
    const Rows rows = read_measurements(ps::join(data, "/perf4sight2021"));
    Report report;
    report.paragraph(
        "Measured on a Jetson TX2. The layers of levels 5, 15, 40, 55, 60 and 80 are published for ResNet-50 alone: "
        "those rows of the "
        "other networks are left out. The paper's means are over its figures 3 and 4 and all of its networks.");
    figure_3(report, rows);
    figure_4(report, rows);
    section_6_1(report, rows);
    if (argc > 2) own_tables(report, argv[2]);
    std::fputs(report.summary().c_str(), stdout);
    if (argc > 1) ps::write_file(ps::join(argv[1], "/index.html"), report.html("perf4sight, again"));
    return 0;
}

}  // namespace
}  // namespace reproduce

int main(int argc, char** argv) {
    try {
        return reproduce::run(argc, argv);
    } catch (std::exception const& fault) {
        std::fprintf(stderr, "reproduce_perf4sight2021: %s\n", fault.what());
        return 1;
    }
}
