#include "paper.hpp"
#include "plot.hpp"
#include "sections.hpp"

#include <primsel/core/statistics.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace reproduce {

namespace {

std::string fixed(double value, int decimals) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f", decimals, value);
    return text;
}

}  // namespace

void figure_8(Findings const& found, Report& report) {
    report.heading(ps::join("Figure 8: the model of ", found.source(), " on ", found.target()));
    report.paragraph(ps::join(
        "Used as it is, corrected by a factor for each primitive (the median over 1 % of the training rows, ",
        "median of ", subsets(found.effort, Method::factor_ours, 10),
        " subsets; the overall median for primitives that have none in them), and trained on ", found.target(),
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
        add(ps::join(found.source(), "'s"), found.value(direct_experiment(found.world, kind), {"primitives", "all"}),
            found.value(direct_experiment(found.world, kind), {"increase"}));
        add(ps::join(found.source(), "'s x factor"), middle(found.of_subsets(factor, 10, {"primitives", "all"})),
            middle(found.of_subsets(factor, 10, {"increase"})));
        add("native", found.of_model(kind, found.world.target, {"primitives", "all"}),
            found.of_model(kind, found.world.target, {"networks", judged_network, "increase"}));
    }
    report.table(
        "figure_8",
        ps::join("On ", found.target(), ": MdRAE of all test points and increase of GoogLeNet's time, percent"),
        {"model", "of", "MdRAE", "increase"}, rows, true);
}

void figures_9_and_10(Findings const& found, Report& report) {
    report.heading("Figures 9 and 10: from few measurements");
    report.paragraph(ps::join(
        "Models of ", found.target(), " from a part of the training rows, drawn at random ", subsets(found.effort),
        " times, large parts less often; as small a part of the validation rows decides when networks stop. All "
        "methods see the same rows. "
        "Scratch: nothing else is known. The others start from the model of ",
        found.source(),
        ": NN2 fine-tuned at a tenth of the "
        "learning rate; a factor for each primitive; ours transferred learns how its times deviate from that; as far "
        "as trusted: that, a factor or the samples "
        "alone, whichever cross-validation prefers. "
        "Chosen: as many rows, and not drawn but those that tell most of all rows, or of GoogLeNet's layers, among "
        "four fifths of the rows, another four a subset. Most of those chosen for GoogLeNet are its own layers, whose "
        "times are then looked up; other rows are chosen among those that none of the six networks has. "
        "Paper, NN2 on AMD: with 1 % of the data the increase is about 4 % fine-tuned and more than 20 % from "
        "scratch; "
        "with 10 % it is 1.4 % and 4 %, at an MdRAE of 5 % and 7 %."));
    std::vector<std::string> groups;
    for (const int fraction : fractions(found.effort)) groups.push_back(ps::join(fixed(fraction / 10.0, 1), " %"));
    for (auto const& [title, path, low, high, id] :
         {std::tuple{"MdRAE", Path{"primitives", "all"}, 1.0, 200.0, "figure_9_error"},
          std::tuple{"increase of GoogLeNet's time", Path{"increase"}, 0.1, 100.0, "figure_9_increase"}}) {
        std::vector<Row> rows;
        std::vector<Spread> spreads;
        for (const Method method : methods) {
            spreads.push_back({std::string(to_string_view(method)), colours[static_cast<std::size_t>(method) + 1], {}});
            Row row{to_string_view(method)};
            for (const int fraction : fractions(found.effort)) {
                const std::vector<double> values = found.of_subsets(method, fraction, path);
                spreads.back().values.push_back(values);
                const double low = chooses(method) ? 0 : 0.25;
                row.emplace_back(values.empty()       ? Cell(Value())
                                 : values.size() == 1 ? Cell(fixed(values[0], 2))
                                                      : Cell(ps::join(fixed(ps::quantile(values, 0.5), 2), " (",
                                                                      fixed(ps::quantile(values, low), 2), " to ",
                                                                      fixed(ps::quantile(values, 1 - low), 2), ')')));
            }
            rows.push_back(std::move(row));
        }
        std::vector<std::string> columns{"model"};
        columns.insert(columns.end(), groups.begin(), groups.end());
        report.table(id,
                     ps::join(found.target(), ", ", title,
                              " in percent: median over the subsets (quartiles; of chosen rows least and most)"),
                     columns, rows, true);
        std::vector<Line> lines;
        for (const Kind kind : {Kind::nn2, Kind::ours}) {
            const Value native =
                std::string_view(title) == "MdRAE"
                    ? found.of_model(kind, found.world.target, {"primitives", "all"})
                    : found.of_model(kind, found.world.target, {"networks", judged_network, "increase"});
            if (native) lines.push_back({ps::join(to_string_view(kind), ", all of the data"), *native});
        }
        report.picture(ps::join(found.target(), ", ", title,
                                " in percent by share of the training rows: quartiles and median, least and most"),
                       draw_boxes(groups, spreads, {ps::join(title, ", %"), low, high, true}, lines));
    }
}

void refined(Findings const& found, Report& report) {
    report.heading("Beyond the paper: measurements that are chosen for a network");
    std::size_t times = 0;
    for (const float time : found.world.target.times.values) times += std::isnan(time) ? 0U : 1U;
    report.paragraph(ps::join(
        "Ours of ", found.source(), ", and of the ", times, " times of ", found.target(),
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
        for (Network const& network : found.world.networks) {
            series.back().values.push_back(found.value(refine_experiment(network.name, most), {"increase"}));
        }
    }
    for (std::size_t i = 0; i < found.world.networks.size(); ++i) {
        names.push_back(found.world.networks[i].name);
        Row row{names.back()};
        for (Series const& one : series) row.emplace_back(one.values[i]);
        const std::string last = refine_experiment(names.back(), refine_counts.back());
        const Value count = found.value(last, {"measurements"});
        row.emplace_back(count, 0);
        row.emplace_back(count ? Value(100 * *count / static_cast<double>(times)) : std::nullopt);
        row.emplace_back(found.value(last, {"seconds"}));
        rows.push_back(std::move(row));
    }
    report.table("refined",
                 ps::join(found.target(), ": increase of the inference time in percent after so many measured times"),
                 columns, rows, true);
    report.picture(ps::join(found.target(), ": increase by number of measured times, percent"),
                   draw_groups(names, series, {"increase, %", 0, 10}, Mark::bar));
}

void table_5(Findings const& found, Report& report) {
    report.heading("Table 5: fine-tuning with one family");
    report.paragraph(
        ps::join("NN2 of ", found.source(), ", fine-tuned on ", found.target(),
                 " with the times of one family (rows), judged by each family (columns): MdRAE, each row divided "
                 "by its diagonal. In brackets the paper's."));
    std::vector<std::string> columns{"trained with"};
    columns.insert(columns.end(), families.begin(), families.end());
    std::vector<Row> relative, absolute;
    for (std::size_t i = 0; i < families.size(); ++i) {
        const std::string experiment = family_experiment(families[i]);
        const Value own = found.value(experiment, {"primitives", "families", families[i]});
        Row row{families[i]}, errors{families[i]};
        for (std::size_t j = 0; j < families.size(); ++j) {
            const Value error = found.value(experiment, {"primitives", "families", families[j]});
            errors.emplace_back(error);
            row.emplace_back(own && error ? Cell(ps::join(fixed(*error / *own, 1), " (", paper::by_family[i][j], ')'))
                                          : Cell(Value()));
        }
        relative.push_back(std::move(row));
        absolute.push_back(std::move(errors));
    }
    report.table("table_5", "MdRAE relative to the family trained with (paper)", columns, relative, true);
    report.table("table_5_absolute", "The same in percent", columns, absolute);
}

}  // namespace reproduce
