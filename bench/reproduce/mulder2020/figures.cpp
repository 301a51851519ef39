#include "figures.hpp"

#include "paper.hpp"
#include "plot.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/learn/evaluate.hpp>
#include <primsel/version.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace reproduce {
namespace {

using Value = std::optional<double>;

std::string fixed(double value, int decimals) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f", decimals, value);
    return text;
}

Value middle(std::vector<double> const& values) {
    return values.empty() ? std::nullopt : Value(ps::quantile(values, 0.5));
}

class Figures {
public:
    Figures(World const& world, Effort const& effort, Journal const& journal)
        : world_(world), effort_(effort), journal_(journal) {}

    Report compose() {
        introduce();
        table_2();
        figures_4_and_5();
        figure_6();
        table_4();
        figure_7();
        figure_8();
        figures_9_and_10();
        refined();
        table_5();
        return std::move(report_);
    }

private:
    using Path = std::vector<std::string_view>;

    [[nodiscard]] Value value(std::string const& experiment, Path const& path) const {
        std::optional<ps::JsonCursor> at = journal_.find(experiment);
        for (const std::string_view key : path) {
            if (at) at = at->find(key);
        }
        return at ? Value(at->number()) : std::nullopt;
    }
    template <class Name>
    [[nodiscard]] Value over_seeds(Name const& name, Path const& path) const {
        std::vector<double> values;
        for (std::uint64_t seed = effort_.seed; seed < effort_.seed + effort_.seeds(); ++seed) {
            if (const Value one = value(name(seed), path)) values.push_back(*one);
        }
        return middle(values);
    }
    [[nodiscard]] Value of_model(Kind kind, Platform const& platform, Path const& path) const {
        return over_seeds([&](std::uint64_t seed) { return model_experiment(kind, platform.name, seed); }, path);
    }
    [[nodiscard]] std::vector<double> of_subsets(Method method, int fraction, Path const& path) const {
        std::vector<double> values;
        for (std::size_t i = 0; i < subsets(effort_); ++i) {
            if (const Value one = value(subset_experiment(method, fraction, i), path)) values.push_back(*one);
        }
        return values;
    }
    [[nodiscard]] std::string const& source() const { return world_.source.name; }
    [[nodiscard]] std::string const& target() const { return world_.target.name; }
    [[nodiscard]] std::string_view colour(Kind kind) const { return colours[static_cast<std::size_t>(kind)]; }

    void introduce() {
        if (effort_.quick) {
            report_.paragraph(
                "QUICK: a rough run. Models learn from a third of the training rows, for a small part of the epochs, "
                "trees and steps, from one seed; transfer has fewer subsets and fractions. These figures are not the "
                "models' and are no reproduction; run without --quick for those.");
        }
        report_.paragraph(
            world_.published
                ? ps::join("The tables and figures of Mulder et al. 2020 that its published measurements (Intel "
                           "i9-9900K, AMD A10-7850K) allow, made by primsel ",
                           ps::version,
                           " and set beside what the paper says. Its third machine, an ARM Cortex-A73, is not among "
                           "the data.")
                : ps::join("The tables and figures of Mulder et al. 2020, made by primsel ", ps::version,
                           " from other profiles: ", described(world_.source), " and ", described(world_.target),
                           ". What stands here of the paper is of its own machines."));
        report_.paragraph(ps::join(
            "Rows are split 80/10/10 by seed into those that train, those that "
            "decide "
            "when to stop and those that judge",
            effort_.quick ? "" : ps::join("; figures 4 to 7 and table 4 are medians over ", effort_.seeds(), " seeds"),
            ". MdRAE is the median of |predicted - measured| / measured, in percent."));
        report_.paragraph(
            "Lin is linear regression, NN1 a network for each primitive and NN2 one for all, as in the paper's table "
            "3; "
            "these see the five raw features. Random forest and gradient-boosted trees see derived features too, and "
            "so does "
            "ours, a Gaussian process for each family.");
    }

    [[nodiscard]] static std::string described(Platform const& platform) {
        const auto known = [&](const char* key) {
            const auto found = platform.primitives.about.find(key);
            return found == platform.primitives.about.end() ? std::string("unknown") : found->second;
        };
        return ps::join(platform.name, " (", known("cpu"), ", ", known("arch"), ", ", platform.primitives.rows(),
                        " rows)");
    }

