#pragma once

#include <primsel/cost/kernels.hpp>
#include <primsel/cost/machine.hpp>
#include <primsel/cost/sample.hpp>
#include <primsel/io/file.hpp>
#include <primsel/network/fingerprint.hpp>
#include <primsel/plan/fingerprint.hpp>
#include <primsel/version.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// The folder for what can be made again: primsel in $XDG_CACHE_HOME or in $HOME/.cache; empty where neither is set.
[[nodiscard]] inline std::string cache_directory() {
    // As the XDG Base Directory Specification wants it, relative paths do not count.
    for (auto const& [variable, below] : {std::pair{"XDG_CACHE_HOME", "/primsel"}, {"HOME", "/.cache/primsel"}}) {
        const char* const value = std::getenv(variable);
        if (value != nullptr && value[0] == '/') return join(value, below);
    }
    return {};
}

/// What was measured of these kernels on this machine, kept in the user's cache directory for the next time: a file for
/// each processor, Arch, list of primitives and version of the library. It can be measured again, so that nothing that
/// happens to the file is an error: what cannot be read is not there, what cannot be written is not kept.
class Calibration {
public:
    /// The oldest beyond so many are forgotten.
    static constexpr std::size_t most = 4096;

    explicit Calibration(Kernels const& kernels, std::string const& directory = cache_directory()) {
        samples_.about = {{"arch", std::string(kernels.arch)},
                          {"cpu", cpu_name()},
                          {"primitives", fingerprint(kernels)},
                          {"version", std::string(version)}};
        if (directory.empty()) return;
        detail::Fingerprint print;
        for (auto const& [key, value] : samples_.about) print.add(key), print.add(value);
        path_ = join(directory, "/calibration-", print.text(), ".csv");
        read();
    }

    /// Where it is kept; empty where there is no place for it.
    [[nodiscard]] std::string const& path() const { return path_; }
    /// The latest last.
    [[nodiscard]] std::vector<Sample> const& samples() const { return samples_.all; }
    void add(Sample sample) {
        samples_.all.push_back(std::move(sample));
        kept_ = false;
    }
    /// What else was timed, by its name; 0 where it is not known.
    [[nodiscard]] double find(std::string const& name) const {
        const auto found = samples_.others.find(name);
        return found == samples_.others.end() ? 0 : found->second;
    }
    /// Too many are forgotten all at once.
    void add(std::string const& name, double seconds) {
        if (samples_.others.size() >= most) samples_.others.clear();
        samples_.others[name] = seconds;
        kept_ = false;
    }
    /// Whether all of it is on the disk now.
    bool write() {
        if (kept_ || path_.empty() || (samples_.all.empty() && samples_.others.empty())) return kept_;
        if (samples_.all.size() > most) {
            samples_.all.erase(samples_.all.begin(), samples_.all.end() - static_cast<std::ptrdiff_t>(most));
        }
        for (std::size_t slash = path_.find('/', 1); slash != std::string::npos; slash = path_.find('/', slash + 1)) {
            ::mkdir(path_.substr(0, slash).c_str(), 0777);  // most are there; if the last is not, writing fails
        }
        // Writing to a pipe would wait for who reads it.
        struct stat status {};
        if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return false;
        try {
            write_file(path_, to_csv(samples_));
        } catch (error const&) {
            return false;
        }
        return kept_ = true;
    }

private:
    void read() {
        constexpr std::size_t limit = std::size_t{4} << 20;
        try {
            const SharedBytes file = read_file(path_, limit);
            Samples found = parse_samples(path_, file.text());
            if (found.about != samples_.about) return;
            samples_ = std::move(found);
            kept_ = true;
        } catch (error const&) {
            // Not there, or damaged: it is written anew.
        }
    }

    std::string path_;
    Samples samples_;
    bool kept_ = false;
};

}  // namespace primsel::inline PRIMSEL_ABI
