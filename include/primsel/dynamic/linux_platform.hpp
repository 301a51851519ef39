#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/dynamic/detail/core_times.hpp>
#include <primsel/dynamic/detail/energy_counter.hpp>
#include <primsel/dynamic/detail/system_file.hpp>
#include <primsel/dynamic/operating_point.hpp>
#include <primsel/dynamic/platform.hpp>

#ifdef __linux__  // elsewhere there is no LinuxPlatform

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Where a LinuxPlatform looks, and what it may change.
struct LinuxOptions {
    /// The folder that holds sys/ and proc/. With any other than "/" no thread is moved.
    std::string root = "/";
    /// Whether apply() may set frequencies.
    bool set_frequency = true;
    /// The core sets, as the system's numbers of their cores. Empty: cores of one cpufreq policy are a set; cores
    /// without a policy are another.
    std::vector<std::vector<std::size_t>> core_sets = {};
};

/// A Platform on this machine. apply() moves the calling thread, and those of take_along(), by sched_setaffinity.
/// Frequencies are set by cpufreq, temperatures and energy are read from thermal zones, powercap and hwmon in sysfs,
/// and load from /proc/stat. limits() lists what is missing or not permitted. The destructor restores the frequency
/// limits and the threads' cores.
class LinuxPlatform {
public:
    /// Throws error if a core set of the options is empty or names a core that is absent or not permitted.
    explicit LinuxPlatform(LinuxOptions options = {}) : options_(std::move(options)) {
        online_ = file("sys/devices/system/cpu/online");
        find_permitted();
        const std::vector<std::vector<std::size_t>> groups =
            options_.core_sets.empty() ? found_sets() : options_.core_sets;
        for (auto const& cores : groups) add(cores);
        find_energy();
        for (std::size_t i = 0; i < most_files; ++i) {
            detail::SystemFile zone = file(join("sys/class/thermal/thermal_zone", i, "/temp"));
            if (std::int64_t value = 0; zone.read(value)) zones_.push_back(std::move(zone));
        }
        if (zones_.empty()) limits_.push_back("no thermal zone: temperatures are unknown");
        times_ = detail::CoreTimes(path("proc/stat"), permitted_.count() == 0 ? 0 : last_core() + 1);
    }
    LinuxPlatform(LinuxPlatform const&) = delete;
    LinuxPlatform& operator=(LinuxPlatform const&) = delete;
    ~LinuxPlatform() {
        for (Frequency const& frequency : frequencies_) {
            if (!frequency.changed) continue;
            // The kernel refuses a minimum above the maximum, so the maximum is written before and after the minimum.
            (void)frequency.most.write(frequency.most_before);
            (void)frequency.least.write(frequency.least_before);
            (void)frequency.most.write(frequency.most_before);
        }
        if (moved_) (void)pin(affinity_);
    }

    /// Sets the threads that move with the one that calls apply(), such as those of a ThreadPool. They must outlive the
    /// platform.
    void take_along(std::vector<std::thread::native_handle_type> threads) { followers_ = std::move(threads); }

    // The members that Platform requires.
    [[nodiscard]] std::span<const CoreSet> core_sets() const noexcept { return sets_; }
    void observe(std::span<CoreState> states) noexcept {
        std::array<char, 4096> room;
        detail::CoreBits online;
        if (!detail::read_cores(online_.read(room.data(), room.size()), online) || online.none()) online = permitted_;
        const double celsius = hottest();
        times_.update();
        for (std::size_t i = 0; i < std::min(states.size(), sets_.size()); ++i) {
            states[i] = CoreState{0, top(i), OperatingPoint::unknown, celsius};
            double busy = 0;
            bool known = i != set_;  // the network itself is the load where it runs
            for (const std::size_t core : sets_[i].cores) {
                if (!online.test(core)) continue;
                ++states[i].cores;
                known = known && times_.busy(core) >= 0;
                busy += times_.busy(core);
            }
            // Beside a thread that wants the whole core, the network still gets half of it.
            const double share = known && states[i].cores > 0 ? busy / static_cast<double>(states[i].cores) : 0;
            if (known) states[i].slowdown = 1 / std::max(1 - share, 0.5);
        }
    }
    bool apply(OperatingPoint const& point) noexcept {
        if (point.core_set >= sets_.size()) return false;
        const bool moved = move_to(point.core_set, std::max<std::size_t>(point.threads, 1));
        set_ = point.core_set;
        return set_frequency(point.core_set, point.level) && moved;
    }
    [[nodiscard]] double seconds() const noexcept {
        timespec now{};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    }
    /// The energy of all sensors in joules: the whole processor's, including other programs'. NaN if there is no
    /// sensor.
    [[nodiscard]] double joules() noexcept { return energy_.joules(seconds()); }

