#pragma once

#include <primsel/core/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure::detail {

/// Whether the median of what these were drawn from is known to that share of itself, at a confidence of about 95 %:
/// it lies between two order statistics, whose ranks the binomial distribution gives.
[[nodiscard]] inline bool median_known(std::vector<double> values, double share) {
    const auto n = static_cast<double>(values.size());
    if (values.size() < 5) return false;
    std::ranges::sort(values);
    const auto rank = static_cast<std::size_t>(std::max(0.0, n / 2 - 0.98 * std::sqrt(n)));
    const double low = values[rank], high = values[values.size() - 1 - rank];
    return high - low <= 2 * share * values[values.size() / 2];
}

struct QuietOptions {
    std::size_t runs = 25;
    double accuracy = 0.01;
    /// Time for a subject, waiting and what stands between its runs included.
    double seconds = 0.3;
    /// The part of that which may be spent waiting for the machine to become quiet.
    double patience = 0.1;
    /// One run is enough for what takes longer.
    double long_run = 1.0;
    /// Candidates this many times slower than the best so far get few runs.
    double hopeless = 10;
    std::size_t hopeless_runs = 3;
    /// Several calls that are shorter count as one run.
    double shortest = 20e-6;
    std::size_t most_calls = 32;
    /// Runs of less than this between two references.
    double group = 100e-6;
    /// Seconds between two references within a longer run.
    double between_references = 300e-6;
    /// How far references may be from their nominal time.
    double tolerance = 0.05;
};

/// The median seconds of `runs` runs, of which `quiet` were quiet.
struct Timing {
    double seconds = 0;
    std::size_t runs = 0, quiet = 0;
};

/// Times what runs on a machine whose speed changes from one millisecond to the next, as that of a processor that it
/// shares with others does. References tell how fast it is: the same work before and after each group of runs and, in
/// long ones, between their blocks. A run's time counts divided by how much slower than nominal its references were on
/// average. Runs that were at nearly the nominal speed, and from which the system did not take the processor away, are
/// quiet; others are taken again, and count only where there are too few.
///
/// A Clock has now() and spent(), seconds by the wall and of this thread alone, and interruptions(), how often the
/// system took the processor away. A Reference is a callable that does the same work every time.
template <class Clock, class Reference>
class QuietTimer {
public:
    QuietTimer(QuietOptions const& options, Clock clock, Reference reference)
        : options_(options), clock_(std::move(clock)), reference_(std::move(reference)) {}

    /// Takes as the reference's nominal time the 10th percentile of its times for so many seconds, each after `busy()`:
    /// a machine may be slow most of that time, but is not throughout.
    template <class Busy>
    void learn(double seconds, Busy const& busy) {
        std::vector<double> all;
        const double end = clock_.now() + seconds;
        do {
            busy();
            all.push_back(measure_reference());
        } while (clock_.now() < end);
        const auto fast = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 10);
        std::ranges::nth_element(all, fast);
        nominal_ = *fast;
    }
    /// The nominal seconds of the reference.
    [[nodiscard]] double nominal() const { return nominal_; }
    void set_nominal(double seconds) { nominal_ = seconds; }
    /// All runs so far.
    [[nodiscard]] std::size_t runs() const { return runs_; }
    [[nodiscard]] std::size_t quiet_runs() const { return quiet_runs_; }

    /// Times `run(calls)`, which does the same so many times, at most `copies` of them; before each run, and not timed,
    /// comes `prepare(calls)`. `best` is the best rival's time so far. Only after learn() or set_nominal().
    template <class Run, class Prepare>
    Timing time(Run&& run, Prepare&& prepare, double best, std::size_t copies) {
        const double start = clock_.now();
        Group group;
        const double once = warm_up(run, prepare, group);
        std::vector<double> quiet, noisy;
        const auto keep = [&] {
            auto& to = group.quiet ? quiet : noisy;
            to.insert(to.end(), group.seconds.begin(), group.seconds.end());
        };
        if (once > options_.long_run) {
            keep();
            return conclude(std::move(quiet), noisy, 1);
        }
        const auto calls = static_cast<std::size_t>(
            std::clamp(std::ceil(options_.shortest / std::max(once, 1e-9)), 1.0,
                       static_cast<double>(std::max<std::size_t>(1, std::min(copies, options_.most_calls)))));
        const std::size_t wanted = once > options_.hopeless * best ? options_.hopeless_runs : options_.runs;
        const double expected = once * static_cast<double>(calls);
        const auto at_once = static_cast<std::size_t>(std::clamp(options_.group / std::max(expected, 1e-9), 1.0, 5.0));
        double waited = 0;
        for (std::size_t taken = 0; quiet.size() < wanted && taken < 2 * wanted; taken += group.seconds.size()) {
            const double spent = clock_.now() - start;
            if (taken > 0 && spent + expected > options_.seconds) break;
            if (median_known(quiet, options_.accuracy)) break;
            waited += wait_until_quiet(std::min(options_.patience - waited, options_.seconds - spent));
            take(run, prepare, calls, std::min(at_once, wanted - quiet.size()), group);
            keep();
        }
        return conclude(std::move(quiet), noisy, std::min<std::size_t>(3, wanted));
    }

    /// A timed run may call this between its blocks, outside of its own loops. It times the reference now and then,
    /// which does not count.
    void between_blocks() {
        // Blocks may be as short as reading the clock.
        if (!running_ || ++blocks_ < blocks_between_) return;
        blocks_ = 0;
        const double now = clock_.now();
        blocks_between_ =
            now - last_check_ < options_.group ? 2 * blocks_between_ : std::max<std::size_t>(1, blocks_between_ / 2);
        last_check_ = now;
        if (now - last_end_ < options_.between_references) return;
        add_reference(measure_reference());
        last_check_ = clock_.now();
        inside_ += last_check_ - now;
    }

