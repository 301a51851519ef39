#pragma once

#include <primsel/kernels/kernels.hpp>
#include <primsel/learn/sample.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/plan/fingerprint.hpp>
#include <primsel/version.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

/// Measurements of these kernels on this machine. It lasts as long as the object; measure/calibration_file.hpp has one
/// that is kept in a file.
class Calibration {
public:
    /// The number of latest samples that are kept when old ones are dropped. add() drops them at twice this number.
    static constexpr std::size_t most = 4096;

    explicit Calibration(Kernels const& kernels) {
        samples_.about = {{"arch", std::string(kernels.arch)},
                          {"cpu", cpu_name()},
                          {"primitives", fingerprint(kernels)},
                          {"version", std::string(version)}};
    }

    /// The samples, from the oldest to the latest.
    [[nodiscard]] std::vector<learn::Sample> const& samples() const { return samples_.all; }
    void add(learn::Sample sample) {
        samples_.all.push_back(std::move(sample));
        changed_ = true;
        if (samples_.all.size() < 2 * most) return;
        forget();
    }
    /// The seconds of another thing that was timed, by its name; 0 where it is not known.
    [[nodiscard]] double find(std::string const& name) const {
        const auto found = samples_.others.find(name);
        return found == samples_.others.end() ? 0 : found->second;
    }
    /// Sets the seconds of a named thing. If `most` names are known already, all of them are dropped first.
    void add(std::string const& name, double seconds) {
        if (samples_.others.size() >= most) samples_.others.clear();
        samples_.others[name] = seconds;
        changed_ = true;
    }

protected:
    void forget() {
        auto& all = samples_.all;
        if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
    }

    learn::Samples samples_;
    /// Whether anything was added.
    bool changed_ = false;
};

}  // namespace primsel::inline PRIMSEL_ABI::measure