    /// One line for each thing that cannot be set or read on this machine.
    [[nodiscard]] std::span<const std::string> limits() const noexcept { return limits_; }
    /// The temperature of the hottest thermal zone in degrees Celsius; NaN if there is none.
    [[nodiscard]] double hottest() noexcept {
        double most = OperatingPoint::unknown;
        for (detail::SystemFile& zone : zones_) {
            std::int64_t value = 0;
            if (zone.read(value))
                most = is_nan(most) ? 1e-3 * static_cast<double>(value)
                                    : std::max(most, 1e-3 * static_cast<double>(value));
        }
        return most;
    }

private:
    static constexpr std::size_t most_files = 64, most_levels = 8;
    /// Seconds for which a cap of the frequency is believed after it was read back. A choice.
    static constexpr double cap_seconds = 5;

    /// The cpufreq files of a core set, the limits before any change in kHz, and the cap as a level. Only if `can_set`
    /// is true are the files written after set-up.
    struct Frequency {
        detail::SystemFile least, most, highest;
        std::int64_t least_before = 0, most_before = 0, asked = 0;
        double capped_until = -1;
        std::size_t cap = 0;
        bool can_set = false, changed = false;
    };

    [[nodiscard]] std::string path(std::string_view below) const {
        return join(options_.root, options_.root.ends_with('/') ? "" : "/", below);
    }
    [[nodiscard]] detail::SystemFile file(std::string_view below) const { return detail::SystemFile(path(below)); }
    [[nodiscard]] static std::string text_of(detail::SystemFile& file) {
        std::string room(4096, '\0');
        room.resize(file.read(room.data(), room.size()).size());
        return room;
    }
    [[nodiscard]] bool is_this_machine() const { return options_.root == "/"; }

    void find_permitted() {
        detail::SystemFile present = file("sys/devices/system/cpu/present");
        if (!detail::read_cores(text_of(present), permitted_) || permitted_.none()) {
            limits_.push_back(join(printable(present.path()), ": tells no cores: one is assumed"));
            permitted_.reset();
            permitted_.set(0);
        }
        if (!is_this_machine()) return;
        if (::sched_getaffinity(0, sizeof(affinity_), &affinity_) != 0) {
            limits_.push_back(join("sched_getaffinity: ", std::strerror(errno), ": threads are not moved"));
            return;
        }
        can_move_ = true;
        for (std::size_t core = 0; core < detail::most_cores; ++core) {
            if (core >= CPU_SETSIZE || !CPU_ISSET(core, &affinity_)) permitted_.reset(core);
        }
        if (permitted_.none()) permitted_.set(0);
    }
    [[nodiscard]] std::size_t last_core() const {
        std::size_t last = 0;
        for (std::size_t core = 0; core < detail::most_cores; ++core) last = permitted_.test(core) ? core : last;
        return last;
    }
    /// The permitted cores of each cpufreq policy, and those without a policy as one more set.
    [[nodiscard]] std::vector<std::vector<std::size_t>> found_sets() const {
        std::vector<std::vector<std::size_t>> sets;
        detail::CoreBits left = permitted_;
        for (std::size_t core = 0; core <= last_core(); ++core) {
            if (!left.test(core)) continue;
            detail::SystemFile related = file(join("sys/devices/system/cpu/cpufreq/policy", core, "/related_cpus"));
            std::string text = text_of(related);
            std::ranges::replace(text, ' ', ',');
            detail::CoreBits cores;
            if (!detail::read_cores(detail::trimmed(text), cores) || !cores.test(core)) continue;
            sets.push_back(numbers(cores & left));
            left &= ~cores;
        }
        if (left.any()) sets.push_back(numbers(left));
        return sets;
    }
    [[nodiscard]] static std::vector<std::size_t> numbers(detail::CoreBits const& bits) {
        std::vector<std::size_t> cores;
        for (std::size_t core = 0; core < bits.size(); ++core) {
            if (bits.test(core)) cores.push_back(core);
        }
        return cores;
    }

