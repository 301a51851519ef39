#include "budget.hpp"

#include "../boards/simulated_platforms.hpp"

#include <primsel/core/error.hpp>
#include <primsel/dynamic/governor.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace xun2019 {
namespace {

namespace ps = primsel;
using reproduce::Cell;
using reproduce::Row;

/// A platform of the paper, and the paper's choice there. Core sets before `first` are taken by other programs.
struct Scene {
    const char* name;
    boards::SimulatedDescription board;
    std::size_t first;
    const char* paper;
};

}  // namespace

void report_budget(reproduce::Report& report, std::vector<double> const& accuracies) {
    constexpr double budget = 1.0 / 30;
    report.heading("Section IV-D: 30 images a second");
    report.paragraph(
        "The governor prefers accuracy, then less time. Times and ranges are the paper's (tables I and III), so a "
        "choice "
        "differs from the paper's only by what is preferred.");
    const Scene scenes[]{{"Odroid XU3", boards::odroid_xu3(), 0, "A15, 25 %"},
                         {"Jetson Nano", boards::jetson_nano(), 0, "GPU, 100 %, at the lower frequency"},
                         {"Jetson Nano, its GPU taken", boards::jetson_nano(), 1, "A57, 50 %"}};
    std::vector<Row> rows;
    for (Scene const& scene : scenes) {
        const boards::SimulatedPlatform platform(scene.board);
        std::vector<ps::dynamic::CoreState> states(platform.core_sets().size());
        platform.observe(states);
        for (std::size_t set = 0; set < scene.first; ++set) states[set].cores = 0;
        ps::dynamic::Governor<> governor(platform.points(accuracies), {.seconds = budget});
        ps::dynamic::OperatingPoint const& chosen = governor.decide(states);
        ps::dynamic::CoreSet const& cores = platform.core_sets()[chosen.core_set];
        rows.push_back(
            {scene.name, scene.paper,
             ps::join(cores.name, ", ", 25 * chosen.configuration, " %, ", cores.hertz[chosen.level] / 1e6, " MHz"),
             Cell(std::optional<double>(1e3 * chosen.seconds), 1)});
    }
    report.table("budget", "A budget of 33.3 ms an image", {"platform", "paper", "here", "ms an image"}, rows, true);
}

}  // namespace xun2019
