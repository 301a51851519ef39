#include "sections.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/zoo/googlenet.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/show/chart.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace reproduce {
namespace {

std::optional<double> known(double value) { return value; }
Cell milliseconds(double seconds) { return {known(1e3 * seconds), 3}; }
Cell percent(double share, int decimals = 2) { return {known(100 * share), decimals}; }

std::string share_of(std::size_t configuration, std::size_t count) {
    return ps::join(100 * (configuration + 1) / count, " %");
}
ps::show::Series series(std::string name, std::vector<double> values) {
    ps::show::Series result{std::move(name), {}, std::move(values)};
    for (std::size_t i = 0; i < result.y.size(); ++i) {
        result.x.push_back(100 * static_cast<double>(i + 1) / static_cast<double>(result.y.size()));
    }
    return result;
}
std::vector<double> in_milliseconds(std::vector<double> seconds) {
    for (double& each : seconds) each *= 1e3;
    return seconds;
}
/// The mean of a member of the configuration, over the seeds.
double mean_of(std::vector<Trained> const& trained, std::size_t configuration, double Judged::*value) {
    double sum = 0;
    for (Trained const& each : trained) sum += each.of_groups[configuration].*value;
    return sum / static_cast<double>(trained.size());
}

}  // namespace

void report_table_2(Report& report, Subject const& groups, Subject const& whole) {
    report.heading("Table II: the network");
    report.table("weights", "Kilobytes of weights, as floats", {"", "here", "paper"},
                 {{"in four groups", Cell(known(kilobytes(groups)), 1), Cell(known(paper::kilobytes), 1)},
                  {"undivided", Cell(known(kilobytes(whole)), 1), Cell(known(paper::channel_wise_kilobytes), 1)},
                  {"undivided / in groups", Cell(known(kilobytes(whole) / kilobytes(groups))),
                   Cell(known(paper::channel_wise_kilobytes / paper::kilobytes))}},
                 true);
    report.paragraph(
        "The floats of table II are 313.4 KB; 5.0 KB of the paper's may be a file's names and descriptions of layers. "
        "Its channel-wise network is another one of Tann et al. than table II's undivided.");
}

