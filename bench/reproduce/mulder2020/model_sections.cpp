#include "paper.hpp"
#include "plot.hpp"
#include "sections.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reproduce {

namespace {

[[nodiscard]] std::string counts(Platform const& platform, std::string_view family) {
    std::map<std::size_t, std::size_t, std::greater<>> primitives;
    for (std::size_t i = 0; i < platform.families.size(); ++i) {
        if (platform.families[i] != family) continue;
        std::size_t points = 0;
        for (std::size_t row = 0; row < platform.primitives.rows(); ++row) {
            if (platform.primitives.time(row, i) > 0) ++points;
        }
        ++primitives[points];
    }
    std::string text;
    for (auto const& [points, count] : primitives) {
        text += ps::join(text.empty() ? "" : ", ", count, " x ", points);
    }
    return text;
}

[[nodiscard]] std::vector<std::string> by_family(Platform const& platform) {
    std::vector<std::string> ids;
    for (const std::string_view family : families) {
        for (std::size_t i = 0; i < platform.families.size(); ++i) {
            if (platform.families[i] == family) ids.push_back(platform.primitives.subjects[i]);
        }
    }
    return ids;
}

}  // namespace

void table_2(Findings const& found, Report& report) {
    report.heading("Table 2: data points of each primitive");
    std::vector<Row> rows;
    for (paper::Counted const& paper : paper::counted) {
        Row row{paper.family};
        for (Platform const* platform : {&found.world.source, &found.world.target})
            row.emplace_back(counts(*platform, paper.family));
        row.emplace_back(paper.points);
        rows.push_back(std::move(row));
    }
    report.table("table_2", "How many primitives of the family have how many data points",
                 {"family", found.source(), found.target(), "paper, each"}, rows);
    if (!found.world.published) return;
    report.paragraph(
        "Intel's data have four Winograd primitives (vec-8 of 2-3, 3-3, 2-5 and 3-5) with few points, which "
        "neither AMD's data nor "
        "the paper's table 6 have.");
}

void figures_4_and_5(Findings const& found, Report& report) {
    report.heading("Figures 4 and 5: error of predicted times of primitives");
    for (Platform const* platform : {&found.world.source, &found.world.target}) {
        const bool first = platform == &found.world.source;
        const std::vector<std::string> ids = by_family(*platform);
        std::vector<std::string> columns{"model", "mean of primitives", "all points"};
        columns.insert(columns.end(), families.begin(), families.end());
        columns.insert(columns.end(), {"training, s", "GoogLeNet, ms"});
        std::vector<Row> rows;
        std::vector<Series> series;
        for (const Kind kind : kinds) {
            Row row{to_string_view(kind), found.of_model(kind, *platform, {"primitives", "mean_of_medians"}),
                    found.of_model(kind, *platform, {"primitives", "all"})};
            for (const std::string_view family : families) {
                row.emplace_back(found.of_model(kind, *platform, {"primitives", "families", family}));
            }
            row.emplace_back(found.of_model(kind, *platform, {"fit_seconds"}), 1);
            row.emplace_back(found.of_model(kind, *platform, {"networks", "googlenet", "predict_ms"}));
            rows.push_back(std::move(row));
            Series one{std::string(to_string_view(kind)), found.colour(kind), {}};
            for (std::string const& id : ids) {
                one.values.push_back(found.of_model(kind, *platform, {"primitives", "subjects", id}));
            }
            series.push_back(std::move(one));
        }
        Row paper{"NN2 in the paper", first ? "about 2" : "just above 2", ""};
        for (const std::string_view family : families) {
            paper.emplace_back(!first ? "" : family.starts_with("wino") ? "2 to 4, up to 10" : "about 2");
        }
        paper.emplace_back("");
        paper.emplace_back("");
        rows.push_back(std::move(paper));
        report.table(first ? "figure_4" : "figure_5",
                     ps::join("MdRAE on ", platform->name,
                              "'s test set in percent; seconds of one core to train, and to "
                              "predict all that a plan of GoogLeNet asks"),
                     columns, rows, true);
        report.picture(ps::join("MdRAE of each primitive on ", platform->name, "'s test set, percent"),
                       draw_groups(ids, series, {"MdRAE, %", 0.5, 100, true}, Mark::dot));
    }
}

