#include "days.hpp"

#include "policies.hpp"

#include <primsel/show/chart.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace xun2019 {
namespace {

using reproduce::Cell;
using reproduce::Report;
using reproduce::Row;

std::optional<double> known(double value) { return value; }
std::optional<double> known(std::size_t value) { return static_cast<double>(value); }

double range_of(std::vector<ps::dynamic::OperatingPoint> const& points, double ps::dynamic::OperatingPoint::*value,
                bool mapping) {
    double least = ps::dynamic::Budget::unlimited, most = 0;
    for (ps::dynamic::OperatingPoint const& point : points) {
        if (!mapping && point.core_set != 0) continue;
        least = std::min(least, point.*value), most = std::max(most, point.*value);
    }
    return most / least;
}

std::vector<ps::show::Chart> figure5(std::vector<ps::dynamic::OperatingPoint> const& points) {
    std::vector<ps::show::Chart> charts{{"(a) energy (J) of an image", "seconds", {}},
                                        {"(b) power (W)", "seconds", {}}};
    for (std::size_t set = 0; set < 2; ++set) {
        for (int configuration = 4; configuration > 0; --configuration) {
            const std::string name = ps::join(set == 0 ? "A15, " : "A7, ", 25 * configuration, " %");
            ps::show::Series energy{name, {}, {}, false}, power{name, {}, {}, false};
            for (ps::dynamic::OperatingPoint const& point : points) {
                if (point.core_set != set || point.configuration != configuration) continue;
                energy.x.push_back(point.seconds), energy.y.push_back(point.joules);
                power.x.push_back(point.seconds), power.y.push_back(point.watts);
            }
            charts[0].series.push_back(energy), charts[1].series.push_back(power);
        }
    }
    return charts;
}

/// The outcome of a day, or of several in sequence.
struct Outcome {
    std::size_t images = 0, late = 0, first = 0, avoidable = 0, over = 0, switches = 0;
    double accuracy = 0, in_time = 0, joules = 0;

    void add(std::vector<Image> const& spent, std::vector<Image> const& oracle) {
        images += spent.size();
        for (std::size_t i = 0; i < spent.size(); ++i) {
            Image const& image = spent[i];
            late += image.late() ? 1 : 0;
            first += image.late() && image.after_change ? 1 : 0;
            avoidable += image.late() && !image.after_change && !oracle[i].late() ? 1 : 0;
            over += image.over_energy() ? 1 : 0;
            accuracy += image.point.accuracy, joules += image.joules;
            in_time += image.late() ? 0 : image.point.accuracy;
            ps::dynamic::OperatingPoint const &a = image.point, &b = spent[i == 0 ? 0 : i - 1].point;
            switches += a.configuration != b.configuration || a.core_set != b.core_set || a.level != b.level ? 1 : 0;
        }
    }
    [[nodiscard]] Row row(std::string name) const {
        const auto count = static_cast<double>(images);
        const auto share = [&](std::size_t part) { return known(100 * static_cast<double>(part) / count); };
        return {std::move(name),
                Cell(share(late)),
                Cell(share(late - first)),
                Cell(share(avoidable)),
                Cell(share(over)),
                Cell(known(100 * accuracy / count)),
                Cell(known(100 * in_time / count)),
                Cell(known(1e3 * joules / count), 1),
                Cell(known(switches), 0)};
    }
};

std::vector<ps::show::Chart> picture(std::vector<Image> const& ours, std::vector<Image> const& oracle) {
    ps::show::Series budget{"budget", {}, {}}, taken{"time (slowest of 20)", {}, {}}, mine{"governor", {}, {}},
        best{"oracle", {}, {}}, level{"A15", {}, {}, false}, low{"A7", {}, {}, false};
    constexpr std::size_t step = 20;
    for (std::size_t i = 0; i + step <= ours.size(); i += step) {
        const double when = ours[i].began / hour;
        double slowest = 0, accuracy = 0, could = 0;
        for (std::size_t k = i; k < i + step; ++k) {
            slowest = std::max(slowest, ours[k].seconds);
            accuracy += ours[k].point.accuracy / step, could += oracle[k].point.accuracy / step;
        }
        budget.x.push_back(when), budget.y.push_back(std::min(ours[i].budget.seconds, 0.4));
        taken.x.push_back(when), taken.y.push_back(std::min(slowest, 0.4));
        mine.x.push_back(when), mine.y.push_back(100 * accuracy);
        best.x.push_back(when), best.y.push_back(100 * could);
        ps::show::Series& cluster = ours[i].point.core_set == 0 ? level : low;
        cluster.x.push_back(when), cluster.y.push_back(0.2 + 0.1 * static_cast<double>(ours[i].point.level));
    }
    return {{"Seconds of an image, up to 0.4", "hour", {budget, taken}},
            {"Accuracy (%)", "hour", {mine, best}},
            {"Frequency (GHz)", "hour", {level, low}}};
}

/// Everyone's outcomes over these days.
std::vector<Row> compare(std::vector<Day> const& days, std::vector<double> const& accuracies) {
    Outcome governor, untold, oracle, reactive, chance;
    std::vector<Outcome> fixed(4);
    for (Day const& day : days) {
        const boards::SimulatedPlatform platform(day.platform);
        const std::vector<ps::dynamic::OperatingPoint> points = platform.points(accuracies);
        std::vector<ps::dynamic::OperatingPoint> best_first = points;
        std::ranges::stable_sort(best_first, ps::dynamic::MostAccurate{});
        const std::vector<Image> best = spend_day(day, Oracle{best_first});
        oracle.add(best, best);
        governor.add(spend_day(day, Governed{ps::dynamic::Governor<>(points)}), best);
        untold.add(spend_day(day, Governed{ps::dynamic::Governor<>(points)}, false), best);
        reactive.add(spend_day(day, Reactive{platform.core_sets()[0].hertz, accuracies}), best);
        chance.add(spend_day(day, Chance{points}), best);
        for (std::size_t c = 0; c < 4; ++c) {
            fixed[c].add(spend_day(day, Fixed{{.configuration = static_cast<int>(c) + 1, .accuracy = accuracies[c]}}),
                         best);
        }
    }
    std::vector<Row> rows{governor.row("governor"), untold.row("governor, load untold"), oracle.row("oracle"),
                          reactive.row("reactive")};
    for (std::size_t c = 0; c < 4; ++c) rows.push_back(fixed[c].row(ps::join("fixed ", 25 * (c + 1), " %")));
    rows.push_back(chance.row("chance"));
    return rows;
}

double microseconds_of_a_decision(std::vector<ps::dynamic::OperatingPoint> const& points) {
    ps::dynamic::Governor<> governor(points, {.seconds = 0.2});
    std::vector<ps::dynamic::CoreState> states(2);
    boards::SimulatedPlatform(boards::odroid_xu3()).observe(states);
    const auto began = std::chrono::steady_clock::now();
    constexpr int decisions = 200000;
    for (int i = 0; i < decisions; ++i) governor.decide(states), governor.measured(0.1 + 1e-6 * (i * 7919 % 1000));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    return 1e6 * took.count() / decisions;
}

}  // namespace

