// Xun et al. 2019: table II's network in four groups, trained group by group on Fashion-MNIST, beside the same network
// trained at once, nested by channels and pruned; figures 2 to 4 and tables II and III.
#include "experiment.hpp"

#include <primsel/io/file.hpp>
#include <primsel/prune.hpp>
#include <primsel/show/chart.hpp>
#include <primsel/show/xml.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace reproduce {
namespace {

template <class... Parts>
std::string format(const char* pattern, Parts... parts) {
    char text[400];
    std::snprintf(text, sizeof(text), pattern, parts...);
    return text;
}

/// Prints lines and keeps them for the page.
class Report {
public:
    void head(std::string const& text) {
        std::printf("\n%s\n", text.c_str());
        html_ += ps::join("<h2>", ps::xml_text(text), "</h2>\n");
    }
    void line(std::string const& text) {
        std::printf("%s\n", text.c_str());
        html_ += ps::join("<pre>", ps::xml_text(text), "</pre>\n");
    }
    void charts(std::vector<ps::Chart> const& charts) { html_ += ps::to_svg(charts); }
    void write(std::string const& path) const {
        ps::write_file(path,
                       ps::join("<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>Xun et al. 2019</title>"
                                "<style>body{font-family:sans-serif;max-width:60em;margin:2em}pre{margin:0}"
                                "</style></head><body>\n",
                                html_, "</body></html>\n"));
    }

private:
    std::string html_;
};

Subject in_groups() {
    Subject subject{"groups", ps::grouped(WholeAlexNet::graph(), 4), {}, {}};
    subject.configurations = ps::configurations(subject.graph);
    subject.weights = ps::random_weights(subject.graph, 1);
    return subject;
}
Subject by_channels() {
    Subject subject{"channels", WholeAlexNet::graph(), {}, {}};
    subject.configurations = ps::nested(subject.graph, 4);
    subject.weights = ps::random_weights(subject.graph, 1);
    return subject;
}
/// A network that is trained at once and runs as it is.
Subject at_once(Subject of, std::string name) {
    of.name = std::move(name);
    return of;
}
Subject only_last(Subject of) {
    of.configurations.erase(of.configurations.begin(), of.configurations.end() - 1);
    return of;
}
/// A fifth of the filters less, of the layers that have any which may go.
Subject pruned(Subject const& whole) {
    const ps::Coupling coupling(whole.graph);
    ps::Choice choice;
    for (ps::Ranking const& ranking : ps::rank_filters(whole.graph, whole.weights, coupling, ps::L1Norm{})) {
        choice.merge(ps::choose(ranking, 0.2));
    }
    ps::Pruned thin = ps::prune(whole.graph, whole.weights, coupling, choice);
    Subject subject{"pruned", thin.graph, {}, thin.weights};
    subject.configurations.push_back(ps::configuration_of(thin.graph, thin.graph));
    return subject;
}

std::string name_of(std::size_t configuration, std::size_t count) {
    return format("%3zu %%", 100 * (configuration + 1) / count);
}

void report_accuracy(Report& report, Subject const& subject, std::vector<Judged> const& judged) {
    report.line(subject.name + ": accuracy, standard deviation, least and most of a class; total confidence (share)");
    for (std::size_t c = 0; c < judged.size(); ++c) {
        Judged const& each = judged[c];
        report.line(format("  %s  %6.2f %%  +- %5.2f  (%5.1f to %5.1f)   %8.1f (%.3f)",
                           name_of(c, judged.size()).c_str(), 100 * each.accuracy, 100 * each.spread, 100 * each.least,
                           100 * each.most, each.confidence, each.confidence / judged.back().confidence));
    }
}
void report_time(Report& report, std::string const& name, std::vector<double> const& seconds, const char* threads) {
    std::string text = format("  %-10s %s:", name.c_str(), threads);
    for (const double each : seconds) text += format("  %.3f ms", 1e3 * each);
    const double range = seconds.back() / seconds.front();
    report.line(text + format("   largest / smallest %.2f, (largest - smallest) / smallest %.2f, / largest %.2f", range,
                              range - 1, 1 - 1 / range));
}
ps::Series series(std::string name, std::vector<double> values) {
    ps::Series result{std::move(name), {}, std::move(values)};
    for (std::size_t i = 0; i < result.y.size(); ++i) {
        result.x.push_back(100 * static_cast<double>(i + 1) / static_cast<double>(result.y.size()));
    }
    return result;
}

void report_memory(Report& report, Subject const& subject) {
    const ps::DynamicEngine<> engine(subject.graph, subject.weights, subject.configurations);
    ps::DynamicMemory const& memory = engine.memory();
    const auto kilobytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e3; };
    report.line(
        format("  %-10s packed weights %.1f KB (engines of their own: %.1f), of them the dense layer %.1f; "
               "arena %.1f KB (%.1f)",
               subject.name.c_str(), kilobytes(memory.weights), kilobytes(memory.separate_weights),
               kilobytes(engine.weight_bytes("fc6")), kilobytes(memory.arena), kilobytes(memory.separate_arenas)));
    report.line(format("             plans agree at a price of %.2f %% (predicted: %.4f ms a run, %.4f ms apart); %s",
                       100 * engine.plans().price(), 1e3 * engine.plans().seconds,
                       1e3 * engine.plans().separate_seconds,
                       engine.plans().optimal ? "proven optimal" : "not proven"));
}