    void add(std::vector<std::size_t> const& cores) {
        if (cores.empty()) fail("linux platform: a core set has no cores");
        for (const std::size_t core : cores) {
            if (core >= detail::most_cores || !permitted_.test(core))
                fail("linux platform: core ", core, " cannot be used");
        }
        CoreSet set{.name = "cpu" + std::to_string(cores[0]), .cores = cores, .hertz = {}};
        if (cores.size() > 1) set.name += "-" + std::to_string(cores.back());
        frequencies_.push_back(frequency_of(cores[0], set));
        sets_.push_back(std::move(set));
    }
    /// Opens the cpufreq files of a core, and sets `set.hertz` to the frequencies that can be set.
    [[nodiscard]] Frequency frequency_of(std::size_t core, CoreSet& set) {
        const std::string folder = join("sys/devices/system/cpu/cpu", core, "/cpufreq/");
        Frequency found{.least = file(folder + "scaling_min_freq"),
                        .most = file(folder + "scaling_max_freq"),
                        .highest = file(folder + "cpuinfo_max_freq")};
        std::int64_t low = 0, high = 0;
        detail::SystemFile lowest = file(folder + "cpuinfo_min_freq");
        const bool known = lowest.read(low) && found.highest.read(high) && low > 0 && low <= high &&
                           found.least.read(found.least_before) && found.most.read(found.most_before);
        if (!known) {
            limits_.push_back(join(set.name, ": no cpufreq: frequencies are unknown"));
            set.hertz = {1};
            return found;
        }
        set.hertz = {1e3 * static_cast<double>(high)};
        if (!options_.set_frequency) return found;
        if (!found.most.write(found.most_before) || !found.least.write(found.least_before)) {
            limits_.push_back(join(set.name, ": ", printable(found.most.path()), ": ", std::strerror(errno),
                                   ": the system sets the frequency"));
            return found;
        }
        found.can_set = true;
        detail::SystemFile table = file(folder + "scaling_available_frequencies");
        std::vector<double> hertz = listed(text_of(table), low, high);
        if (hertz.empty()) {
            for (std::size_t i = 0; i < most_levels; ++i) {
                const double share = static_cast<double>(i) / static_cast<double>(most_levels - 1);
                hertz.push_back(1e3 * std::round(static_cast<double>(low) + share * static_cast<double>(high - low)));
            }
        }
        std::ranges::sort(hertz);
        hertz.erase(std::unique(hertz.begin(), hertz.end()), hertz.end());
        found.cap = hertz.size() - 1;
        set.hertz = std::move(hertz);
        return found;
    }
    [[nodiscard]] static std::vector<double> listed(std::string_view text, std::int64_t low, std::int64_t high) {
        std::vector<double> hertz;
        for (text = detail::trimmed(text); !text.empty(); text = detail::trimmed(text)) {
            const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
            std::int64_t kilohertz = 0;
            if (!detail::read_whole(word, kilohertz)) return {};
            if (kilohertz >= low && kilohertz <= high) hertz.push_back(1e3 * static_cast<double>(kilohertz));
            text.remove_prefix(word.size());
        }
        return hertz;
    }
    void find_energy() {
        for (std::size_t i = 0; i < most_files; ++i) {
            const std::string folder = join("sys/class/powercap/intel-rapl:", i);
            detail::SystemFile range = file(folder + "/max_energy_range_uj");
            std::int64_t most = 0;
            if (!range.read(most) || most < 0) most = 0;
            energy_.add_energy(file(folder + "/energy_uj"), most);
        }
        for (std::size_t i = 0; i < most_files && energy_.size() == 0; ++i) {
            const std::string folder = join("sys/class/hwmon/hwmon", i);
            energy_.add_energy(file(folder + "/energy1_input"), 0);
            if (energy_.size() == 0) energy_.add_power(file(folder + "/power1_input"));
        }
        if (energy_.size() == 0) limits_.push_back("no powercap or hwmon that can be read: energy is unknown");
    }

