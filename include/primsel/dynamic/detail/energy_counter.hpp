#pragma once

#include <primsel/core/error.hpp>
#include <primsel/dynamic/detail/system_file.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#ifdef __linux__

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// Sums the system's sensors of energy and power.
class EnergyCounter {
public:
    /// Adds a counter of microjoules that wraps around to 0 after `most`; `most` is 0 if that is unknown. Left out if
    /// it cannot be read.
    void add_energy(SystemFile file, std::int64_t most) {
        Sensor sensor{std::move(file), most, 0, true};
        if (sensor.file.read(sensor.last)) sensors_.push_back(std::move(sensor));
    }
    /// Adds a sensor of microwatts, whose readings are multiplied by the time that passed. Left out if it cannot be
    /// read.
    void add_power(SystemFile file) {
        Sensor sensor{std::move(file), 0, 0, false};
        if (sensor.file.read(sensor.last)) sensors_.push_back(std::move(sensor));
    }
    [[nodiscard]] std::size_t size() const noexcept { return sensors_.size(); }

    /// The joules so far; NaN if there is no sensor. `seconds` is the present time: power counts from the first call
    /// on.
    [[nodiscard]] double joules(double seconds) noexcept {
        if (sensors_.empty()) return std::numeric_limits<double>::quiet_NaN();
        const double passed = seconds - last_seconds_;
        for (Sensor& sensor : sensors_) {
            std::int64_t now = 0;
            if (!sensor.file.read(now) || now < 0) continue;
            if (sensor.counts) {
                const bool began_again = now < sensor.last;
                if (!began_again || sensor.most > 0) {
                    joules_ += 1e-6 * (static_cast<double>(now) - static_cast<double>(sensor.last) +
                                       (began_again ? static_cast<double>(sensor.most) : 0.0));
                }
            } else if (began_ && passed > 0) {
                joules_ += 1e-6 * static_cast<double>(now) * passed;
            }
            sensor.last = now;
        }
        began_ = true, last_seconds_ = seconds;
        return joules_;
    }

private:
    struct Sensor {
        SystemFile file;
        std::int64_t most = 0, last = 0;
        bool counts = true;
    };
    std::vector<Sensor> sensors_;
    double joules_ = 0, last_seconds_ = 0;
    bool began_ = false;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail

#endif
