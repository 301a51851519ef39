// Datasets that models are trained on and judged by, and how far off the models are.
#pragma once

#include "text.hpp"

#include <primsel/cost/evaluate.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cli {

/// The subjects at those positions only.
[[nodiscard]] ps::Dataset with_subjects(ps::Dataset const& data, std::vector<std::size_t> const& subjects);

/// Without the subjects that were never measured and the changes from a layout to itself.
[[nodiscard]] ps::Dataset without_idle(ps::Dataset const& data);

/// Tells a dataset's rows from others: a checksum of them.
[[nodiscard]] std::string fingerprint(ps::Dataset const& data);

/// evaluate(), but for what was not predicted (NaN).
struct Judgement {
    ps::Evaluation errors;
    std::size_t rows = 0;
    /// Measurements without a prediction.
    std::size_t not_predicted = 0;
};
[[nodiscard]] Judgement judge(ps::Dataset measured, ps::Table predicted);

[[nodiscard]] ps::Json to_json(Judgement const& judgement);
/// A heading, the errors of all and of families; of each subject if asked for.
[[nodiscard]] std::string to_text(std::string const& what, Judgement const& judgement, bool subjects);

}  // namespace cli