void report_figure_5(Report& report, std::vector<double> const& accuracies) {
    const std::vector<ps::dynamic::OperatingPoint> points =
        boards::SimulatedPlatform(boards::odroid_xu3()).points(accuracies);
    boards::SimulatedDescription bare = boards::odroid_xu3();
    for (boards::SimulatedCores& cores : bare.cores) cores.static_watts = 0;
    const std::vector<ps::dynamic::OperatingPoint> dynamic = boards::SimulatedPlatform(bare).points({});
    report.heading("Figure 5: configurations, frequencies and clusters of a simulated Odroid XU3");
    report.paragraph(
        "Times: the model goes through table I's four, and the 3.53 of table III, so that these ranges agree by "
        "construction; 1020 / 33.1 ms and 1780 / 33.1 ms are the paper's ratios. Energy without static power has no "
        "free parameter (voltages and capacitances of Linux's device trees); two static powers are fitted.");
    std::vector<Row> rows;
    const auto add = [&](const char* what, double paper, double ps::dynamic::OperatingPoint::*value, bool mapping) {
        rows.push_back({what, Cell(known(paper)), Cell(known(range_of(points, value, mapping))),
                        Cell(known(range_of(dynamic, value, mapping)))});
    };
    add("time, DVFS", 30.8, &ps::dynamic::OperatingPoint::seconds, false);
    add("time, DVFS and task mapping", 53.7, &ps::dynamic::OperatingPoint::seconds, true);
    add("energy, DVFS", 6.76, &ps::dynamic::OperatingPoint::joules, false);
    add("energy, DVFS and task mapping", 15.73, &ps::dynamic::OperatingPoint::joules, true);
    report.table("figure5", ps::join("Figure 5, ", points.size(), " operating points: ranges, largest / smallest"),
                 {"range of", "paper", "here", "without static power"}, rows, true);
    report.picture("Figure 5.", ps::show::to_svg(figure5(points)));
}

void report_days(Report& report, std::vector<double> const& accuracies) {
    const std::vector<std::string> columns{
        "",           "late, %",     "not first, %", "avoidable, %", "over other, %", "accuracy, %",
        "in time, %", "mJ an image", "switches"};
    const std::vector<ps::dynamic::OperatingPoint> points =
        boards::SimulatedPlatform(boards::odroid_xu3()).points(accuracies);
    report.heading("Days of 10,000 images under a governor, in virtual time");
    report.paragraph(ps::join(
        "An image every ", period,
        " s. Late: beyond the budget of time; not first: without the first image after a change of machine or budget; "
        "avoidable: of these, where the oracle was in time; "
        "over other: beyond a budget of energy or power, or below that of accuracy; in time: accuracy where late "
        "images count as wrong. The oracle tries all points on a copy of the platform; the reactive governor follows "
        "the last time as schedutil does; fixed ones run at the highest frequency. Only 71.2 % of the accuracies is "
        "the "
        "paper's; the others are assumed, as figure 2's are not in its text."));
    const Day known_one = known_day();
    report.table("known-day", "The day in whose sight the governor's constants were chosen", columns,
                 compare({known_one}, accuracies), true);
    std::vector<Day> others;
    for (unsigned seed = first_held_out; seed < first_held_out + held_out; ++seed) others.push_back(any_day(seed));
    report.table("held-out-days", ps::join(held_out, " days by chance, which no constant was chosen by"), columns,
                 compare(others, accuracies), true);
    std::vector<ps::dynamic::OperatingPoint> best_first = points;
    std::ranges::stable_sort(best_first, ps::dynamic::MostAccurate{});
    for (Day const* day : std::initializer_list<Day const*>{&known_one, others.data()}) {
        report.picture(day == &known_one ? "The known day." : "The first of the others.",
                       ps::show::to_svg(picture(spend_day(*day, Governed{ps::dynamic::Governor<>(points)}),
                                                spend_day(*day, Oracle{best_first}))));
    }
    report.table("decision", "A decision", {"", ""},
                 {{ps::join("microseconds, among ", points.size(), " points, and what is learned from an image"),
                   Cell(known(microseconds_of_a_decision(points)))}},
                 true);
}

}  // namespace xun2019
