// Figures 3 and 4 and section 6.1 of Rajagopal and Bouganis 2021 on the TX2's measurements and on a second device,
// beside the paper's figures: the paper's forest, this library's earlier default and its default of today. Errors are
// the paper's: the mean of |forecast - measured| / measured, in percent.
//
//     PRIMSEL_DATA=<folder with perf4sight2021/> reproduce_perf4sight2021 [<folder for index.html> [<folder of own
//     tables>|- [<folder of perf4sight_h100's networks>]]]
#include "bars.hpp"
#include "devices.hpp"
#include "own_tables.hpp"
#include "report.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/forecast/forecaster.hpp>
#include <primsel/io/file.hpp>
#include <primsel/show/chart.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reproduce {
namespace {

namespace fc = ps::forecast;
const std::set<int> paper_levels{0, 30, 50, 70, 90};

/// A number, for a cell.
std::optional<double> known(double value) { return value; }

/// Time and memory.
constexpr std::array<double fc::ProfiledNetwork::*, 2> attributes{&fc::ProfiledNetwork::seconds,
                                                                  &fc::ProfiledNetwork::bytes};
constexpr std::array<std::string_view, 2> attribute_names{"time", "memory"};

struct Samples {
    std::vector<fc::NetworkLoad> loads;
    std::vector<double> values;
};
Samples samples(Rows const& rows, std::size_t attribute, auto const& takes) {
    Samples of;
    for (fc::ProfiledLevel const& row : rows) {
        const double value = row.profile.*attributes[attribute];
        if (!takes(row) || ps::is_nan(value)) continue;
        of.loads.push_back(row.profile.load), of.values.push_back(value);
    }
    return of;
}
double mean(std::vector<double> const& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return values.empty() ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(values.size());
}

/// The ways to learn that are compared.
enum class Method { forest, earlier, chosen };
constexpr std::array methods{Method::forest, Method::earlier, Method::chosen};
constexpr std::array<std::string_view, 3> method_names{"forest (the paper's)", "sum, corrected (default until 0.1)",
                                                       "chosen (default)"};

/// The errors of the tested samples in percent, for each set of them, and the kind that was chosen.
struct Errors {
    std::vector<std::vector<double>> sets;
    std::string chosen;
};
Errors errors_of(Method method, std::size_t attribute, Samples const& training, std::vector<Samples> const& tests) {
    Errors errors;
    const auto judge = [&](auto const& model) {
        for (Samples const& test : tests) {
            std::vector<double>& set = errors.sets.emplace_back();
            for (std::size_t i = 0; i < test.loads.size(); ++i) {
                set.push_back(100 * std::abs(model.predict(test.loads[i]).value / test.values[i] - 1));
            }
        }
    };
    const auto choose = [&](auto const& model) { judge(model), errors.chosen = model.chosen(); };
    if (method == Method::forest) {
        judge(fc::NetworkForest::fit(training.loads, training.values, {.trees = 200}));
    } else if (method == Method::earlier) {
        judge(fc::CorrectedSum::fit(training.loads, training.values));
    } else if (attribute == 0) {
        choose(fc::DefaultForecast::time_model::fit(training.loads, training.values));
    } else {
        choose(fc::DefaultForecast::memory_model::fit(training.loads, training.values));
    }
    return errors;
}

std::vector<std::string> networks_of(Device const& device) {
    std::vector<std::string> names;
    for (fc::ProfiledLevel const& row : device.rows) {
        if (std::ranges::find(names, row.network) == names.end()) names.push_back(row.network);
    }
    return names;
}

/// Whether figure 3 or 4 tests a row on a network, or learns from it: figure 3 tests levels that no network trained;
/// figure 4 tests each network by what all others teach.
bool tests_row(int figure, std::string const& name, fc::ProfiledLevel const& row) {
    return row.network == name && (figure == 4 || !paper_levels.contains(row.level));
}
bool trains_row(int figure, std::string const& name, fc::ProfiledLevel const& row) {
    return paper_levels.contains(row.level) && (figure == 3 || row.network != name);
}

/// The error of the plans, in percent: as they are, or times the median factor of the rows that train.
std::vector<double> plan_errors(Device const& device, std::size_t attribute, int figure, std::string const& name,
                                bool corrected) {
    std::vector<double> ratios{1.0}, errors;
    if (corrected) ratios.clear();
    for (std::size_t i = 0; i < device.rows.size(); ++i) {
        if (corrected && trains_row(figure, name, device.rows[i]))
            ratios.push_back(device.rows[i].profile.*attributes[attribute] / device.plans[i][attribute]);
    }
    const double factor = ps::median(std::move(ratios));
    for (std::size_t i = 0; i < device.rows.size(); ++i) {
        if (!tests_row(figure, name, device.rows[i])) continue;
        const double measured = device.rows[i].profile.*attributes[attribute];
        errors.push_back(100 * std::abs(factor * device.plans[i][attribute] / measured - 1));
    }
    return errors;
}

/// The least mean error, in percent, that one value can have as the forecast of all.
double constant_error(std::vector<double> const& values) {
    double least = std::numeric_limits<double>::max();
    for (const double constant : values) {
        double sum = 0;
        for (const double value : values) sum += std::abs(constant / value - 1);
        least = std::min(least, 100 * sum / static_cast<double>(values.size()));
    }
    return least;
}

/// A table by batch: the errors of the default, and what one constant for each network and batch would be off, chosen
/// with the tested rows in sight: where launches take all of the time, no forecast can know more.
void compare_batches(Report& report, std::string const& id, std::string const& caption,
                     std::vector<Samples> const& tests, std::vector<std::vector<double>> const& errors) {
    std::map<int, std::vector<double>> by_batch, constants;
    for (std::size_t network = 0; network < tests.size(); ++network) {
        std::map<int, std::vector<double>> values;
        for (std::size_t i = 0; i < tests[network].loads.size(); ++i) {
            const int batch = tests[network].loads[i].batch;
            by_batch[batch].push_back(errors[network][i]), values[batch].push_back(tests[network].values[i]);
        }
        for (auto const& [batch, of] : values) constants[batch].push_back(constant_error(of));
    }
    std::vector<std::string> columns{""};
    Row line{"default"}, constant{"a constant for each network and batch"};
    for (auto const& [batch, of] : by_batch) {
        columns.push_back(ps::join(batch));
        line.emplace_back(known(mean(of)), 1), constant.emplace_back(known(mean(constants[batch])), 1);
    }
    report.table(id + "_batches", caption + ", by batch", columns, {line, constant}, true);
}

/// A table of one device and attribute: each method's error by network, and its mean over the samples.
void compare(Report& report, int figure, Device const& device, std::size_t attribute) {
    const std::vector<std::string> names = networks_of(device);
    std::vector<std::string> columns{"model"};
    columns.insert(columns.end(), names.begin(), names.end());
    columns.emplace_back("mean");
    std::vector<Samples> tests, training;
    for (std::string const& name : names) {
        tests.push_back(samples(device.rows, attribute, [&](auto const& row) { return tests_row(figure, name, row); }));
        if (figure == 3 && !training.empty()) continue;
        training.push_back(
            samples(device.rows, attribute, [&](auto const& row) { return trains_row(figure, name, row); }));
    }
    std::vector<Row> lines;
    std::vector<BarGroup> groups;
    std::vector<std::vector<double>> sets;
    for (std::string const& name : names) groups.push_back({name, {}});
    const auto add_line = [&](std::string const& title) {
        Row line{title};
        std::vector<double> all;
        for (std::size_t i = 0; i < names.size(); ++i) {
            line.emplace_back(known(mean(sets[i])), 1);
            all.insert(all.end(), sets[i].begin(), sets[i].end());
        }
        line.emplace_back(known(mean(all)), 1);
        lines.push_back(std::move(line));
    };
    for (const bool corrected : {false, true}) {
        if (device.plans.empty()) continue;
        sets.clear();
        for (std::string const& name : names) sets.push_back(plan_errors(device, attribute, figure, name, corrected));
        add_line(corrected ? "the plan, times one factor of the training rows" : "the plan alone");
    }
    for (const Method method : methods) {
        sets.clear();
        std::set<std::string> kinds;
        for (std::size_t i = 0; i < training.size(); ++i) {
            const Errors errors =
                errors_of(method, attribute, training[i], figure == 3 ? tests : std::vector{tests[i]});
            sets.insert(sets.end(), errors.sets.begin(), errors.sets.end());
            kinds.insert(errors.chosen);
        }
        std::string title(method_names[static_cast<std::size_t>(method)]);
        if (method == Method::chosen) {
            for (std::string const& kind : kinds) title += (kind == *kinds.begin() ? ": " : "; ") + kind;
        }
        add_line(title);
        for (std::size_t i = 0; i < names.size(); ++i) groups[i].values.push_back(mean(sets[i]));
    }
    const bool memory = attribute == 1;
    const std::string caption = ps::join("Figure ", figure, ", ", device.name, ", ", attribute_names[attribute],
                                         figure == 3 ? ": other levels of the networks that train, mean error, %"
                                                     : ": each network from the others, mean error, %");
    std::string id = ps::join("figure_", figure, '_', device.name, '_', attribute_names[attribute]);
    std::ranges::replace(id, ' ', '_');
    std::erase(id, ',');
    report.table(id, caption, columns, lines, true);
    report.picture("The paper gives its mean over its figures 3 and 4, on its TX2.",
                   bars(caption, {"forest, as the paper's", "default until 0.1", "default"}, groups,
                        {{"paper's mean", memory ? 5.53 : 9.37}}));
    if (!memory) compare_batches(report, id, caption, tests, sets);  // of the last method
}

/// Mean over the networks, trained on some levels and batches, tested on levels that none of the sets has.
double sparse_error(Device const& device, std::size_t attribute, std::set<int> const& levels,
                    std::set<int> const& batches) {
    const std::set<int> tested{25, 35, 45, 65, 75, 85};
    std::vector<double> errors;
    for (std::string const& network : networks_of(device)) {
        const Samples training = samples(device.rows, attribute,
                                         [&](auto const& row) {
                                             return row.network == network && levels.contains(row.level) &&
                                                    (batches.empty() || batches.contains(row.profile.load.batch));
                                         }),
                      test = samples(device.rows, attribute, [&](auto const& row) {
                          return row.network == network && tested.contains(row.level);
                      });
        errors.push_back(mean(errors_of(Method::earlier, attribute, training, {test}).sets[0]));
    }
    return mean(errors);
}

void section_6_1(Report& report, Device const& device) {
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
        const double memory = sparse_error(device, 1, set, {}), time = sparse_error(device, 0, set, {});
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
        lines.push_back({text(set), known(sparse_error(device, 1, paper_levels, set)),
                         known(sparse_error(device, 0, paper_levels, set))});
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
    Report report;
    report.paragraph(
        "Levels 0, 30, 50, 70 and 90 train, one model for all networks. The default is chosen by cross-validation "
        "within "
        "the training rows. The layers of levels 5, 15, 40, 55, 60 and 80 are published for ResNet-50 alone: those "
        "rows "
        "of the TX2's other networks are left out.");
    const std::string own = argc > 2 && std::string_view(argv[2]) != "-" ? argv[2] : "";
    std::vector<Device> devices = read_devices(data, argc > 3 ? argv[3] : "");
    if (!own.empty()) {
        for (Device& device : read_own_devices(own)) devices.push_back(std::move(device));
    }
    for (Device const& device : devices) {
        report.heading(device.name);
        for (const int figure : {3, 4}) {
            for (const std::size_t attribute : {std::size_t{0}, std::size_t{1}})
                compare(report, figure, device, attribute);
        }
        if (device.name.starts_with("TX2")) section_6_1(report, device);
    }
    if (!own.empty()) own_tables(report, own);
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