void figure_6(Findings const& found, Report& report) {
    report.heading("Figure 6: error of predicted changes of layout");
    report.paragraph(
        "Changes to the same layout take no time and are left out. Tensors in many rows: each tensor stands in the "
        "table once for each convolution that reads one of its size, and rows are split at random, so that nearly all "
        "tensors to judge by were learned from. The row before the paper's bounds the noise of the measurements from "
        "above: each change is predicted from the five others of the same tensor.");
    for (Platform const* platform : {&found.world.source, &found.world.target}) {
        std::vector<std::string> columns{"model", "mean", "all points"};
        columns.insert(columns.end(), platform->layouts.subjects.begin(), platform->layouts.subjects.end());
        std::vector<Row> rows;
        std::vector<Series> series;
        const auto add = [&](std::string_view name, std::string_view dye, auto const& of) {
            Row row{name, of(Path{"mean_of_medians"}), of(Path{"all"})};
            Series one{std::string(name), dye, {}};
            for (std::string const& subject : platform->layouts.subjects) {
                const Value value = of(Path{"subjects", subject});
                row.emplace_back(value);
                one.values.push_back(value);
            }
            rows.push_back(std::move(row));
            series.push_back(std::move(one));
        };
        for (const Kind kind : kinds) {
            add(to_string_view(kind), found.colour(kind), [&](Path const& path) {
                return found.over_seeds(
                    [&](std::uint64_t seed) { return model_experiment(kind, platform->name, seed); }, path, "layouts");
            });
        }
        for (const Kind kind : published_kinds) {
            add(ps::join(to_string_view(kind), ", tensors in many rows"), found.colour(kind), [&](Path path) {
                path.insert(path.begin(), "layouts");
                return found.value(merged_experiment(kind, platform->name, found.effort.seed), path);
            });
        }
        add("from the other five", colours[6], [&](Path const& path) {
            return found.over_seeds([&](std::uint64_t seed) { return noise_experiment(platform->name, seed); }, path);
        });
        if (platform == &found.world.source) {
            rows.push_back({"NN1, NN2 in the paper", "about 1", ""});
            rows.push_back({"Lin in the paper", "about 10", ""});
        }
        report.table(platform == &found.world.source ? "figure_6_source" : "figure_6_target",
                     ps::join("MdRAE of changes of layout on ", platform->name, "'s test set, percent"), columns, rows,
                     true);
        report.picture(ps::join("MdRAE of each change of layout on ", platform->name, ", percent"),
                       draw_groups(platform->layouts.subjects, series, {"MdRAE, %", 0, 15}, Mark::bar));
    }
}

void table_4(Findings const& found, Report& report) {
    constexpr double runs = 25;  // section 4.1.1 of the paper
    report.heading("Table 4: time to choose the primitives of a network");
    report.paragraph(
        "Profiling runs each primitive 25 times at each layer, by the measured times. The paper's took 2.8 to 3.6 "
        "times "
        "as long as that on both of its machines.");
    std::vector<Row> rows;
    for (paper::Selected const& paper : paper::selected) {
        Row row{paper.network};
        for (const Kind kind : {Kind::nn2, Kind::ours}) {
            const Value predict = found.of_model(kind, found.world.source, {"networks", paper.network, "predict_ms"}),
                        solve = found.of_model(kind, found.world.source, {"networks", paper.network, "solve_ms"});
            row.emplace_back(predict);
            if (kind == Kind::ours) row.emplace_back(solve);
            row.emplace_back(predict && solve ? Value(*predict + *solve) : std::nullopt);
        }
        for (Platform const* platform : {&found.world.source, &found.world.target}) {
            const std::size_t network = found.world.network(paper.network);
            const bool known = platform->best[network].has_value();
            row.emplace_back(known ? Value(runs * platform->profiling[network]) : std::nullopt, 1);
        }
        row.emplace_back(paper.milliseconds, 1);
        row.emplace_back(paper.intel);
        row.emplace_back(paper.amd);
        rows.push_back(std::move(row));
    }
    report.table("table_4", "Milliseconds on this machine, one core, the solver is exact; seconds that profiling takes",
                 {"network", "NN2 predicts", "NN2 in all", "ours predicts", "solver", "ours in all",
                  ps::join("profiling ", found.source(), ", s"), ps::join("profiling ", found.target(), ", s"),
                  "paper, in all", "paper, profiling Intel", "profiling AMD"},
                 rows, true);
}

void figure_7(Findings const& found, Report& report) {
    report.heading("Figure 7: what plans made from predictions cost");
    report.paragraph(
        "By how much the measured time of the plan that is made from predictions exceeds that of the plan made "
        "from measurements. Paper: 0.39 % on average, 1.1 % at worst, below 0.7 % on Intel. A primitive without a "
        "measurement for a layer is never chosen. Other layers cost nothing.");
    std::vector<std::string> columns{"model", "machine"};
    std::vector<std::string> names;
    for (Network const& network : found.world.networks) names.push_back(network.name);
    columns.insert(columns.end(), names.begin(), names.end());
    columns.insert(columns.end(), {"mean", "worst"});
    std::vector<Row> rows;
    for (Platform const* platform : {&found.world.source, &found.world.target}) {
        std::vector<Series> series;
        for (const Kind kind : kinds) {
            Row row{to_string_view(kind), platform->name};
            Series one{std::string(to_string_view(kind)), found.colour(kind), {}};
            double sum = 0, worst = 0;
            std::size_t known = 0;
            for (std::string const& name : names) {
                const Value increase = found.of_model(kind, *platform, {"networks", name, "increase"});
                row.emplace_back(increase);
                one.values.push_back(increase);
                if (!increase) continue;
                sum += *increase;
                worst = std::max(worst, *increase);
                ++known;
            }
            const auto judged =
                std::ranges::count_if(platform->best, [](auto const& best) { return best.has_value(); });
            const bool all = known > 0 && known == static_cast<std::size_t>(judged);
            row.emplace_back(all ? Value(sum / static_cast<double>(known)) : std::nullopt);
            row.emplace_back(all ? Value(worst) : std::nullopt);
            rows.push_back(std::move(row));
            series.push_back(std::move(one));
        }
        report.picture(ps::join("Increase on ", platform->name, ", percent"),
                       draw_groups(names, series, {"increase, %", 0, 5}, Mark::bar));
    }
    rows.push_back({"NN2 in the paper", "Intel, AMD, ARM", "", "", "", "", "", "", Cell(0.39), Cell(1.1)});
    report.table("figure_7", "Increase of the inference time in percent", columns, rows, true);
}

}  // namespace reproduce
