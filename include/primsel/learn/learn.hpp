#pragma once

#include <primsel/cost/learned_cost.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/learn/tables.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Fits a regression to the times of a dataset, of primitives or of layout transforms: `fit(features, times)` gets a
/// row of features and one of logarithms of seconds (NaN where nothing was measured) for each row of the data.
template <class Fit>
    requires std::invocable<Fit&, FloatTable const&, FloatTable const&> &&
             Regression<std::invoke_result_t<Fit&, FloatTable const&, FloatTable const&>>
[[nodiscard]] auto fit_costs(Dataset const& data, Fit&& fit) {
    return Trained{data.subjects, fit(features_of(data), log_times(data))};
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