void run(Options const& options) {
    std::filesystem::create_directories(options.out);
    Subject groups = in_groups(), channels = by_channels();
    Subject once = only_last(at_once(groups, "once")), whole = only_last(at_once(channels, "whole"));
    if (!options.untrained) {
        train_incrementally(groups, options);
        once.configurations = groups.configurations;  // as many epochs as all steps
        train_at_once(once, options);
        once = only_last(once);
        if (options.compare) train_incrementally(channels, options), train_at_once(whole, options);
    }
    const Subject thin = pruned(whole);
    Report report;
    report.head("Xun et al. 2019, on Fashion-MNIST");
    report.line(format("epochs a step %lld, images %zu (0: all), seed %llu, learning rate %g, dense rate %g%s",
                       static_cast<long long>(options.epochs), options.images,
                       static_cast<unsigned long long>(options.seed), options.learning_rate, options.dense_rate,
                       options.untrained ? "; nothing is trained" : ""));
    const auto kilobytes = [](Subject const& subject) { return static_cast<double>(bytes_of(subject.weights)) / 1e3; };
    report.head("Table II: weights");
    report.line(
        format("  in groups %.1f KB of floats; the paper: %.1f KB. 5.0 KB of it may be a file's names and "
               "descriptions of layers.",
               kilobytes(groups), paper::kilobytes));
    report.line(format("  undivided %.1f KB, %.2f times as much; the paper: %.1f KB, 2.43 times", kilobytes(channels),
                       kilobytes(channels) / kilobytes(groups), paper::channel_wise_kilobytes));
    if (!options.untrained) {
        report.head("Figures 2 and 3: accuracy on the test images, and confidence");
        const std::vector<Judged> judged = judge(groups, options);
        report_accuracy(report, groups, judged);
        report_accuracy(report, once, judge(once, options));
        if (options.compare) {
            report_accuracy(report, channels, judge(channels, options));
            report_accuracy(report, whole, judge(whole, options));
            report_accuracy(report, thin, judge(thin, options));
        }
        std::vector<double> accuracy, confidence;
        for (Judged const& each : judged) {
            accuracy.push_back(100 * each.accuracy);
            confidence.push_back(each.confidence / judged.back().confidence);
        }
        report.charts({{"Figure 2: accuracy, %", "% of the groups", {series("here", accuracy)}},
                       {"Figure 3: confidence", "% of the groups", {series("here", confidence)}}});
    }
    report.head("Figure 4: time of an image");
    const Timed of_groups = time_of(groups, options), of_channels = time_of(channels, options);
    const Timed of_whole = time_of(whole, options), of_thin = time_of(thin, options);
    report_time(report, "groups", of_groups.one_thread, "1 thread ");
    report_time(report, "groups", of_groups.two_threads, "2 threads");
    report_time(report, "channels", of_channels.one_thread, "1 thread ");
    report_time(report, "channels", of_channels.two_threads, "2 threads");
    const std::vector<double> pruning{of_thin.one_thread[0], of_whole.one_thread[0]};
    report_time(report, "pruned", pruning, "1 thread ");
    const auto milliseconds = [](std::vector<double> values) {
        for (double& value : values) value *= 1e3;
        return values;
    };
    report.charts({{"Figure 4: milliseconds",
                    "% of the groups",
                    {series("groups, 1 thread", milliseconds(of_groups.one_thread)),
                     series("groups, 2 threads", milliseconds(of_groups.two_threads)),
                     series("channels, 1 thread", milliseconds(of_channels.one_thread))}}});
    report.head("Table III: recoverable at run time, range of time, weights");
    const double range = of_groups.one_thread.back() / of_groups.one_thread.front();
    const double nested_range = of_channels.one_thread.back() / of_channels.one_thread.front();
    const double thin_range = pruning[1] / pruning[0];
    report.line(
        format("  pruned    20 %%   %5.2f  (- 1: %.2f)  %7.1f KB", thin_range, thin_range - 1, kilobytes(thin)));
    report.line(format("  channels  75 %%   %5.2f  (- 1: %.2f)  %7.1f KB", nested_range, nested_range - 1,
                       kilobytes(channels)));
    report.line(format("  groups    75 %%   %5.2f  (- 1: %.2f)  %7.1f KB", range, range - 1, kilobytes(groups)));
    for (paper::Row const& row : paper::table3) {
        report.line(ps::join("  the paper: ", row.name, ", ", row.recoverable, ", ", row.range, " times, ",
                             row.kilobytes, " KB"));
    }
    report.line("  pruned are conv3 to conv5: channels beside each other in a local response normalisation must stay.");
    report.head("Changing the configuration, and memory");
    const Switching switching = switching_of(groups, 1'000'000);
    report.line(format("  use(): median %.0f ns, worst of 10^6 %.0f ns; the 100 %% run after it %.1f us, again %.1f us",
                       switching.median, switching.worst, switching.first_run / 1e3, switching.later_run / 1e3));
    report_memory(report, groups);
    report_memory(report, channels);
    report.write(options.out + "/index.html");
}

}  // namespace
}  // namespace reproduce

