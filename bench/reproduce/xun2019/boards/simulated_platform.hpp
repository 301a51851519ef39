#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/dynamic/operating_point.hpp>
#include <primsel/dynamic/platform.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulated_cores.hpp"

namespace boards {

using primsel::dynamic::CoreSet, primsel::dynamic::CoreState, primsel::dynamic::OperatingPoint;

/// An event on a simulated platform at a time. From then on, for one core set:
struct PlatformEvent {
    enum class Kind {
        load,   ///< so many other threads want each core, and get as much of it as the network does
        cap,    ///< the highest level of frequency that is allowed
        cores,  ///< how many are online
    };
    double seconds = 0;
    Kind kind = Kind::load;
    std::size_t core_set = 0;
    double value = 0;
};

/// How times differ from image to image: by a factor drawn for the number of the image, whatever runs it, so that all
/// governors meet the same.
struct SimulatedNoise {
    /// The deviation of the logarithm of the factor, whose median is 1.
    double deviation = 0;
    /// The share of images that take a whole number of times longer on top, up to `worst` times.
    double outliers = 0, worst = 1;
    std::uint64_t seed = 1;

    [[nodiscard]] double operator()(std::uint64_t image) const noexcept {
        double factor = 1;
        if (deviation > 0) {
            const double radius = std::sqrt(-2 * std::log(1 - uniform(image, 1)));
            factor = std::exp(deviation * radius * std::cos(2 * std::numbers::pi * uniform(image, 2)));
        }
        if (outliers > 0 && uniform(image, 3) < outliers) factor *= 1 + (worst - 1) * uniform(image, 4);
        return factor;
    }

private:
    /// From 0 to below 1: splitmix64 of the image's number.
    [[nodiscard]] double uniform(std::uint64_t image, std::uint64_t draw) const noexcept {
        std::uint64_t bits = (seed * 0x2545f4914f6cdd1dU + image * 4 + draw) * 0x9e3779b97f4a7c15U;
        bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
        bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
        return static_cast<double>((bits ^ (bits >> 31U)) >> 11U) * 0x1p-53;
    }
};

/// The temperature of the whole chip, and what it forces: while it is above the limit the highest allowed frequency of
/// the first core set falls by one level every `interval`; once it is `band` below, it rises again.
struct SimulatedHeat {
    double ambient = 25, kelvin_per_watt = 0, time_constant = 1;
    double limit = std::numeric_limits<double>::infinity(), band = 5, interval = 0.1;
};

/// The description of a simulated platform; it does not change.
struct SimulatedDescription {
    std::vector<SimulatedCores> cores;
    /// In the order of time.
    std::vector<PlatformEvent> events = {};
    SimulatedNoise noise = {};
    SimulatedHeat heat = {};
    /// Whether observe() tells how much slower work is because of load.
    bool tells_load = true;
};

/// A Platform in virtual time: nothing passes but by execute() and idle(). Copies go their own ways from where they
/// were copied, which is how an oracle looks ahead.
class SimulatedPlatform {
public:
    /// Throws error where the description is impossible.
    explicit SimulatedPlatform(SimulatedDescription description) {
        if (description.cores.empty()) fail("simulated platform: there are no core sets");
        std::vector<CoreSet> sets;
        std::size_t number = 0;
        for (SimulatedCores const& cores : description.cores) {
            check_cores(cores, description.cores[0].shares.size());
            CoreSet set{cores.name, {}, cores.hertz};
            for (std::size_t i = 0; i < cores.count; ++i) set.cores.push_back(number++);
            sets.push_back(std::move(set));
            conditions_.push_back({cores.count, cores.hertz.size() - 1, 0});
        }
        for (PlatformEvent const& event : description.events) check(event, description.cores);
        const auto earlier = [](PlatformEvent const& a, PlatformEvent const& b) { return a.seconds < b.seconds; };
        if (!std::ranges::is_sorted(description.events, earlier)) fail("simulated platform: events go back in time");
        SimulatedHeat const& heat = description.heat;
        if (is_nan(heat.time_constant) || !(heat.time_constant > 0 && heat.interval > 0))
            fail("simulated platform: heat without time");
        celsius_ = heat.ambient;
        heat_cap_ = description.cores[0].hertz.size() - 1;
        next_tick_ = is_hot_ever(heat) ? heat.interval : std::numeric_limits<double>::infinity();
        fixed_ = std::make_shared<const Fixed>(Fixed{std::move(description), std::move(sets)});
        happen();
    }