void report_figures_2_and_3(Report& report, std::vector<Trained> const& trained, Options const& options) {
    const std::size_t count = trained.front().of_groups.size();
    report.heading(ps::join("Figures 2 and 3: accuracy on ", options.cifar.empty() ? "Fashion-MNIST" : "CIFAR-10",
                            "'s test images, and confidence"));
    report.paragraph(ps::join(
        options.cifar.empty() ? "Images padded to 3 x 32 x 32, " : "",
        options.pixels == 16 ? "halved to 16 x 16, " : "", options.width, " channels, nine tenths of ",
        options.images > 0 ? ps::join("the first ", options.images) : std::string("all"),
        " training images trained with, by SGD with momentum 0.9 from ", options.learning_rate,
        " along half a cosine in each step, batch 64, flips; ", options.epochs,
        " epochs a step (the paper: about 50, on CIFAR-10), the dense layer at ", options.dense_rate,
        " of the rate of the step before, a step repeated up to ", options.attempts - 1,
        " times where it does not raise the accuracy of validation. At once: ",
        options.epochs_at_once > 0 ? options.epochs_at_once : options.epochs * static_cast<std::int64_t>(count),
        " epochs."));
    std::vector<std::string> columns{""};
    for (Trained const& each : trained) columns.push_back(each.groups.name);
    for (const char* column : {"mean", "deviation over classes", "least class", "best class"}) {
        columns.emplace_back(column);
    }
    std::vector<Row> rows;
    std::vector<double> accuracy, confidence;
    for (std::size_t c = 0; c < count; ++c) {
        Row row{share_of(c, count)};
        for (Trained const& each : trained) row.push_back(percent(each.of_groups[c].accuracy));
        accuracy.push_back(mean_of(trained, c, &Judged::accuracy));
        confidence.push_back(mean_of(trained, c, &Judged::confidence));
        row.push_back(percent(accuracy.back()));
        for (double Judged::*value : {&Judged::spread, &Judged::least, &Judged::most}) {
            row.push_back(percent(mean_of(trained, c, value)));
        }
        rows.push_back(std::move(row));
    }
    Row at_once{"at once"}, distance{"100 % - at once"}, fall{"100 % - 25 %"};
    Judged mean;
    for (Trained const& each : trained) {
        Judged const& judged = each.of_once[0];
        at_once.push_back(percent(judged.accuracy));
        distance.push_back(percent(each.of_groups.back().accuracy - judged.accuracy));
        fall.push_back(percent(each.of_groups.back().accuracy - each.of_groups.front().accuracy));
        for (double Judged::*value : {&Judged::accuracy, &Judged::spread, &Judged::least, &Judged::most}) {
            mean.*value += judged.*value / static_cast<double>(trained.size());
        }
    }
    for (const double value : {mean.accuracy, mean.spread, mean.least, mean.most}) at_once.push_back(percent(value));
    distance.push_back(percent(accuracy.back() - mean.accuracy)),
        fall.push_back(percent(accuracy.back() - accuracy[0]));
    for (Row* row : {&distance, &fall}) row->resize(columns.size(), Cell(""));
    rows.insert(rows.end(), {at_once, distance, fall});
    report.table("figure2", "Figure 2: accuracy, % (goals: 100 % - at once at least -0.5, 100 % - 25 % at most 3)",
                 columns, rows, true);
    rows.clear();
    for (std::size_t c = 0; c < count; ++c) {
        rows.push_back(
            {share_of(c, count), Cell(known(confidence[c]), 1), Cell(known(confidence[c] / confidence.back()), 3)});
    }
    report.table("figure3", "Figure 3: total confidence, and as a share of that of all groups",
                 {"", "confidence", "share"}, rows, true);
    for (double& each : accuracy) each *= 100;
    for (double& each : confidence) each /= mean_of(trained, count - 1, &Judged::confidence);
    const std::vector<ps::show::Chart> charts{
        {"Figure 2: accuracy, %", "% of the groups", {series("here", accuracy)}},
        {"Figure 3: confidence", "% of the groups", {series("here", confidence)}}};
    report.picture(
        "Figures 2 and 3. The paper's text gives 71.2 % for all groups, on CIFAR-10; its other values are only drawn.",
        ps::show::to_svg(charts));
}

void report_figure_4(Report& report, Timed const& groups, Timed const& channels) {
    report.heading("Figure 4: time of an image");
    std::vector<Row> rows;
    const auto add = [&](const char* name, std::vector<double> const& seconds) {
        Row row{name};
        for (const double each : seconds) row.push_back(milliseconds(each));
        const double range = seconds.back() / seconds.front();
        row.insert(row.end(), {Cell(known(range)), Cell(known(range - 1)), Cell(known(1 - 1 / range))});
        rows.push_back(std::move(row));
    };
    add("groups, one thread", groups.one_thread);
    add("groups, two threads share each layer", groups.by_layers);
    add("groups, two threads take groups each", groups.by_groups);
    add("groups, two threads, as chosen", groups.two_threads);
    add("channels, one thread", channels.one_thread);
    add("channels, two threads", channels.two_threads);
    report.table("figure4",
                 "Figure 4: milliseconds; range as largest / smallest (the paper: up to 4 on CPUs), as (largest - "
                 "smallest) / smallest, and / largest",
                 {"", "25 %", "50 %", "75 %", "100 %", "range", "- 1", "of largest"}, rows, true);
    rows.clear();
    const std::size_t count = groups.one_thread.size();
    for (std::size_t c = 0; c < count; ++c) {
        const double one = groups.one_thread[c];
        rows.push_back({share_of(c, count), Cell(known(one / groups.by_layers[c])),
                        Cell(known(one / groups.by_groups[c])), Cell(known(one / groups.two_threads[c])),
                        groups.side_by_side[c] > 0 ? "groups each" : "each layer"});
    }
    report.table("threads", "How many times faster two threads are than one",
                 {"", "share each layer", "take groups each", "as chosen", "chosen"}, rows, true);
    const ps::show::Chart chart{"Figure 4: milliseconds",
                                "% of the groups",
                                {series("groups, 1 thread", in_milliseconds(groups.one_thread)),
                                 series("groups, 2 threads", in_milliseconds(groups.two_threads)),
                                 series("channels, 1 thread", in_milliseconds(channels.one_thread))}};
    report.picture("Figure 4, on this machine.", ps::show::to_svg(std::span(&chart, 1)));
}

