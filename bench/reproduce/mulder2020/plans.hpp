// The measured cost of plans that are made by a model.
#pragma once

#include "models.hpp"
#include "platform.hpp"

#include <cstddef>

namespace reproduce {

/// Changes of layout as predicted; as measured where there is no model of them. The network must be one that
/// Platform::best knows. Throws error if the plan needs what was not measured.
[[nodiscard]] double increase_percent(World const& world, Platform const& platform, std::size_t network,
                                      AnyModel const& primitives, AnyModel const* layouts = nullptr);

/// A plan by a model of another machine and by those measurements of this one that refine() asks for.
struct RefinedPlan {
    std::size_t measurements = 0;
    /// The time to run each measured convolution once.
    double seconds = 0;
    double increase_percent = 0;
    /// Whether no further measurement seemed to pay.
    bool settled = false;
};
/// By no more than `most` measurements; changes of layout are as measured.
[[nodiscard]] RefinedPlan refine_plan(World const& world, Platform const& platform, std::size_t network,
                                      AnyModel const& primitives, std::size_t most);

/// The processor time of this thread so far: other work on the machine does not count.
[[nodiscard]] double cpu_seconds();

/// Milliseconds, medians over some plans.
struct SelectionTime {
    double predict = 0, solve = 0;
};
[[nodiscard]] SelectionTime time_selection(World const& world, Platform const& platform, std::size_t network,
                                           AnyModel const& primitives, AnyModel const& layouts, std::size_t plans);

}  // namespace reproduce