    // Platform.
    [[nodiscard]] std::span<const CoreSet> core_sets() const noexcept { return fixed_->sets; }
    void observe(std::span<CoreState> states) const noexcept {
        for (std::size_t i = 0; i < std::min(states.size(), conditions_.size()); ++i) {
            const double slowdown = fixed_->told.tells_load ? 1 + conditions_[i].load : OperatingPoint::unknown;
            states[i] = {conditions_[i].online, top(i), slowdown, celsius_};
        }
    }
    bool apply(OperatingPoint const& point) noexcept {
        if (point.core_set >= conditions_.size()) return false;
        const bool changes = point.core_set != core_set_ || point.level != level_;
        core_set_ = point.core_set;
        level_ = std::min(point.level, cores(core_set_).hertz.size() - 1);
        threads_ = std::max<std::size_t>(point.threads, 1);
        if (changes) idle(cores(core_set_).change_seconds);
        return level_ == point.level && level_ <= top(core_set_) && threads_ <= conditions_[core_set_].online;
    }
    [[nodiscard]] double seconds() const noexcept { return now_; }
    /// The energy of the network: its cores, and what its cluster takes anyway, while it runs.
    [[nodiscard]] double joules() const noexcept { return own_joules_; }

    /// Runs an image in a configuration, 1 or larger. Where the core set has lost its cores, the network moves to the
    /// first that has some, as an operating system does.
    void execute(int configuration) noexcept {
        const double factor = fixed_->told.noise(image_++);
        double left = 1;
        while (left > 0) {
            const std::size_t set = running_set();
            const std::size_t threads = std::clamp<std::size_t>(threads_, 1, conditions_[set].online);
            const double whole =
                cores(set).seconds(configuration, running_level(set), threads) * factor * (1 + conditions_[set].load);
            const double end = now_ + left * whole, boundary = next_boundary();
            if (end <= boundary) {
                pass(end, static_cast<double>(threads));
                left = 0;
            } else {
                left -= (boundary - now_) / whole;
                pass(boundary, static_cast<double>(threads));
            }
            happen();
        }
    }
    /// Nothing of ours runs for so long.
    void idle(double duration) noexcept { idle_until(now_ + duration); }
    /// Nothing if that is past.
    void idle_until(double end) noexcept {
        while (now_ < end) {
            pass(std::min(end, next_boundary()), 0);
            happen();
        }
    }

    /// The energy of the whole platform, including other programs': the integral of watts() over time.
    [[nodiscard]] double total_joules() const noexcept { return total_joules_; }
    /// The power of the whole platform while `busy` cores of ours are busy.
    [[nodiscard]] double watts(double busy = 0) const noexcept {
        double sum = 0;
        for (std::size_t i = 0; i < conditions_.size(); ++i) {
            if (conditions_[i].online == 0) continue;
            const double ours = busy > 0 && i == running_set() ? busy : 0;
            sum += cores(i).watts(running_level(i), ours_of(i, ours) + others_of(i, ours));
        }
        return sum;
    }
    [[nodiscard]] double celsius() const noexcept { return celsius_; }
    /// The number of the next image.
    [[nodiscard]] std::uint64_t image() const noexcept { return image_; }
    [[nodiscard]] SimulatedDescription const& description() const noexcept { return fixed_->told; }

    /// Every configuration on every core set at every level, with every number of threads up to the given one: what it
    /// takes where nothing disturbs. `accuracies` and `confidences`: of each configuration; may be empty.
    [[nodiscard]] std::vector<OperatingPoint> points(std::span<const double> accuracies,
                                                     std::span<const double> confidences = {},
                                                     std::size_t most_threads = 1) const {
        std::vector<OperatingPoint> all;
        for (std::size_t set = 0; set < conditions_.size(); ++set) {
            SimulatedCores const& model = cores(set);
            for (std::size_t threads = 1; threads <= std::min(std::max<std::size_t>(most_threads, 1), model.count);
                 ++threads) {
                for (std::size_t level = 0; level < model.hertz.size(); ++level) {
                    for (std::size_t c = 0; c < model.shares.size(); ++c) {
                        OperatingPoint point{static_cast<int>(c) + 1, set, level, threads};
                        point.seconds = model.seconds(point.configuration, level, threads);
                        point.watts = model.watts(level, static_cast<double>(threads));
                        point.joules = point.watts * point.seconds;
                        if (c < accuracies.size()) point.accuracy = accuracies[c];
                        if (c < confidences.size()) point.confidence = confidences[c];
                        all.push_back(point);
                    }
                }
            }
        }
        return all;
    }

private:
    struct Fixed {
        SimulatedDescription told;
        std::vector<CoreSet> sets;
    };
    /// The present condition of a core set.
    struct Condition {
        std::size_t online = 0, cap = 0;
        double load = 0;
    };