void report_forms(Report& report, Options const& options) {
    report.heading("Other numbers of groups and other networks: time alone");
    report.paragraph(
        "Untrained. Two threads share each layer (by layers), take groups each (by groups), or do what was measured to "
        "be "
        "faster when the engine was made (chosen).");
    std::vector<Row> rows;
    const auto add = [&](const char* name, ps::Graph const& graph, int runs) {
        for (const int groups : {2, 4, 8}) {
            const Timed timed = time_of(in_groups(name, graph, groups), runs);
            const double all = timed.one_thread.back();
            rows.push_back({name, Cell(known(groups), 0), milliseconds(timed.one_thread.front()), milliseconds(all),
                            Cell(known(timed.range())), Cell(known(all / timed.by_layers.back())),
                            Cell(known(all / timed.by_groups.back())), Cell(known(all / timed.two_threads.back()))});
        }
    };
    add("table II", WholeAlexNet::graph(), options.runs);
    add("GoogLeNet", ps::zoo::GoogLeNet::graph(), std::max(3, options.runs / 40));
    add("ResNet-18", ps::zoo::ResNet18::graph(), std::max(3, options.runs / 40));
    report.table("forms",
                 "Milliseconds on one thread, range as largest / smallest, and how many times faster two threads are",
                 {"network", "groups", "one group", "all", "range", "by layers", "by groups", "chosen"}, rows, true);
}

void report_table_3(Report& report, Compared const& compared, Timed const& groups, Options const& options) {
    report.heading("Table III: recoverable at run time, range of time, size");
    const Timed channels = time_of(compared.channels, options.runs);
    const Timed whole = time_of(compared.whole, options.runs), thin = time_of(compared.thin, options.runs);
    std::vector<Row> rows;
    const auto add = [&](const char* name, const char* recoverable, double range, double size, Row accuracies) {
        Row row{name,
                recoverable,
                Cell(known(range)),
                Cell(known(range - 1)),
                Cell(known(1 - 1 / range)),
                Cell(known(size), 1)};
        row.insert(row.end(), accuracies.begin(), accuracies.end());
        row.resize(8, Cell(""));
        rows.push_back(std::move(row));
    };
    const auto ends = [](std::vector<Judged> const& least, std::vector<Judged> const& most) {
        return least.empty() ? Row{} : Row{percent(least.front().accuracy), percent(most.back().accuracy)};
    };
    add("filter pruning (Xu)", "20 %", whole.one_thread[0] / thin.one_thread[0], kilobytes(compared.whole),
        ends(compared.of_thin, compared.of_whole));
    add("a quarter of the filters", "25 %", whole.one_thread[0] / time_of(compared.thinner, options.runs).one_thread[0],
        kilobytes(compared.whole), {});
    add("channel-wise (Tann)", "75 %", channels.range(), kilobytes(compared.channels),
        ends(compared.of_channels, compared.of_channels));
    add("groups", "75 %", groups.range(), kilobytes(compared.groups), ends(compared.of_groups, compared.of_groups));
    const std::vector<std::string> columns{"",           "RRCR", "largest / smallest", "- 1",
                                           "of largest", "KB",   "least accuracy, %",  "most accuracy, %"};
    report.table("table3", "Table III, here", columns, rows, true);
    rows.clear();
    for (paper::Row const& row : paper::table3) {
        rows.push_back({row.name, row.recoverable, row.range, row.kilobytes});
    }
    report.table("table3-paper", "Table III, the paper", {"", "RRCR", "range of time", "KB"}, rows, true);
    report.paragraph(
        "The paper's 3.53 is largest / smallest, as is each of its rows with DVFS (30.8 = 1020 / 33.1 ms); its 0.25 of "
        "filter pruning can only be of the largest or - 1. Each network is timed as its configurations run, without "
        "what lies in memory beside. What is pruned here are filters of conv3 to conv5: channels beside each other in "
        "a local response normalisation stay. A fifth less leaves 51, of which whole vectors cannot be made. Pruned "
        "filters are not trained again.");
    if (!compared.of_groups.empty()) {
        report.paragraph(ps::join("Accuracies after a small training of all of them: ", options.images, " images, ",
                                  options.epochs, " epochs a step or ", options.epochs_at_once, " at once."));
    }
}

