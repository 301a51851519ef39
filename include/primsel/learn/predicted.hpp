#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/finite.hpp>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Returns whether a regression's answer, the logarithm of seconds, is a prediction: NaN and infinities are not.
/// Evaluations count missing predictions (Evaluation::not_predicted) and leave them out of errors. LearnedCost asks
/// another model instead.
[[nodiscard]] inline bool is_prediction(float logarithm) { return is_finite(logarithm); }

}  // namespace primsel::inline PRIMSEL_ABI::learn
