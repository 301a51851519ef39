#include "reproduce.hpp"

#include "experiments.hpp"
#include "figures.hpp"
#include "journal.hpp"

#include <progress.hpp>
#include <text.hpp>

#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/io/file.hpp>
#include <primsel/version.hpp>

#include <Eigen/Core>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace reproduce {
namespace {

using cli::duration;
using cli::print;

/// The report as far as it is: someone who waits can look.
class Output {
public:
    Output(World const& world, Effort const& effort, Journal const& journal, std::string folder)
        : world_(world), effort_(effort), journal_(journal), folder_(std::move(folder)) {}

    [[nodiscard]] std::string page() const { return folder_ + "/index.html"; }
    [[nodiscard]] std::string numbers() const { return folder_ + "/results.json"; }

    Report write(std::size_t done, std::size_t total) const {
        Report report = compose(world_, effort_, journal_);
        report.heading("How it was made");
        report.paragraph(
            ps::join("primsel ", ps::version, ", seed ", effort_.seed, ", data ", world_.fingerprint, ": ", done,
                     " of ", total, " experiments, ", duration(journal_.seconds()),
                     " of one core each. The command: reproduce_mulder2020 --data DIR",
                     world_.published ? "" : ps::join(" --machines ", world_.source.name, ',', world_.target.name),
                     effort_.quick ? " --quick" : "", " --seed ", effort_.seed, "."));
        ps::write_file(page(),
                       report.html(effort_.quick ? "Mulder et al. 2020 again (quick)" : "Mulder et al. 2020 again"));
        ps::write_json(numbers(), ps::Json::Object{{"format", "primsel report of mulder2020"},
                                                   {"version", ps::version},
                                                   {"quick", effort_.quick},
                                                   {"seed", effort_.seed},
                                                   {"data", world_.fingerprint},
                                                   {"complete", done == total},
                                                   {"experiments", ps::Json::Object{{"done", done}, {"total", total}}},
                                                   {"left_out", report.notes()},
                                                   {"tables", report.tables()}});
        return report;
    }

private:
    World const& world_;
    Effort effort_;
    Journal const& journal_;
    std::string folder_;
};

/// Runs experiments one after another, on each of the threads.
class Schedule {
public:
    /// Those whose name has `only`.
    Schedule(std::vector<Experiment> list, std::string_view only, Journal& journal, Output const& output)
        : journal_(journal), output_(output), total_(list.size()) {
        bool found = false;
        for (Experiment& one : list) {
            const bool asked = one.name.find(only) != std::string::npos;
            found |= asked;
            if (journal.find(one.name)) {
                ++done_;
            } else if (asked) {
                left_seconds_ += one.seconds;
                open_.push_back(std::move(one));
            }
        }
        if (!found) ps::fail("--only ", only, ": no experiment has that in its name");
    }

    /// Throws what an experiment throws, once those that run have ended.
    void run(std::size_t threads) {
        threads = std::max<std::size_t>(std::min(threads, open_.size()), 1);
        ps::ThreadPool pool(threads);
        pool.parallel_for(threads, [&](std::size_t, std::size_t) { work(); });
        if (fault_) std::rethrow_exception(fault_);
    }
    [[nodiscard]] std::size_t done() const { return done_; }
    [[nodiscard]] std::size_t total() const { return total_; }

private:
    void work() noexcept {
        for (;;) {
            Experiment const* experiment = nullptr;
            {
                const std::lock_guard lock(mutex_);
                if (fault_ || next_ == open_.size()) return;
                experiment = &open_[next_++];
                line_.show(ps::join(done_, " of ", total_, " experiments", left(), "; now ", experiment->name));
            }
            try {
                const ps::Timer timer;
                ps::Json value = experiment->run();
                journal_.add(experiment->name, timer.seconds(), std::move(value));
                const std::lock_guard lock(mutex_);
                ++done_;
                done_seconds_ += experiment->seconds;
                left_seconds_ -= experiment->seconds;
                if (since_report_.seconds() < 120) continue;
                output_.write(done_, total_);
                since_report_.restart();
            } catch (...) {
                const std::lock_guard lock(mutex_);
                if (!fault_) fault_ = std::current_exception();
            }
        }
    }
    /// Once something has been done here, by how long that took compared with what it typically does.
    [[nodiscard]] std::string left() const {
        return done_seconds_ > 0 ? ps::join(", ", duration(timer_.seconds() / done_seconds_ * left_seconds_), " left")
                                 : "";
    }

    Journal& journal_;
    Output const& output_;
    std::vector<Experiment> open_;
    std::size_t total_, done_ = 0, next_ = 0;
    double left_seconds_ = 0, done_seconds_ = 0;
    ps::Timer timer_, since_report_;
    cli::ProgressLine line_;
    std::exception_ptr fault_;
    std::mutex mutex_;
};

}  // namespace

void run(Options const& options) {
    Eigen::setNbThreads(1);  // experiments run beside each other; within one, sums keep their order
    const World world(options.data, options.machines);
    const Effort effort{.quick = options.quick, .seed = options.seed};
    if (::mkdir(options.out.c_str(), 0777) != 0 && errno != EEXIST) {
        ps::fail(options.out, ": cannot make the folder: ", std::strerror(errno));
    }
    Journal journal(options.out + "/results.jsonl", ps::join("primsel ", ps::version, effort.quick ? ", quick" : "",
                                                             ", seed ", effort.seed, ", data ", world.fingerprint));
    const Output output(world, effort, journal, options.out);
    std::size_t done = 0, total = 0;
    {
        Schedule schedule(list_experiments(world, effort), options.only, journal, output);
        schedule.run(options.threads);
        done = schedule.done();
        total = schedule.total();
    }
    const Report report = output.write(done, total);
    if (options.json) {
        return cli::print_json(ps::Json::Object{{"report", output.page()},
                                                {"quick", effort.quick},
                                                {"experiments", done},
                                                {"seconds", journal.seconds()},
                                                {"left_out", report.notes()},
                                                {"tables", report.tables()}});
    }
    if (effort.quick) print("QUICK: rough models from a third of the data; no reproduction\n\n");
    print(report.summary());
    cli::print_line(output.page(), " and ", output.numbers(), ": ", done, " of ", total, " experiments, ",
                    duration(journal.seconds()));
}

}  // namespace reproduce
