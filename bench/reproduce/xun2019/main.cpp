// Xun et al. 2019: table II's network in four groups, trained group by group on Fashion-MNIST, beside the same network
// trained at once, nested by channels and pruned; figures 2 to 5, tables II and III, and a governor at work.
#include "governor/budget.hpp"
#include "governor/days.hpp"
#include "sections.hpp"

#include <primsel/io/file.hpp>
#include <primsel/io/json.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace reproduce {
namespace {

Subject table_2(std::string name) { return in_groups(std::move(name), table_2_graph(), 4); }

/// The options of the comparison of table III: fewer images and epochs, in files of their own. The rate is lower,
/// because undivided layers, which sum up four times as many channels, diverge at the rate of the groups.
Options small(Options options) {
    options.images = 18000;
    options.learning_rate /= 4;
    options.epochs = 1, options.epochs_at_once = 2;
    options.width = 64, options.pixels = 32;
    return options;
}

/// One network, so that several processes can share the work.
void train_only(Options const& options) {
    const Options few = small(options);
    if (options.only == "groups" || options.only == "once") {
        Subject subject = in_groups(options.only, table_2_graph(options.width, options.pixels), 4,
                                    static_cast<std::uint32_t>(options.seed));
        return options.only == "once" ? train_at_once(subject, options) : train_incrementally(subject, options);
    }
    Subject small_groups = table_2("small-groups"), channels = by_channels("channels"), whole = by_channels("whole");
    if (options.only == small_groups.name) train_incrementally(small_groups, few);
    if (options.only == channels.name) train_incrementally(channels, few);
    if (options.only == whole.name) train_at_once(whole, few);
}

Trained train(Options options, std::uint64_t seed) {
    options.seed = seed;
    const auto subject = [&](const char* name) {
        return in_groups(name, table_2_graph(options.width, options.pixels), 4, static_cast<std::uint32_t>(seed));
    };
    Trained trained{subject("groups"), subject("once"), {}, {}};
    train_incrementally(trained.groups, options);
    train_at_once(trained.once, options);
    trained.once = only_last(trained.once);
    trained.of_groups = judge(trained.groups, options), trained.of_once = judge(trained.once, options);
    trained.groups.name = ps::join("seed ", seed);
    return trained;
}

Compared compare(Options const& options) {
    const Subject whole = by_channels("whole");
    Compared all{table_2("small-groups"), by_channels("channels"), whole, whole, whole, {}, {}, {}, {}};
    if (options.compare) {
        train_incrementally(all.groups, options);
        train_incrementally(all.channels, options);
        train_at_once(all.whole, options);
    }
    all.whole = only_last(all.whole);
    all.thin = pruned(all.whole, 0.2), all.thinner = pruned(all.whole, 0.25);
    if (options.compare) {
        all.of_groups = judge(all.groups, options), all.of_channels = judge(all.channels, options);
        all.of_whole = judge(all.whole, options), all.of_thin = judge(all.thin, options);
    }
    return all;
}

void report_accuracy(Report& report, Options const& options) {
    std::vector<Trained> trained;
    for (const std::uint64_t seed : options.seeds) trained.push_back(train(options, seed));
    report_figures_2_and_3(report, trained, options);
}

void write(Report const& report, Options const& options) {
    std::fputs(report.summary().c_str(), stdout);
    ps::write_file(options.out + "/index.html", report.html("Xun et al. 2019, again"));
    ps::write_json(options.out + "/results.json",
                   ps::Json::Object{{"format", "primsel report of xun2019"}, {"tables", report.tables()}});
}

void run(Options const& options) {
    std::filesystem::create_directories(options.out);
    Report report;
    if (options.only == "figures") {
        report_accuracy(report, options);
        return write(report, options);
    }
    if (!options.only.empty()) return train_only(options);
    report.paragraph(
        "Xun et al. 2019, \"Incremental training and group convolution pruning for runtime DNN performance scaling on "
        "heterogeneous embedded platforms\". Times are of this machine, medians of runs in turns.");
    const Subject groups = table_2("groups"), channels = by_channels("channels");
    report_table_2(report, groups, channels);
    if (!options.untrained) report_accuracy(report, options);
    const Timed timed = time_of(groups, options.runs);
    report_figure_4(report, timed, time_of(channels, options.runs));
    const Options few = small(options);
    report_table_3(report, compare(few), timed, few);
    report_forms(report, options);
    // 71.2 % is table I's; figure 2's others are not in the text: these are assumed.
    const std::vector<double> accuracies{0.66, 0.69, 0.70, 0.712};
    xun2019::report_figure_5(report, accuracies);
    xun2019::report_budget(report, accuracies);
    xun2019::report_days(report, accuracies);
    if (options.competing > 0) report_contest(report, options);
    report_switching(report, groups, channels);
    write(report, options);
}

}  // namespace
}  // namespace reproduce

int main(int argc, char** argv) {
    reproduce::Options options;
    CLI::App app("Figures 2 to 5 and tables II and III of Xun et al. 2019", "reproduce_xun2019");
    app.add_option("--data", options.data, "The folder of Fashion-MNIST's files");
    app.add_option("--cifar", options.cifar,
                   "The folder of CIFAR-10's binary version (data_batch_1.bin to 5, test_batch.bin), to train with "
                   "instead");
    app.add_option("--out", options.out, "Where the report and the trained weights go; trainings go on from there");
    app.add_option("--epochs", options.epochs, "Of each step (default 2)");
    app.add_option("--epochs-at-once", options.epochs_at_once,
                   "Of networks that are trained at once (default 3; 0: as many as all steps have together)");
    app.add_option("--images", options.images, "To train with (default: all)");
    app.add_option("--test-images", options.test_images, "To judge by (default: all)");
    app.add_option("--learning-rate", options.learning_rate, "(default 0.02)");
    app.add_option("--dense-rate", options.dense_rate,
                   "How much slower the dense layer learns each step (default 0.5)");
    app.add_option("--target", options.target, "By how much each step is to raise the accuracy (default 0)");
    app.add_option("--attempts", options.attempts, "Of a step, at most (default 2)");
    app.add_option("--runs", options.runs, "Timed of each configuration (default 200)");
    app.add_option("--seeds", options.seeds, "Of trainings (default 1,2,3)")->delimiter(',');
    app.add_option("--seed", options.seed, "Of --only and of table III (default 1)");
    app.add_option("--competing", options.competing,
                   "Seconds beside another process, three times over (default 30; 0: none)");
    app.add_flag("--untrained", options.untrained, "Times, sizes and the governor alone");
    app.add_flag("--compare", options.compare, "Train the networks of table III, too, by fewer images");
    app.add_option("--width", options.width, "Channels of each convolution in figures 2 and 3 (default 64)")
        ->check(CLI::IsMember({16, 32, 64}));
    app.add_option("--pixels", options.pixels,
                   "Rows and columns of their images: 32 (default), or 16 by means of 2 x 2 pixels")
        ->check(CLI::IsMember({16, 32}));
    app.add_option("--only", options.only, "Train this network alone and end; figures: figures 2 and 3 alone")
        ->check(CLI::IsMember({"groups", "once", "small-groups", "channels", "whole", "figures"}));
    CLI11_PARSE(app, argc, argv);
    try {
        reproduce::run(options);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "reproduce_xun2019: %s\n", error.what());
        return 1;
    }
    return 0;
}