    void table_2() {
        report_.heading("Table 2: data points of each primitive");
        std::vector<Row> rows;
        for (paper::Counted const& paper : paper::counted) {
            Row row{paper.family};
            for (Platform const* platform : {&world_.source, &world_.target})
                row.emplace_back(counts(*platform, paper.family));
            row.emplace_back(paper.points);
            rows.push_back(std::move(row));
        }
        report_.table("table_2", "How many primitives of the family have how many data points",
                      {"family", source(), target(), "paper, each"}, rows);
        if (!world_.published) return;
        report_.paragraph(
            "Intel's data have four Winograd primitives (vec-8 of 2-3, 3-3, 2-5 and 3-5) with few points, which "
            "neither AMD's data nor "
            "the paper's table 6 have.");
    }
    [[nodiscard]] static std::string counts(Platform const& platform, std::string_view family) {
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

    [[nodiscard]] static std::vector<std::string> by_family(Platform const& platform) {
        std::vector<std::string> ids;
        for (const std::string_view family : families) {
            for (std::size_t i = 0; i < platform.families.size(); ++i) {
                if (platform.families[i] == family) ids.push_back(platform.primitives.subjects[i]);
            }
        }
        return ids;
    }
    void figures_4_and_5() {
        report_.heading("Figures 4 and 5: error of predicted times of primitives");
        for (Platform const* platform : {&world_.source, &world_.target}) {
            const bool first = platform == &world_.source;
            const std::vector<std::string> ids = by_family(*platform);
            std::vector<std::string> columns{"model", "mean of primitives", "all points"};
            columns.insert(columns.end(), families.begin(), families.end());
            columns.insert(columns.end(), {"training, s", "GoogLeNet, ms"});
            std::vector<Row> rows;
            std::vector<Series> series;
            for (const Kind kind : kinds) {
                Row row{to_string_view(kind), of_model(kind, *platform, {"primitives", "mean_of_medians"}),
                        of_model(kind, *platform, {"primitives", "all"})};
                for (const std::string_view family : families) {
                    row.emplace_back(of_model(kind, *platform, {"primitives", "families", family}));
                }
                row.emplace_back(of_model(kind, *platform, {"fit_seconds"}), 1);
                row.emplace_back(of_model(kind, *platform, {"networks", "googlenet", "predict_ms"}));
                rows.push_back(std::move(row));
                Series one{std::string(to_string_view(kind)), colour(kind), {}};
                for (std::string const& id : ids) {
                    one.values.push_back(of_model(kind, *platform, {"primitives", "subjects", id}));
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
            report_.table(first ? "figure_4" : "figure_5",
                          ps::join("MdRAE on ", platform->name,
                                   "'s test set in percent; seconds of one core to train, and to "
                                   "predict all that a plan of GoogLeNet asks"),
                          columns, rows, true);
            report_.picture(ps::join("MdRAE of each primitive on ", platform->name, "'s test set, percent"),
                            draw_groups(ids, series, {"MdRAE, %", 0.5, 100, true}, Mark::dot));
        }
    }

    void figure_6() {
        report_.heading("Figure 6: error of predicted changes of layout");
        report_.paragraph(
            "Changes to the same layout take no time and are left out. The last row bounds the noise of the "
            "measurements "
            "from above: each change is predicted from the five others of the same tensor.");
        for (Platform const* platform : {&world_.source, &world_.target}) {
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
                add(to_string_view(kind), colour(kind), [&](Path const& path) {
                    return over_seeds([&](std::uint64_t seed) { return model_experiment(kind, platform->name, seed); },
                                      path, "layouts");
                });
            }
            add("from the other five", colours[6], [&](Path const& path) {
                return over_seeds([&](std::uint64_t seed) { return noise_experiment(platform->name, seed); }, path);
            });
            if (platform == &world_.source) {
                rows.push_back({"NN1, NN2 in the paper", "about 1", ""});
                rows.push_back({"Lin in the paper", "about 10", ""});
            }
            report_.table(platform == &world_.source ? "figure_6_source" : "figure_6_target",
                          ps::join("MdRAE of changes of layout on ", platform->name, "'s test set, percent"), columns,
                          rows, true);
            report_.picture(ps::join("MdRAE of each change of layout on ", platform->name, ", percent"),
                            draw_groups(platform->layouts.subjects, series, {"MdRAE, %", 0, 15}, Mark::bar));
        }
    }
    template <class Name>
    [[nodiscard]] Value over_seeds(Name const& name, Path const& path, std::string_view part) const {
        std::vector<double> values;
        for (std::uint64_t seed = effort_.seed; seed < effort_.seed + effort_.seeds(); ++seed) {
            std::optional<ps::JsonCursor> at = journal_.find(name(seed));
            if (at) at = at->find(part);
            for (const std::string_view key : path) {
                if (at) at = at->find(key);
            }
            if (at) values.push_back(at->number());
        }
        return middle(values);
    }

    void table_4() {
        report_.heading("Table 4: time to choose the primitives of a network");
        std::vector<Row> rows;
        for (paper::Selected const& paper : paper::selected) {
            Row row{paper.network};
            for (const Kind kind : {Kind::nn2, Kind::ours}) {
                const Value predict = of_model(kind, world_.source, {"networks", paper.network, "predict_ms"}),
                            solve = of_model(kind, world_.source, {"networks", paper.network, "solve_ms"});
                row.emplace_back(predict);
                if (kind == Kind::ours) row.emplace_back(solve);
                row.emplace_back(predict && solve ? Value(*predict + *solve) : std::nullopt);
            }
            row.emplace_back(paper.milliseconds, 1);
            row.emplace_back(paper.intel);
            row.emplace_back(paper.amd);
            rows.push_back(std::move(row));
        }
        report_.table("table_4", "Milliseconds on this machine, one core; the solver is exact",
                      {"network", "NN2 predicts", "NN2 in all", "ours predicts", "solver", "ours in all",
                       "paper, in all", "paper, profiling Intel", "profiling AMD"},
                      rows, true);
    }

    void figure_7() {
        report_.heading("Figure 7: what plans made from predictions cost");
        report_.paragraph(ps::join(
            "By how much the measured time of the plan that is made from predictions exceeds that of the plan made "
            "from measurements. Paper: 0.39 % on average, 1.1 % at worst, below 0.7 % on Intel. A primitive without a "
            "measurement for a layer is never chosen. ",
            world_.source.truth.knows_strided_shortcuts()
                ? ""
                : "No 1 x 1 convolution with a stride was measured: ResNet's shortcuts are priced, by measurements and "
                  "predictions alike, as the same convolution with stride 1. ",
            "Other layers cost nothing."));
        std::vector<std::string> columns{"model", "machine"};
        std::vector<std::string> names;
        for (Network const& network : world_.networks) names.push_back(network.name);
        columns.insert(columns.end(), names.begin(), names.end());
        columns.insert(columns.end(), {"mean", "worst"});
        std::vector<Row> rows;
        for (Platform const* platform : {&world_.source, &world_.target}) {
            std::vector<Series> series;
            for (const Kind kind : kinds) {
                Row row{to_string_view(kind), platform->name};
                Series one{std::string(to_string_view(kind)), colour(kind), {}};
                double sum = 0, worst = 0;
                std::size_t known = 0;
                for (std::string const& name : names) {
                    const Value increase = of_model(kind, *platform, {"networks", name, "increase"});
                    row.emplace_back(increase);
                    one.values.push_back(increase);
                    if (!increase) continue;
                    sum += *increase;
                    worst = std::max(worst, *increase);
                    ++known;
                }
                const bool all = known == names.size();
                row.emplace_back(all ? Value(sum / static_cast<double>(known)) : std::nullopt);
                row.emplace_back(all ? Value(worst) : std::nullopt);
                rows.push_back(std::move(row));
                series.push_back(std::move(one));
            }
            report_.picture(ps::join("Increase on ", platform->name, ", percent"),
                            draw_groups(names, series, {"increase, %", 0, 5}, Mark::bar));
        }
        rows.push_back({"NN2 in the paper", "Intel, AMD, ARM", "", "", "", "", "", "", Cell(0.39), Cell(1.1)});
        report_.table("figure_7", "Increase of the inference time in percent", columns, rows, true);
    }

    void figure_8() {
        report_.heading(ps::join("Figure 8: the model of ", source(), " on ", target()));
        report_.paragraph(ps::join(
            "Used as it is, corrected by a factor for each primitive (the median over 1 % of the training rows, ",
            "median of ", subsets(effort_),
            " subsets; the overall median for primitives that have none in them), and trained on ", target(),
            " itself. "
            "The paper says in numbers: a factor halves the increase that the uncorrected model causes; NN2 trained on "
            "AMD has an MdRAE just above 2 %. Here and below changes of layout are as measured, but for the native "
            "models."));
        std::vector<Row> rows;
        for (const Kind kind : {Kind::nn2, Kind::ours}) {
            const Method factor = kind == Kind::nn2 ? Method::factor_nn2 : Method::factor_ours;
            const auto add = [&](std::string const& what, Value error, Value increase) {
                rows.push_back({to_string_view(kind), what, error, increase});
            };
            add(ps::join(source(), "'s"), value(direct_experiment(world_, kind), {"primitives", "all"}),
                value(direct_experiment(world_, kind), {"increase"}));
            add(ps::join(source(), "'s x factor"), middle(of_subsets(factor, 10, {"primitives", "all"})),
                middle(of_subsets(factor, 10, {"increase"})));
            add("native", of_model(kind, world_.target, {"primitives", "all"}),
                of_model(kind, world_.target, {"networks", judged_network, "increase"}));
        }
        report_.table("figure_8",
                      ps::join("On ", target(), ": MdRAE of all test points and increase of GoogLeNet's time, percent"),
                      {"model", "of", "MdRAE", "increase"}, rows, true);
    }

    void figures_9_and_10() {
        report_.heading("Figures 9 and 10: from few measurements");
        report_.paragraph(ps::join(
            "Models of ", target(), " from a part of the training rows, drawn at random ", subsets(effort_),
            " times; as small a part of the validation rows decides when networks stop. All methods see the same rows. "
            "Scratch: nothing else is known. The others start from the model of ",
            source(),
            ": NN2 fine-tuned at a tenth of the "
            "learning rate; a factor for each primitive; ours transferred learns how its times deviate from that. "
            "Chosen: as many rows, and not drawn but those that tell most of all rows, or of GoogLeNet's layers. "
            "Paper, NN2 on AMD: with 1 % of the data the increase is about 4 % fine-tuned and more than 20 % from "
            "scratch; "
            "with 10 % it is 1.4 % and 4 %, at an MdRAE of 5 % and 7 %."));
        std::vector<std::string> groups;
        for (const int fraction : fractions(effort_)) groups.push_back(ps::join(fixed(fraction / 10.0, 1), " %"));
        for (auto const& [title, path, low, high, id] :
             {std::tuple{"MdRAE", Path{"primitives", "all"}, 1.0, 200.0, "figure_9_error"},
              std::tuple{"increase of GoogLeNet's time", Path{"increase"}, 0.1, 100.0, "figure_9_increase"}}) {
            std::vector<Row> rows;
            std::vector<Spread> spreads;
            for (const Method method : methods) {
                spreads.push_back(
                    {std::string(to_string_view(method)), colours[static_cast<std::size_t>(method) + 1], {}});
                Row row{to_string_view(method)};
                for (const int fraction : fractions(effort_)) {
                    const std::vector<double> values = of_subsets(method, fraction, path);
                    spreads.back().values.push_back(values);
                    row.emplace_back(values.empty()       ? Cell(Value())
                                     : values.size() == 1 ? Cell(fixed(values[0], 2))
                                                          : Cell(ps::join(fixed(ps::quantile(values, 0.5), 2), " (",
                                                                          fixed(ps::quantile(values, 0.25), 2), " to ",
                                                                          fixed(ps::quantile(values, 0.75), 2), ')')));
                }
                rows.push_back(std::move(row));
            }
            std::vector<std::string> columns{"model"};
            columns.insert(columns.end(), groups.begin(), groups.end());
            report_.table(id, ps::join(target(), ", ", title, " in percent: median (quartiles) over the subsets"),
                          columns, rows, true);
            std::vector<Line> lines;
            for (const Kind kind : {Kind::nn2, Kind::ours}) {
                const Value native = std::string_view(title) == "MdRAE"
                                         ? of_model(kind, world_.target, {"primitives", "all"})
                                         : of_model(kind, world_.target, {"networks", judged_network, "increase"});
                if (native) lines.push_back({ps::join(to_string_view(kind), ", all of the data"), *native});
            }
            report_.picture(ps::join(target(), ", ", title,
                                     " in percent by share of the training rows: quartiles and median, least and most"),
                            draw_boxes(groups, spreads, {ps::join(title, ", %"), low, high, true}, lines));
        }
    }

    void refined() {
        report_.heading("Beyond the paper: measurements that are chosen for a network");
        std::size_t times = 0;
        for (const float time : world_.target.times.values) times += std::isnan(time) ? 0U : 1U;
        report_.paragraph(ps::join(
            "Ours of ", source(), ", and of the ", times, " times of ", target(),
            " only those that refine() asks for: one primitive at one layer each, those first that "
            "promise "
            "the largest saving for the time that they take; each corrects the predictions of all others, and the plan "
            "is made again after every eight. In the end nothing left to measure seems to pay. Seconds are those of "
            "the "
            "measured convolutions, run once each."));
        std::vector<std::string> columns{"network"}, names;
        for (const std::size_t most : refine_counts) {
            columns.push_back(most < 1000 ? ps::join(most, " times") : "to the end");
        }
        columns.insert(columns.end(), {"times in the end", "share of all times, %", "seconds"});
        std::vector<Row> rows;
        std::vector<Series> series;
        for (const std::size_t most : refine_counts) {
            series.push_back({columns[1 + series.size()], colours[series.size()], {}});
            for (Network const& network : world_.networks) {
                series.back().values.push_back(value(refine_experiment(network.name, most), {"increase"}));
            }
        }
        for (std::size_t i = 0; i < world_.networks.size(); ++i) {
            names.push_back(world_.networks[i].name);
            Row row{names.back()};
            for (Series const& one : series) row.emplace_back(one.values[i]);
            const std::string last = refine_experiment(names.back(), refine_counts.back());
            const Value count = value(last, {"measurements"});
            row.emplace_back(count, 0);
            row.emplace_back(count ? Value(100 * *count / static_cast<double>(times)) : std::nullopt);
            row.emplace_back(value(last, {"seconds"}));
            rows.push_back(std::move(row));
        }
        report_.table("refined",
                      ps::join(target(), ": increase of the inference time in percent after so many measured times"),
                      columns, rows, true);
        report_.picture(ps::join(target(), ": increase by number of measured times, percent"),
                        draw_groups(names, series, {"increase, %", 0, 10}, Mark::bar));
    }

    void table_5() {
        report_.heading("Table 5: fine-tuning with one family");
        report_.paragraph(
            ps::join("NN2 of ", source(), ", fine-tuned on ", target(),
                     " with the times of one family (rows), judged by each family (columns): MdRAE, each row divided "
                     "by its diagonal. In brackets the paper's."));
        std::vector<std::string> columns{"trained with"};
        columns.insert(columns.end(), families.begin(), families.end());
        std::vector<Row> relative, absolute;
        for (std::size_t i = 0; i < families.size(); ++i) {
            const std::string experiment = family_experiment(families[i]);
            const Value own = value(experiment, {"primitives", "families", families[i]});
            Row row{families[i]}, errors{families[i]};
            for (std::size_t j = 0; j < families.size(); ++j) {
                const Value error = value(experiment, {"primitives", "families", families[j]});
                errors.emplace_back(error);
                row.emplace_back(own && error
                                     ? Cell(ps::join(fixed(*error / *own, 1), " (", paper::by_family[i][j], ')'))
                                     : Cell(Value()));
            }
            relative.push_back(std::move(row));
            absolute.push_back(std::move(errors));
        }
        report_.table("table_5", "MdRAE relative to the family trained with (paper)", columns, relative, true);
        report_.table("table_5_absolute", "The same in percent", columns, absolute);
    }

    World const& world_;
    Effort effort_;
    Journal const& journal_;
    Report report_;
};

}  // namespace

Report compose(World const& world, Effort const& effort, Journal const& journal) {
    return Figures(world, effort, journal).compose();
}

}  // namespace reproduce
