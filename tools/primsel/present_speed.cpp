#include "present_speed.hpp"

#include "session.hpp"

#include <primsel/core/error.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/measure/pace.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace cli {
namespace {

/// None where the environment says that no file counts.
std::optional<ps::measure::PaceFile> pace_file(std::size_t threads) {
    const char* const how = std::getenv("PRIMSEL_MACHINE");
    if (how != nullptr && std::string_view(how) == "measure") return {};
    const ps::Kernels all = kernels();
    return ps::measure::PaceFile(all.arch, all.machine(static_cast<int>(threads)), ps::cache_directory(), threads);
}
double clock_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

PresentSpeed present_speed(std::size_t threads) {
    const auto file = pace_file(threads);
    if (!file) return {};
    const ps::measure::Pace pace = file->read();
    if (pace.size() == 0) return {};
    return {pace.factor(), pace.size(), std::max(clock_seconds() - pace.latest(), 0.0)};
}
std::string source_of(PresentSpeed const& speed) {
    return ps::join("by the latest runs of ", speed.networks, speed.networks == 1 ? " network" : " networks",
                    ", the last ", std::llround(speed.seconds_ago), " s ago");
}
std::string line_of(PresentSpeed const& speed) {
    if (speed.networks == 0) return {};
    return ps::join("at the machine's best; at its present speed ", ps::core::rounded_text(speed.factor, 3),
                    " times as long, ", source_of(speed), '\n');
}
void keep_pace(ps::Plan const& plan, PlanningOptions const& options, std::size_t threads, double seconds) {
    const bool is_prediction = options.costs.empty() && options.plan.empty() && options.calibration_seconds <= 0;
    const auto file = is_prediction ? pace_file(threads) : std::nullopt;
    if (!file) return;
    ps::measure::Pace pace = file->read();
    pace.add(plan.key.network, plan.total_seconds, seconds, clock_seconds());
    (void)file->write(pace);
}

}  // namespace cli
