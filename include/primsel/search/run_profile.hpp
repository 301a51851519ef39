#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/learn/dataset_file.hpp>
#include <primsel/network/fingerprint.hpp>
#include <primsel/search/profile_parts.hpp>
#include <primsel/search/queue.hpp>
#include <primsel/search/work_off.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// A table of a profile that workers measure: its file, which must outlive its users, and the configurations that it is
/// to have.
struct ProfileTarget {
    std::string name;
    learn::DatasetFile* file = nullptr;
    std::vector<std::vector<int>> rows{};
};

/// How far a profile has come.
struct ProfileProgress {
    std::size_t total = 0, done = 0;
    /// The number of those done since the run began.
    std::size_t now = 0;
    /// The workers that measured them.
    std::set<std::string> workers{};
    /// Results and messages that were refused, and why the last one was.
    std::size_t refused = 0;
    std::string refusal{};
    /// Estimated seconds until all is done; NaN before the first row.
    double seconds_left = std::numeric_limits<double>::quiet_NaN();
};

/// The state of a profile while workers measure it: which part is next, and which rows are known. Parts are numbered by
/// the configurations, not by the missing rows, so a killed run continues with the same queue. A row that the file has
/// is not added again. A part whose message or result was refused is handed out again under another number.
class ProfileRun {
public:
    explicit ProfileRun(std::vector<ProfileTarget> targets, std::size_t rows_per_part = 1)
        : targets_(std::move(targets)), step_(std::max<std::size_t>(rows_per_part, 1)) {
        for (std::size_t t = 0; t < targets_.size(); ++t) {
            auto const& rows = targets_[t].rows;
            for (std::size_t row = 0; row < rows.size(); row += step_) parts_.push_back({t, row});
            progress_.total += rows.size();
            for (auto const& row : rows) progress_.done += targets_[t].file->contains(row) ? 1U : 0U;
        }
        tries_.resize(parts_.size());
    }

    /// A fingerprint of the tables, configurations and parts.
    [[nodiscard]] std::string sample() const {
        network::Fingerprint print;
        print.add(step_);
        for (ProfileTarget const& target : targets_) {
            print.add(target.name);
            for (std::vector<int> const& row : target.rows) {
                for (const int value : row) print.add(value);
            }
        }
        return print.text();
    }

    /// The next part; nothing if all are measured or under way. Throws error if a part was refused three times.
    [[nodiscard]] std::optional<ProfilePart> next() {
        for (; free_ < parts_.size(); ++free_) {
            if (!is_whole(free_)) break;
        }
        std::size_t place = free_;
        if (!again_.empty()) {
            place = again_.back();
            again_.pop_back();
        } else if (free_ == parts_.size()) {
            return std::nullopt;
        } else {
            ++free_;
        }
        if (tries_[place] >= most_tries) {
            fail("profile: part ", place, " was refused ", tries_[place], " times, last: ", progress_.refusal);
        }
        return under_way_.emplace(place, part(place, tries_[place])).first->second;
    }

    /// Adds the result of a part, of this run or an earlier one. Returns whether it was new and valid. Throws error if
    /// the file cannot be written.
    bool add(QueuedResult const& result) {
        if (parts_.empty() || result.number / parts_.size() >= most_tries) return false;
        const auto place = static_cast<std::size_t>(result.number % parts_.size());
        if (is_whole(place)) return false;
        learn::DatasetFile& file = *targets_[parts_[place].target].file;
        const ProfilePart asked = part(place, result.number / parts_.size());
        ProfiledRows measured;
        try {
            measured = parse_rows("result", result.message, asked, file.data().subjects.size());
        } catch (error const& fault) {
            refuse(result.number, fault.what());
            return false;
        }
        for (std::size_t i = 0; i < asked.rows.size(); ++i) {
            if (file.contains(asked.rows[i])) continue;
            file.append(asked.rows[i], measured.seconds[i]);
            ++progress_.done;
            ++progress_.now;
        }
        progress_.workers.insert(measured.worker);
        under_way_.erase(place);
        std::erase(again_, place);
        return true;
    }
    /// Notes that the message or result of this number was refused.
    void refuse(std::uint64_t number, std::string const& reason) {
        if (parts_.empty() || number / parts_.size() >= most_tries) return;
        const auto place = static_cast<std::size_t>(number % parts_.size());
        const std::uint64_t tried = number / parts_.size();
        if (is_whole(place) || tried < tries_[place]) return;
        tries_[place] = tried + 1;
        ++progress_.refused;
        progress_.refusal = reason;
        if (under_way_.erase(place) > 0) again_.push_back(place);
    }