    [[nodiscard]] std::size_t level_of(std::size_t set, std::int64_t kilohertz) const noexcept {
        std::vector<double> const& hertz = sets_[set].hertz;
        const double limit = 1e3 * static_cast<double>(kilohertz) + 0.5;
        const auto above = static_cast<std::size_t>(std::ranges::upper_bound(hertz, limit) - hertz.begin());
        return above == 0 ? 0 : above - 1;
    }
    /// The highest level that is allowed. A system that caps the frequency reads back less than was written.
    [[nodiscard]] std::size_t top(std::size_t set) noexcept {
        Frequency& frequency = frequencies_[set];
        if (!frequency.can_set) return 0;
        std::int64_t now = 0;
        if (frequency.changed && frequency.most.read(now) && now > 0 && now < frequency.asked) {
            frequency.cap = level_of(set, now);
            frequency.capped_until = seconds() + cap_seconds;
        } else if (seconds() > frequency.capped_until) {
            frequency.cap = sets_[set].hertz.size() - 1;
        }
        return frequency.cap;
    }
    bool move_to(std::size_t set, std::size_t threads) noexcept {
        if (!is_this_machine()) return true;
        if (!can_move_) return false;
        cpu_set_t cores;
        CPU_ZERO(&cores);
        // As many cores as threads, if the set has enough.
        for (std::size_t i = 0; i < std::min(threads, sets_[set].cores.size()); ++i) {
            CPU_SET(sets_[set].cores[i], &cores);
        }
        const bool moved = pin(cores);
        moved_ = moved_ || moved;
        return moved;
    }
    /// Confines the calling thread and its followers to these cores. Returns false if that fails for one of them.
    [[nodiscard]] bool pin(cpu_set_t const& cores) const noexcept {
        bool done = ::sched_setaffinity(0, sizeof(cores), &cores) == 0;
        for (const std::thread::native_handle_type thread : followers_) {
            done = ::pthread_setaffinity_np(thread, sizeof(cores), &cores) == 0 && done;
        }
        return done;
    }
    bool set_frequency(std::size_t set, std::size_t level) noexcept {
        Frequency& frequency = frequencies_[set];
        if (!frequency.can_set) return level == 0;
        if (level >= sets_[set].hertz.size()) return false;
        const auto kilohertz = static_cast<std::int64_t>(std::llround(sets_[set].hertz[level] * 1e-3));
        frequency.changed = true, frequency.asked = kilohertz;
        const bool first = frequency.most.write(kilohertz), low = frequency.least.write(kilohertz);
        return (first || frequency.most.write(kilohertz)) && low;
    }

    LinuxOptions options_;
    detail::CoreBits permitted_;
    cpu_set_t affinity_{};
    bool can_move_ = false, moved_ = false;
    std::vector<std::thread::native_handle_type> followers_;
    detail::SystemFile online_;
    std::vector<CoreSet> sets_;
    std::vector<Frequency> frequencies_;
    std::vector<detail::SystemFile> zones_;
    detail::CoreTimes times_;
    detail::EnergyCounter energy_;
    std::vector<std::string> limits_;
    std::size_t set_ = static_cast<std::size_t>(-1);
};

static_assert(Platform<LinuxPlatform>);

}  // namespace primsel::inline PRIMSEL_ABI::dynamic

#endif
