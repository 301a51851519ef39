#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// How often something took how long, in steps of 1/4 %: from 0.1 us to 1 s.
class DurationHistogram {
public:
    void add(double seconds) {
        const double step = std::log(std::max(seconds, 1e-7) / 1e-7) * steps_per_log;
        ++counts_[std::min(static_cast<std::size_t>(step), counts_.size() - 1)];
        ++count_;
    }
    /// The upper end of the step in which that share of them lies; 0 for none.
    [[nodiscard]] double quantile(double share) const {
        const auto wanted = static_cast<std::size_t>(share * static_cast<double>(count_));
        std::size_t below = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            below += counts_[i];
            if (below > wanted) return 1e-7 * std::exp(static_cast<double>(i + 1) / steps_per_log);
        }
        return 0;
    }
    [[nodiscard]] std::size_t count() const { return count_; }

private:
    static constexpr double steps_per_log = 400;
    std::vector<std::size_t> counts_ = std::vector<std::size_t>(6448);
    std::size_t count_ = 0;
};

[[nodiscard]] inline double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 != 0) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

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
    /// Of that, at most so much is spent waiting for the machine to become quiet.
    double patience = 0.1;
    /// One run is enough for what takes longer.
    double long_run = 1.0;
    /// What is so many times slower than the best so far gets few runs.
    double hopeless = 10;
    std::size_t hopeless_runs = 3;
    /// Several calls that are shorter count as one run.
    double shortest = 20e-6;
    std::size_t most_calls = 32;
    /// Runs of less than this between two references.
    double group = 100e-6;
    /// How far a reference may be above its nominal time.
    double tolerance = 0.05;
};

/// The median of so many runs, of which so many were quiet.
struct Timing {
    double seconds = 0;
    std::size_t runs = 0, quiet = 0;
};

/// Times what runs while others disturb it. Before and after a group of runs a reference tells how fast the machine is
/// at the moment; its nominal time is the 5th percentile of all that it ever took. Runs between two references that are
/// both near it, without the system having taken the processor away, are quiet; others are taken again, and where too
/// few are quiet each counts divided by how much slower its references were.
///
/// A Clock has now() and spent(), seconds by the wall and of this thread alone, and interruptions(), how often the
/// system took the processor away. A Reference is a callable that takes the same work every time.
template <class Clock, class Reference>
class QuietTimer {
public:
    QuietTimer(QuietOptions const& options, Clock clock, Reference reference)
        : options_(options), clock_(std::move(clock)), reference_(std::move(reference)) {}

    /// Learns the reference's nominal time.
    void learn(double seconds) {
        const double end = clock_.now() + seconds;
        do measure_reference();
        while (clock_.now() < end);
        nominal_ = history_.quantile(0.05);
    }
    /// Of the reference. Zero before it has been learned.
    [[nodiscard]] double nominal() const { return nominal_; }
    /// A nominal time from elsewhere, which counts unless a shorter one is seen.
    void know_nominal(double seconds) {
        bound_ = seconds;
        update_nominal();
    }
    /// All runs so far.
    [[nodiscard]] std::size_t runs() const { return runs_; }
    [[nodiscard]] std::size_t quiet_runs() const { return quiet_runs_; }

    /// Times `run(calls)`, which does the same so many times, at most `copies` of them; before each run, and not timed,
    /// comes `prepare(calls)`. `best` is the best rival's time so far.
    template <class Run, class Prepare>
    Timing time(Run&& run, Prepare&& prepare, double best, std::size_t copies) {
        update_nominal();
        const double start = clock_.now();
        Group group;
        double expected = warm_up(run, prepare, group);
        std::vector<double> quiet, corrected;
        if (expected > options_.long_run) return conclude(group.quiet ? group.seconds : quiet, group.corrected, 1);
        const std::size_t calls = std::clamp<std::size_t>(
            expected > 0 ? static_cast<std::size_t>(std::min(std::ceil(options_.shortest / expected), 1e6)) : 1, 1,
            std::max<std::size_t>(1, std::min(copies, options_.most_calls)));
        expected *= static_cast<double>(calls);
        const std::size_t wanted =
            expected / static_cast<double>(calls) > options_.hopeless * best ? options_.hopeless_runs : options_.runs;
        const auto at_once = static_cast<std::size_t>(std::clamp(options_.group / std::max(expected, 1e-9), 1.0, 5.0));
        double waited = 0;
        for (std::size_t taken = 0; quiet.size() < wanted && taken < 2 * wanted; taken += group.seconds.size()) {
            const double spent = clock_.now() - start;
            if (taken > 0 && spent > options_.seconds) break;
            if (median_known(quiet, options_.accuracy)) break;
            waited += wait_until_quiet(std::min(options_.patience - waited, options_.seconds - spent));
            take(run, prepare, calls, std::min(at_once, wanted - quiet.size()), group);
            auto& to = group.quiet ? quiet : corrected;
            auto const& from = group.quiet ? group.seconds : group.corrected;
            to.insert(to.end(), from.begin(), from.end());
        }
        return conclude(std::move(quiet), corrected, std::min<std::size_t>(3, wanted));
    }

private:
    struct Group {
        std::vector<double> seconds, corrected;
        bool quiet = false;
    };

