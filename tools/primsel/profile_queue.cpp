// A profile that several machines of one kind measure.
#include "profiling.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/simd.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/search/run_profile.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace cli {
namespace {

std::string text_about(std::map<std::string, std::string> const& about, std::string const& key) {
    const auto found = about.find(key);
    return found == about.end() ? std::string("not known") : found->second;
}

/// That a file's times are of, as its first lines say.
ps::search::ProfiledMachine machine_of(std::string const& path, std::map<std::string, std::string> const& about,
                                       double reference_ns) {
    return {.arch = text_about(about, "arch"),
            .cpu = text_about(about, "cpu"),
            .compiler = text_about(about, "compiler"),
            .version = text_about(about, "version"),
            .lanes = ps::lanes<ps::default_arch>,
            .reference_seconds = reference_ns * 1e-9,
            .peak_flops = ps::learn::machine_about(path, about).fma_flops};
}

std::string text_of(ps::search::ProfileProgress const& progress) {
    std::string text =
        ps::join("profile: ", progress.done, " of ", progress.total, " rows by ", progress.workers.size(), " workers");
    if (progress.refused > 0) text += ps::join(", ", progress.refused, " refused: ", ps::printable(progress.refusal));
    if (std::isfinite(progress.seconds_left)) text += "; " + duration(progress.seconds_left) + " left";
    return text;
}

}  // namespace

std::set<std::string> hand_out(ProfilingOptions const& options, std::vector<ProfilingTable>& tables, bool (*stop)()) {
    std::vector<std::unique_ptr<ps::learn::DatasetFile>> files;
    std::vector<ps::search::ProfileTarget> targets;
    std::vector<std::size_t> before;
    ps::search::ProfileWork work{.machine = {},
                                 .tolerance = options.tolerance,
                                 .images = options.measuring.images,
                                 .training = options.training};
    for (ProfilingTable const& table : tables) {
        ps::learn::DatasetFile& file =
            *files.emplace_back(std::make_unique<ps::learn::DatasetFile>(table.path, table.header));
        const double reference_ns = reference_ns_of(table.path, file, options);
        targets.push_back({.name = table.what, .file = &file, .rows = table.rows});
        before.push_back(file.data().rows());
        work.tables.push_back({.name = table.what,
                               .inputs = table.header.inputs,
                               .subjects = table.header.subjects,
                               .reference_seconds = reference_ns * 1e-9});
        work.machine = machine_of(table.path, file.data().about, reference_ns);
    }
    ps::search::ProfileRun run(std::move(targets));
    work.sample = run.sample();
    RemoteQueue queue(options.queue, options.queue_name, options.lease);
    if (const std::string about = ps::search::line_of(work); queue.keep_about(about) != about) {
        ps::fail(queue.url(), ": other work, or this profile with other options, is handed out under the name ",
                 options.queue_name, "; use another --queue-name");
    }
    queue.keep_lease(options.lease);
    ProgressLine line;
    const auto report = [&](ps::search::ProfileRun const& so_far) { line.show(text_of(so_far.progress())); };
    ps::search::drive(run, queue, {.ahead = options.ahead, .wait_seconds = 1}, report, stop);
    for (std::size_t i = 0; i < tables.size(); ++i) {
        ps::learn::DatasetFile const& file = *files[i];
        tables[i].done = static_cast<std::size_t>(
            std::ranges::count_if(tables[i].rows, [&](auto const& row) { return file.contains(row); }));
        tables[i].now = file.data().rows() - before[i];
    }
    return run.progress().workers;
}

bool is_profile(std::string const& about) {
    return ps::parse_json("the queue's work", about).find("profile").has_value();
}

std::size_t work_on_profile(std::string const& about, RemoteQueue& queue, ps::search::WorkOptions const& options,
                            int cpu) {
    const ps::search::ProfileWork work = ps::search::parse_profile_work("the queue's profile", about);
    std::vector<std::string> names;
    for (ps::search::ProfiledTable const& table : work.tables) {
        if (table.inputs == ps::learn::ConvConfiguration::inputs()) names = table.subjects;
    }
    Profiling profiling(chosen_primitives(work.training, names),
                        {.cpu = cpu, .learn_seconds = 2, .images = work.images});
    const auto here_about = profiling.about();
    ps::search::ProfiledMachine here = machine_of("this machine", here_about, profiling.profiler().nominal() * 1e9);
    std::string difference = ps::search::difference(work.machine, here, work.tolerance);
    // A neighbour slows multiply-adds, and none makes them faster.
    for (int i = 0; i < 100 && !difference.empty(); ++i) {
        here.peak_flops = std::max(here.peak_flops, ps::measured_peak<ps::default_arch>());
        difference = ps::search::difference(work.machine, here, work.tolerance);
    }
    if (!difference.empty()) ps::fail("this machine cannot take part in the profile: ", difference);
    for (ps::search::ProfiledTable const& table : work.tables) {
        const bool of_layouts = table.inputs == ps::learn::TensorConfiguration::inputs();
        if (table.subjects != (of_layouts ? profiling.profiler().layout_pairs() : profiling.profiler().primitives())) {
            ps::fail("this program cannot take part in the profile: the columns of its ", table.name, " are others");
        }
    }
    const auto measure = [&](ps::search::ProfiledTable const& table, std::vector<int> const& row) {
        profiling.profiler().set_nominal(table.reference_seconds);
        return profiling.measure(row);
    };
    return ps::search::work(work, queue, options, measure, [] { return false; });
}

}  // namespace cli
