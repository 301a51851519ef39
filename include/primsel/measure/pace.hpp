// The machine's present speed, from runs that take place anyway.
#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/read_number.hpp>
#include <primsel/io/cache.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/measure/machine_file.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

/// How many times as long runs take at present as predicted. The machine's speeds, from which costs are predicted, are
/// the best of a quiet moment; other programs, hotter cores and virtual neighbours take some of them away, for minutes
/// or for good. Of each network, the latest run counts, and half as much as one that took place half_life seconds
/// later.
class Pace {
public:
    /// Speeds of shared machines change within minutes.
    static constexpr double half_life = 120;

    /// A run of a network, by any name: predicted and measured seconds, and when it took place, in seconds. Ignores
    /// what is no time. Allocates, so it is called between runs.
    void add(std::string_view network, double predicted, double measured, double when) {
        const double factor = measured / predicted;
        if (!(predicted > 0) || !(factor > 1e-3 && factor < 1e3) || !(when >= 0 && when < 1e12)) return;
        const auto same = std::ranges::find(runs_, network, &Run::network);
        if (same != runs_.end()) runs_.erase(same);
        runs_.push_back({std::string(network), factor, when});
        if (runs_.size() > most_runs) runs_.erase(runs_.begin());
    }
    /// The weighted median of measured / predicted; 1 if nothing ran.
    [[nodiscard]] double factor() const {
        if (runs_.empty()) return 1;
        std::vector<std::pair<double, double>> weighted;  // a factor and its weight
        double all = 0;
        for (Run const& run : runs_) {
            all += weighted.emplace_back(run.factor, std::exp2((run.when - latest()) / half_life)).second;
        }
        std::ranges::sort(weighted);
        // Interpolated between the middles of the weights, so that two runs of equal weight give their mean.
        double before = 0, middle = 0;
        for (std::size_t i = 0; i < weighted.size(); ++i) {
            const double last = middle;
            middle = before + weighted[i].second / 2;
            before += weighted[i].second;
            if (2 * middle < all) continue;
            if (i == 0) return weighted[0].first;
            const double share = (all / 2 - last) / (middle - last);
            return weighted[i - 1].first + share * (weighted[i].first - weighted[i - 1].first);
        }
        return weighted.back().first;
    }
    /// The number of networks that ran, and when the latest did; 0 if none.
    [[nodiscard]] std::size_t size() const { return runs_.size(); }
    [[nodiscard]] double latest() const {
        double latest = 0;
        for (Run const& run : runs_) latest = std::max(latest, run.when);
        return latest;
    }

private:
    friend class PaceFile;
    static constexpr std::size_t most_runs = 15;
    struct Run {
        std::string network;
        double factor, when;
    };
    std::vector<Run> runs_;  // the latest last
};

/// A Pace of runs on so many threads in a file of the user's cache directory, beside the MachineFile: for predictions
/// from these speeds. As there, nothing that happens to the file is an error.
class PaceFile {
public:
    PaceFile(std::string_view arch, Machine const& machine, std::string const& directory = cache_directory(),
             std::size_t threads = 1)
        : file_("pace", {{"arch", std::string(arch)}, {"method", "1"}, {"of threads", std::to_string(threads)}},
                directory) {
        learn::add_about(speeds_, machine);
        // Predictions for one thread stay when the speeds of several are measured.
        if (threads == 1) std::erase_if(speeds_, [](auto const& speed) { return speed.first.starts_with("threads"); });
    }

    [[nodiscard]] std::string const& path() const { return file_.path(); }
    /// Empty where there is none, or one beside other speeds of the machine.
    [[nodiscard]] Pace read() const {
        Pace pace;
        const std::optional<std::map<std::string, std::string>> found = file_.read();
        if (!found) return pace;
        for (auto const& [key, value] : speeds_) {
            const auto same = found->find(key);
            if (same == found->end() || same->second != value) return pace;
        }
        for (std::size_t i = 0; i < Pace::most_runs; ++i) {
            const auto run = found->find(key_of(i));
            if (run == found->end()) break;
            core::Pieces pieces(run->second, ' ');
            std::string_view factor, when, network;
            double ratio = 0, at = 0;
            const bool is_run = pieces.next(factor) && pieces.next(when) && pieces.next(network) &&
                                read_number(factor, ratio) && read_number(when, at);
            if (is_run) pace.add(network, 1, ratio, at);
        }
        return pace;
    }
    /// Returns whether it is on the disk now.
    bool write(Pace const& pace) const {
        std::map<std::string, std::string> lines = speeds_;
        for (std::size_t i = 0; i < pace.runs_.size(); ++i) {
            Pace::Run const& run = pace.runs_[i];
            lines[key_of(i)] = join(run.factor, ' ', std::to_string(std::llround(run.when)), ' ', run.network);
        }
        return file_.write(lines);
    }

private:
    [[nodiscard]] static std::string key_of(std::size_t i) { return join("run ", i < 10 ? "0" : "", i); }

    detail::KeyedFile file_;
    std::map<std::string, std::string> speeds_;
};

}  // namespace primsel::inline PRIMSEL_ABI::measure