int main(int argc, char** argv) {
    reproduce::Options options;
    CLI::App app("Figures 2 to 4 and tables II and III of Xun et al. 2019", "reproduce_xun2019");
    app.add_option("--data", options.data, "The folder of Fashion-MNIST's files");
    app.add_option("--out", options.out, "Where the report and the trained weights go; trainings go on from there");
    app.add_option("--epochs", options.epochs, "Of each step (default 2)");
    app.add_option("--images", options.images, "To train with (default: all)");
    app.add_option("--test-images", options.test_images, "To judge by (default: all)");
    app.add_option("--learning-rate", options.learning_rate, "(default 0.01)");
    app.add_option("--dense-rate", options.dense_rate,
                   "How much slower the dense layer learns each step (default 0.5)");
    app.add_option("--target", options.target, "By how much each step is to raise the accuracy (default 0)");
    app.add_option("--attempts", options.attempts, "Of a step, at most (default 2)");
    app.add_option("--runs", options.runs, "Timed of each configuration (default 200)");
    app.add_option("--seed", options.seed, "(default 1)");
    app.add_flag("--untrained", options.untrained, "Times and sizes alone");
    app.add_flag("--compare", options.compare, "Train the networks of the comparison, too");
    CLI11_PARSE(app, argc, argv);
    try {
        reproduce::run(options);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "reproduce_xun2019: %s\n", error.what());
        return 1;
    }
    return 0;
}
