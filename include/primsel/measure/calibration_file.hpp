#pragma once

#include <primsel/io/cache.hpp>
#include <primsel/io/file.hpp>
#include <primsel/measure/calibration.hpp>
#include <primsel/network/fingerprint.hpp>

#include <cstddef>
#include <string>

namespace primsel::inline PRIMSEL_ABI::measure {

/// A Calibration that is kept in the user's cache directory for the next time: a file for each processor, Arch, list of
/// primitives and version of the library. It can be measured again, so that nothing that happens to the file is an
/// error: what cannot be read is not there, what cannot be written is not kept.
class CalibrationFile : public Calibration {
public:
    explicit CalibrationFile(Kernels const& kernels, std::string const& directory = cache_directory())
        : Calibration(kernels) {
        if (directory.empty()) return;
        network::Fingerprint print;
        for (auto const& [key, value] : samples_.about) print.add(key), print.add(value);
        path_ = join(directory, "/calibration-", print.text(), ".csv");
        read();
    }

    /// Where it is kept; empty where there is no place for it.
    [[nodiscard]] std::string const& path() const { return path_; }
    /// Whether all of it is on the disk now.
    bool write() {
        if (kept_ && !changed_) return true;
        if (path_.empty() || (samples_.all.empty() && samples_.others.empty())) return false;
        forget();
        if (!write_cache_file(path_, to_csv(samples_))) return false;
        changed_ = false;
        return kept_ = true;
    }

private:
    void read() {
        constexpr std::size_t limit = std::size_t{4} << 20;
        try {
            const SharedBytes file = read_file(path_, limit);
            learn::Samples found = learn::parse_samples(path_, file.text());
            if (found.about != samples_.about) return;
            samples_ = std::move(found);
            kept_ = true;
        } catch (error const&) {
            // Not there, or damaged: it is written anew.
        }
    }

    std::string path_;
    /// Whether what was read or written last is on the disk.
    bool kept_ = false;
};

}  // namespace primsel::inline PRIMSEL_ABI::measure
