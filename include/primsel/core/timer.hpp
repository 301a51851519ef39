#pragma once

#include <primsel/core/config.hpp>

#include <chrono>

namespace primsel::inline PRIMSEL_ABI {

/// Measures the seconds since its construction or last restart.
class Timer {
public:
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }
    void restart() { start_ = clock::now(); }

private:
    using clock = std::chrono::steady_clock;
    clock::time_point start_ = clock::now();
};

}  // namespace primsel::inline PRIMSEL_ABI
