#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/usable_threads.hpp>
#include <primsel/io/cache.hpp>
#include <primsel/io/file.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/machine/measure_machine.hpp>
#include <primsel/network/fingerprint.hpp>
#include <primsel/version.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::measure {

namespace detail {

/// Lines "key: value" in a file of the cache for this processor, number of its cores and version of the library. What
/// is damaged is not there, what cannot be written is not kept.
class KeyedFile {
public:
    using About = std::map<std::string, std::string>;

    /// `about`: what else must be the same.
    KeyedFile(std::string_view name, About about, std::string const& directory) : about_(std::move(about)) {
        about_.emplace("cores", std::to_string(core::processors_of_machine()));
        about_.emplace("cpu", cpu_name());
        about_.emplace("version", version);
        if (!directory.empty()) path_ = join(directory, '/', name, '-', fingerprint_of(about_), ".txt");
    }

    /// Empty where there is no place for it.
    [[nodiscard]] std::string const& path() const { return path_; }
    [[nodiscard]] std::optional<About> read() const {
        constexpr std::size_t limit = std::size_t{16} << 10;
        if (path_.empty()) return {};
        try {
            const SharedBytes file = read_file(path_, limit);
            About found;
            core::CsvLines lines(file.text(), found);
            if (std::string_view line; lines.next(line)) return {};
            auto check = found.extract("check");
            if (check.empty() || check.mapped() != fingerprint_of(found)) return {};
            for (auto const& [key, value] : about_) {
                auto same = found.extract(key);
                if (same.empty() || same.mapped() != value) return {};
            }
            return found;
        } catch (error const&) {
            return {};
        }
    }
    /// Whether it is on the disk now.
    [[nodiscard]] bool write(About about) const {
        about.insert(about_.begin(), about_.end());
        std::string text;
        for (auto const& [key, value] : about) text += join("# ", key, ": ", value, '\n');
        return write_cache_file(path_, join(text, "# check: ", fingerprint_of(about), '\n'));
    }

private:
    [[nodiscard]] static std::string fingerprint_of(About const& about) {
        network::Fingerprint print;
        for (auto const& [key, value] : about) print.add(key), print.add(value);
        return print.text();
    }

    About about_;
    std::string path_;
};

}  // namespace detail

/// A machine's speeds in a file of the user's cache directory: one for each processor, number of its cores, Arch and
/// version of the library. They can be measured again, so that nothing that happens to the file is an error: what is
/// damaged or another machine's is not there, what cannot be written is not kept.
class MachineFile {
public:
    explicit MachineFile(std::string_view arch, std::string const& directory = cache_directory())
        : file_("machine",
                {{"arch", std::string(arch)}, {"method", "9"}},  // raised where speeds are measured in another way
                directory) {}

    /// Empty where there is no place for it.
    [[nodiscard]] std::string const& path() const { return file_.path(); }

    [[nodiscard]] std::optional<Machine> read() const {
        const std::optional<About> found = file_.read();
        if (!found) return {};
        try {
            const Machine machine = learn::machine_about(path(), *found);
            return *found == speeds_of(machine) && is_plausible(machine) ? std::optional(machine) : std::nullopt;
        } catch (error const&) {
            return {};
        }
    }
    /// Whether it is on the disk now.
    bool write(Machine const& machine) const { return file_.write(speeds_of(machine)); }

private:
    using About = detail::KeyedFile::About;

