// The machine's present speed, by the runs that this user's commands have timed.
#pragma once

#include "options.hpp"

#include <primsel/plan/plan.hpp>

#include <cstddef>
#include <string>

namespace cli {

struct PresentSpeed {
    double factor = 1;         ///< seconds for each predicted second
    std::size_t networks = 0;  ///< whose latest runs say so; 0: not known
    double seconds_ago = 0;    ///< of the latest
};
/// That of runs on so many threads. Not known where PRIMSEL_MACHINE=measure.
[[nodiscard]] PresentSpeed present_speed(std::size_t threads = 1);
/// "by the latest runs of 9 networks, the last 20 s ago".
[[nodiscard]] std::string source_of(PresentSpeed const& speed);
/// A line beside predictions: "at the machine's best; at its present speed 1.07 times as long, ..."; empty where it is
/// not known.
[[nodiscard]] std::string line_of(PresentSpeed const& speed);
/// Keeps what a run took, for present_speed, unless its prediction is not from the default costs.
void keep_pace(ps::Plan const& plan, PlanningOptions const& options, std::size_t threads, double seconds);

}  // namespace cli