private:
    struct Group {
        /// At the nominal speed.
        std::vector<double> seconds;
        bool quiet = false;
    };

    /// Times the reference. A slow one may have been interrupted: it is repeated, and the faster counts.
    double measure_reference() {
        last_ = run_reference();
        if (nominal_ > 0 && !is_quiet(last_)) last_ = std::min(last_, run_reference());
        return last_;
    }
    double run_reference() {
        const double start = clock_.now();
        reference_();
        last_end_ = clock_.now();
        return last_end_ - start;
    }
    /// One that was itself interrupted says nothing of the speed.
    void add_reference(double seconds) {
        references_ += std::min(seconds, 2 * nominal_);
        ++reference_count_;
    }
    [[nodiscard]] bool is_quiet(double reference) const {
        return std::abs(reference - nominal_) <= options_.tolerance * nominal_;
    }

    /// Repeats the reference until it is quiet or `patience` seconds have passed. Returns the seconds spent.
    double wait_until_quiet(double patience) {
        const double start = clock_.now();
        while (!is_quiet(last_) && clock_.now() - start < patience) measure_reference();
        return clock_.now() - start;
    }

    /// Takes `runs` runs between two references. Seconds are for one call.
    template <class Run, class Prepare>
    void take(Run& run, Prepare& prepare, std::size_t calls, std::size_t runs, Group& group) {
        group.seconds.clear();
        prepare(calls);
        const auto interruptions = clock_.interruptions();
        references_ = 0;
        reference_count_ = 0;
        // The one that ended the last group is as good, if that was just now.
        add_reference(clock_.now() - last_end_ > options_.group ? measure_reference() : last_);
        for (std::size_t i = 0; i < runs; ++i) {
            if (i > 0) prepare(calls);
            group.seconds.push_back(time_once(run, calls) / static_cast<double>(calls));
        }
        add_reference(measure_reference());
        const double reference = references_ / static_cast<double>(reference_count_);
        group.quiet = clock_.interruptions() == interruptions && is_quiet(reference);
        for (double& seconds : group.seconds) seconds *= nominal_ / reference;
        runs_ += runs;
        if (group.quiet) quiet_runs_ += runs;
    }
    template <class Run>
    double time_once(Run& run, std::size_t calls) {
        const auto interruptions = clock_.interruptions();
        const double spent = clock_.spent();
        running_ = true;
        inside_ = 0;
        const double start = clock_.now();
        last_check_ = start;
        run(calls);
        const double seconds = clock_.now() - start;
        running_ = false;
        // While others had the processor this thread spent nothing; what they left in the caches still counts.
        const bool interrupted = clock_.interruptions() != interruptions;
        return (interrupted ? std::min(seconds, clock_.spent() - spent) : seconds) - inside_;
    }

    /// Runs until code and data are where they stay, once for what is long; seconds of one call.
    template <class Run, class Prepare>
    double warm_up(Run& run, Prepare& prepare, Group& group) {
        take(run, prepare, 1, 1, group);
        if (group.seconds[0] < 1e-3) take(run, prepare, 1, 1, group);
        return group.seconds[0];
    }

    static Timing conclude(std::vector<double> quiet, std::vector<double> const& noisy, std::size_t enough) {
        Timing timing{.seconds = 0, .runs = quiet.size() + noisy.size(), .quiet = quiet.size()};
        if (quiet.size() < enough) quiet.insert(quiet.end(), noisy.begin(), noisy.end());
        timing.seconds = quantile(std::move(quiet), 0.5);
        return timing;
    }

    QuietOptions options_;
    Clock clock_;
    Reference reference_;
    double nominal_ = 0, last_ = 0, last_end_ = -1;
    std::size_t runs_ = 0, quiet_runs_ = 0;
    /// References of the group that is being timed.
    double references_ = 0;
    std::size_t reference_count_ = 0;
    /// For the run that is being timed: seconds of references within it, and when to look at the clock again.
    bool running_ = false;
    double inside_ = 0, last_check_ = 0;
    std::size_t blocks_ = 0, blocks_between_ = 1;
};

}  // namespace primsel::inline PRIMSEL_ABI::measure::detail