void report_switching(Report& report, Subject const& groups, Subject const& channels) {
    report.heading("Changing the configuration, and memory");
    const Switching switching = switching_of(groups, 1'000'000);
    report.table("switching", "Changing the configuration", {"", ""},
                 {{"use(), median, ns", Cell(known(switching.median), 0)},
                  {"worst of a million calls, us", Cell(known(switching.worst / 1e3), 1)},
                  {"the 100 % run after it, us", Cell(known(switching.first_run / 1e3), 1)},
                  {"the run after that, us", Cell(known(switching.later_run / 1e3), 1)}},
                 true);
    std::vector<Row> rows;
    for (Subject const* subject : {&groups, &channels}) {
        const ps::dynamic::DynamicEngine<> engine(subject->graph, subject->weights, subject->configurations);
        ps::dynamic::DynamicMemory const& memory = engine.memory();
        const auto size = [](std::size_t bytes) { return Cell(known(static_cast<double>(bytes) / 1e3), 1); };
        rows.push_back({subject->name, size(memory.weights), size(memory.separate_weights), size(memory.arena),
                        size(memory.separate_arenas), Cell(known(100 * engine.plans().price()))});
    }
    report.table("memory",
                 "KB of packed weights and arena, and of an engine for each configuration; what it costs that plans "
                 "agree, %",
                 {"", "weights", "separate", "arena", "separate", "price"}, rows, true);
}

void report_contest(Report& report, Options const& options) {
    report.heading("Another process that comes and goes, on this machine");
    report.paragraph(ps::join(
        "A process computes on one core for one to three seconds and is away for one to three. Images follow each "
        "other for ",
        options.competing,
        " s. The budget is 1.4 times what the whole network takes alone. Late, % are "
        "all late images; not first those that are not the first after a change, of which 1 % is the goal. Fixed: the "
        "whole network on the first core, in half of the time."));
    std::vector<Row> rows;
    const auto add = [&](const char* name, Subject const& subject, std::vector<std::vector<std::size_t>> core_sets) {
        const ContestResult result =
            compete(subject, {.core_sets = std::move(core_sets), .budget = 1.4, .seconds = options.competing});
        rows.push_back({name, milliseconds(result.budget), Cell(known(static_cast<double>(result.images)), 0),
                        Cell(known(static_cast<double>(result.changes)), 0),
                        percent(static_cast<double>(result.late) / static_cast<double>(result.images)),
                        percent(1 - result.kept()), percent(result.share_alone, 1), percent(result.share_beside, 1),
                        Cell(known(static_cast<double>(result.switches)), 0), percent(result.fixed_late_share)});
        return result;
    };
    const Subject large = in_groups("ResNet-18", ps::resized(ps::zoo::ResNet18::graph(), {3, 448, 448}), 4);
    const ContestResult result = add("ResNet-18, one core", large, {{0}});
    add("ResNet-18, a choice of two cores", large, {{0}, {1}});
    add("table II, a choice of two cores", in_groups("table II", WholeAlexNet::graph(), 4), {{0}, {1}});
    report.table("contest", "Another process that comes and goes",
                 {"", "budget, ms", "images", "changes", "late, %", "not first, %", "groups alone, %",
                  "groups beside it, %", "switches", "fixed, late, %"},
                 rows, true);
    for (std::string const& limit : result.limits) report.paragraph(limit);
}

}  // namespace reproduce