    [[nodiscard]] static About speeds_of(Machine const& machine) {
        About about;
        learn::add_about(about, machine);
        return about;
    }
    /// Whether it could be a computer's that nothing disturbed: other programs slow products, which live in caches,
    /// more than arithmetic in registers. Products of the machines in bench/profiles reach 0.61 to 0.96 of its rate.
    [[nodiscard]] static bool is_plausible(Machine const& machine) {
        const auto is_rate = [](double rate) { return rate > 1e5 && rate < 1e15; };
        if (machine.matmul_flops < machine.fma_flops / 2) return false;
        const auto may_be_rate = [&](double rate) { return rate == 0 || is_rate(rate); };
        return is_rate(machine.fma_flops) && is_rate(machine.half_flops) && is_rate(machine.matmul_flops) &&
               may_be_rate(machine.bf16_flops) && may_be_rate(machine.int8_flops) && is_rate(machine.vector_flops) &&
               is_rate(machine.scalar_flops) && std::ranges::all_of(machine.bandwidth, is_rate) &&
               is_rate(machine.idle_bandwidth) &&
               std::ranges::is_sorted(machine.bandwidth.rbegin(), machine.bandwidth.rend()) &&
               (!machine.knows_threads() ||
                (is_rate(machine.threads_flops) && is_rate(machine.threads_cache_bandwidth) &&
                 is_rate(machine.threads_memory_bandwidth)));
    }

    detail::KeyedFile file_;
};

namespace detail {

/// The speeds that the file has, unless `renew`; else, or where `peak()` is well above theirs, which other programs had
/// slowed down when they were measured, those of `measure()`, which the file then has. Also where the file lacks the
/// speeds of some precision and all are wanted.
template <class Measure, class Peak>
[[nodiscard]] Machine kept_or_measured(MachineFile const& file, bool renew, Measure const& measure, Peak const& peak,
                                       bool all_precisions = false) {
    constexpr double faster = 1.15;
    if (!renew) {
        const std::optional<Machine> kept = file.read();
        const bool is_enough = kept && (!all_precisions || (kept->bf16_flops > 0 && kept->int8_flops > 0));
        if (is_enough && peak() < faster * kept->fma_flops) return *kept;
    }
    const Machine machine = measure();
    file.write(machine);
    return machine;
}
/// The kept speeds of a machine, and those of several threads together: the kept ones, unless more threads can run now
/// than when they were measured, or none were; else those that `add(kept)` adds, which the file then has.
template <class Add>
[[nodiscard]] Machine kept_or_completed(MachineFile const& file, Machine const& kept, std::size_t threads,
                                        Add const& add) {
    if (kept.threads >= static_cast<double>(threads)) return kept;
    const Machine machine = add(kept);
    file.write(machine);
    return machine;
}

}  // namespace detail

/// A policy for engines, `using machine = KeptMachine;`: this machine's speeds are measured once and then kept in a
/// MachineFile for other programs, those of several threads when they are first asked for. Of the environment,
/// PRIMSEL_MACHINE=measure leaves the file alone, and PRIMSEL_MACHINE=renew measures again and replaces it. Measured:
/// the policy that measures, MeasuredMachine or MeasuredInAllPrecisions.
template <class Measured>
struct KeptSpeeds {
    /// Throws error where PRIMSEL_MACHINE is something else.
    template <class Arch>
    [[nodiscard]] static Machine const& speeds(int threads) {
        static const std::string_view how = [] {
            const char* const value = std::getenv("PRIMSEL_MACHINE");
            const std::string_view named = value == nullptr ? "" : value;
            for (const std::string_view known : {"", "measure", "renew"}) {
                if (named == known) return known;
            }
            fail("PRIMSEL_MACHINE=", named, ": neither measure nor renew");
        }();
        if (how == "measure") return Measured::template speeds<Arch>(threads);
        static const MachineFile file(Arch::name());
        static const Machine one = detail::kept_or_measured(
            file, how == "renew", [] { return Measured::template speeds<Arch>(1); }, &measured_peak<Arch>,
            !std::same_as<Measured, MeasuredMachine>);
        if (threads <= 1) return one;
        static const Machine several =
            detail::kept_or_completed(file, one, machine::measured_threads(), &machine::with_threads<Arch>);
        return several;
    }
};
using KeptMachine = KeptSpeeds<MeasuredMachine>;

}  // namespace primsel::inline PRIMSEL_ABI::measure