    /// The parts that are handed out, by their indices.
    [[nodiscard]] std::map<std::size_t, ProfilePart> const& under_way() const { return under_way_; }
    [[nodiscard]] ProfileProgress progress() const {
        ProfileProgress progress = progress_;
        if (progress.now > 0) {
            progress.seconds_left = timer_.seconds() / static_cast<double>(progress.now) *
                                    static_cast<double>(progress.total - progress.done);
        }
        return progress;
    }

private:
    static constexpr std::uint64_t most_tries = 3;
    struct Place {
        std::size_t target = 0, row = 0;
    };

    [[nodiscard]] ProfilePart part(std::size_t place, std::uint64_t tried) const {
        ProfileTarget const& target = targets_[parts_[place].target];
        const auto first = target.rows.begin() + static_cast<std::ptrdiff_t>(parts_[place].row);
        const auto count = static_cast<std::ptrdiff_t>(std::min(step_, target.rows.size() - parts_[place].row));
        return {.number = tried * parts_.size() + place, .table = target.name, .rows = {first, first + count}};
    }
    [[nodiscard]] bool is_whole(std::size_t place) const {
        learn::DatasetFile const& file = *targets_[parts_[place].target].file;
        return std::ranges::all_of(part(place, 0).rows, [&](auto const& row) { return file.contains(row); });
    }

    std::vector<ProfileTarget> targets_;
    std::size_t step_, free_ = 0;
    std::vector<Place> parts_;
    std::vector<std::uint64_t> tries_;
    std::map<std::size_t, ProfilePart> under_way_;
    std::vector<std::size_t> again_;
    ProfileProgress progress_;
    Timer timer_;
};

/// Hands the parts of a profile to workers through a queue, adds each result as it comes, and calls report(run) after
/// each. Results of an earlier run that the queue still has count. Returns when all is measured or stop() returns true.
template <Queue Q, class Report, class Stop>
void drive(ProfileRun& run, Q& queue, DriveOptions const& options, Report const& report, Stop const& stop) {
    const auto ask_for_refused = [&] {
        for (SetAside const& aside : queue.aside()) {
            if (aside.number) run.refuse(*aside.number, aside.reason);
        }
    };
    while (const std::optional<QueuedResult> before = queue.next_result(0)) {
        if (run.add(*before)) report(std::as_const(run));
    }
    ask_for_refused();
    while (!stop()) {
        while (run.under_way().size() < std::max<std::size_t>(options.ahead, 1)) {
            const std::optional<ProfilePart> part = run.next();
            if (!part) break;
            queue.put(part->number, line_of(*part));
        }
        if (run.under_way().empty()) return;
        if (const std::optional<QueuedResult> result = queue.next_result(options.wait_seconds)) {
            if (run.add(*result)) report(std::as_const(run));
            continue;
        }
        ask_for_refused();
        for (auto const& [place, part] : run.under_way()) queue.put(part.number, line_of(part));
    }
}

/// Takes parts of the profile from the queue and measures them until stop() returns true or none comes for
/// options.patience seconds. measure(table, configuration) returns the seconds of the table's subjects. A message that
/// is no part of the profile is set aside. Returns the number of results that counted.
template <Queue Q, class Measure, class Stop>
std::size_t work(ProfileWork const& profile, Q& queue, WorkOptions const& options, Measure&& measure,
                 Stop const& stop) {
    const auto result_of = [&](Lease const& lease) {
        const ProfilePart part = parse_part("message", lease.message, profile.tables);
        if (part.number != lease.number) fail("message: is part ", part.number, ", not ", lease.number);
        const auto table = std::ranges::find(profile.tables, part.table, &ProfiledTable::name);
        ProfiledRows measured{.worker = options.name};
        for (std::vector<int> const& row : part.rows) measured.seconds.push_back(measure(*table, row));
        return line_of(part, measured);
    };
    return work_off(queue, options, result_of, stop);
}

}  // namespace primsel::inline PRIMSEL_ABI::search
