#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/finite.hpp>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Whether a regression's answer, the logarithm of seconds, is a prediction: NaN and what is infinite are none. The one
/// rule of all that judges or corrects predictions: what has none is counted (Evaluation::not_predicted) and is part of
/// no error; cost models ask another model for it (LearnedCost).
[[nodiscard]] inline bool is_prediction(float logarithm) { return is_finite(logarithm); }

}  // namespace primsel::inline PRIMSEL_ABI::learn