    double measure_reference() {
        const double start = clock_.now();
        reference_();
        last_end_ = clock_.now();
        last_ = last_end_ - start;
        history_.add(last_);
        return last_;
    }
    void update_nominal() {
        if (history_.count() == 0) measure_reference();
        nominal_ = history_.quantile(0.05);
        if (bound_ > 0) nominal_ = std::min(nominal_, bound_);
    }
    [[nodiscard]] bool is_quiet(double reference) const { return reference <= nominal_ * (1 + options_.tolerance); }

    /// Seconds that it took; at once when the last reference was quiet.
    double wait_until_quiet(double patience) {
        const double start = clock_.now();
        while (!is_quiet(last_) && clock_.now() - start < patience) measure_reference();
        return clock_.now() - start;
    }

    /// So many runs between two references. Seconds are for one call.
    template <class Run, class Prepare>
    void take(Run& run, Prepare& prepare, std::size_t calls, std::size_t runs, Group& group) {
        group.seconds.clear();
        group.corrected.clear();
        prepare(calls);
        const auto before_interruptions = clock_.interruptions();
        // The one that ended the last group is as good, if that was just now.
        double before = last_;
        if (clock_.now() - last_end_ > options_.group) before = measure_reference();
        bool interrupted = false;
        for (std::size_t i = 0; i < runs; ++i) {
            if (i > 0) prepare(calls);
            const auto interruptions = clock_.interruptions();
            const double spent = clock_.spent();
            const double start = clock_.now();
            run(calls);
            double seconds = clock_.now() - start;
            // While others had the processor this thread spent nothing; what they left in the caches still counts.
            if (clock_.interruptions() != interruptions) {
                seconds = std::min(seconds, clock_.spent() - spent);
                interrupted = true;
            }
            group.seconds.push_back(seconds / static_cast<double>(calls));
        }
        const double after = measure_reference();
        interrupted = interrupted || clock_.interruptions() != before_interruptions;
        group.quiet = !interrupted && is_quiet(before) && is_quiet(after);
        // A reference that was itself interrupted says nothing of the speed.
        const double slower = std::clamp((before + after) / (2 * nominal_), 1.0, 2.0);
        for (const double seconds : group.seconds) group.corrected.push_back(seconds / slower);
        runs_ += runs;
        if (group.quiet) quiet_runs_ += runs;
    }

    /// Runs until code and data are where they stay, once for what is long; seconds of one call.
    template <class Run, class Prepare>
    double warm_up(Run& run, Prepare& prepare, Group& group) {
        take(run, prepare, 1, 1, group);
        if (group.seconds[0] < 1e-3) take(run, prepare, 1, 1, group);
        return group.seconds[0];
    }

    static Timing conclude(std::vector<double> quiet, std::vector<double> const& corrected, std::size_t enough) {
        Timing timing{.seconds = 0, .runs = quiet.size() + corrected.size(), .quiet = quiet.size()};
        if (quiet.size() < enough) quiet.insert(quiet.end(), corrected.begin(), corrected.end());
        timing.seconds = quiet.empty() ? 0 : median_of(std::move(quiet));
        return timing;
    }

    QuietOptions options_;
    Clock clock_;
    Reference reference_;
    DurationHistogram history_;
    double nominal_ = 0, bound_ = 0, last_ = 0, last_end_ = -1;
    std::size_t runs_ = 0, quiet_runs_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