    static void check(PlatformEvent const& event, std::vector<SimulatedCores> const& cores) {
        const auto refuse = [&](auto const&... why) {
            fail("simulated platform: the event at ", event.seconds, " seconds ", why...);
        };
        if (is_nan(event.seconds) || !(event.seconds >= 0 && is_finite(event.seconds))) refuse("is at no time");
        if (event.core_set >= cores.size()) refuse("is of core set ", event.core_set, " of ", cores.size());
        SimulatedCores const& set = cores[event.core_set];
        if (is_nan(event.value) || !(event.value >= 0 && is_finite(event.value))) refuse("has the value ", event.value);
        if (event.kind == PlatformEvent::Kind::cap && event.value >= static_cast<double>(set.hertz.size())) {
            refuse("caps ", set.name, " at level ", event.value, " of ", set.hertz.size());
        }
        if (event.kind == PlatformEvent::Kind::cores && event.value > static_cast<double>(set.count)) {
            refuse("puts ", event.value, " of ", set.count, " cores of ", set.name, " online");
        }
    }
    [[nodiscard]] static bool is_hot_ever(SimulatedHeat const& heat) {
        return heat.kelvin_per_watt > 0 && is_finite(heat.limit);
    }

    [[nodiscard]] SimulatedCores const& cores(std::size_t set) const noexcept { return fixed_->told.cores[set]; }
    [[nodiscard]] std::size_t top(std::size_t set) const noexcept {
        return set == 0 ? std::min(conditions_[set].cap, heat_cap_) : conditions_[set].cap;
    }
    [[nodiscard]] std::size_t running_set() const noexcept {
        if (conditions_[core_set_].online > 0) return core_set_;
        std::size_t set = 0;
        while (set + 1 < conditions_.size() && conditions_[set].online == 0) ++set;
        return set;
    }
    /// Cores that the network did not ask for run as fast as they may if they have load, as slowly as they can if not.
    [[nodiscard]] std::size_t running_level(std::size_t set) const noexcept {
        if (set == core_set_) return std::min(level_, top(set));
        return set == running_set() || conditions_[set].load > 0 ? top(set) : 0;
    }
    /// Cores' worth of time for us, and for others, of `ours` that we would have alone.
    [[nodiscard]] double ours_of(std::size_t set, double ours) const noexcept {
        return ours / (1 + conditions_[set].load);
    }
    [[nodiscard]] double others_of(std::size_t set, double ours) const noexcept {
        const auto online = static_cast<double>(conditions_[set].online);
        const double load = conditions_[set].load;
        return (online - ours) * std::min(load, 1.0) + ours * load / (1 + load);
    }

    [[nodiscard]] double next_boundary() const noexcept {
        std::vector<PlatformEvent> const& events = fixed_->told.events;
        const double event = next_ < events.size() ? events[next_].seconds : std::numeric_limits<double>::infinity();
        return std::min(event, next_tick_);
    }
    /// Lets time pass, in which nothing changes, with so many cores of ours busy.
    void pass(double end, double busy) noexcept {
        const double duration = std::max(end - now_, 0.0), power = watts(busy);
        total_joules_ += power * duration;
        if (busy > 0) {
            const std::size_t set = running_set();
            own_joules_ += cores(set).watts(running_level(set), ours_of(set, busy)) * duration;
        }
        SimulatedHeat const& heat = fixed_->told.heat;
        const double steady = heat.ambient + heat.kelvin_per_watt * power;
        celsius_ = steady + (celsius_ - steady) * std::exp(-duration / heat.time_constant);
        now_ = std::max(now_, end);
    }
    /// Takes the events that are due by now.
    void happen() noexcept {
        std::vector<PlatformEvent> const& events = fixed_->told.events;
        for (; next_ < events.size() && events[next_].seconds <= now_; ++next_) {
            Condition& condition = conditions_[events[next_].core_set];
            const double value = events[next_].value;
            switch (events[next_].kind) {
                case PlatformEvent::Kind::load:
                    condition.load = value;
                    break;
                case PlatformEvent::Kind::cap:
                    condition.cap = static_cast<std::size_t>(value);
                    break;
                case PlatformEvent::Kind::cores:
                    condition.online = static_cast<std::size_t>(value);
                    break;
            }
        }
        SimulatedHeat const& heat = fixed_->told.heat;
        while (next_tick_ <= now_) {
            if (celsius_ > heat.limit && heat_cap_ > 0) --heat_cap_;
            if (celsius_ < heat.limit - heat.band) heat_cap_ = std::min(heat_cap_ + 1, cores(0).hertz.size() - 1);
            next_tick_ += heat.interval;
        }
    }

    std::shared_ptr<const Fixed> fixed_;
    std::vector<Condition> conditions_;
    double now_ = 0, own_joules_ = 0, total_joules_ = 0, celsius_ = 0;
    std::size_t next_ = 0, heat_cap_ = 0;
    double next_tick_ = 0;
    std::uint64_t image_ = 0;
    std::size_t core_set_ = 0, level_ = 0, threads_ = 1;
};

static_assert(primsel::dynamic::Platform<SimulatedPlatform>);

}  // namespace boards
