// What cost models that are no files say of datasets.
#pragma once

#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>

#include <string_view>

namespace cli {

namespace ps = primsel;

/// Whether there is a primitive, or a change of layout, of that name.
[[nodiscard]] bool is_subject(ps::Dataset const& data, std::string_view name);

/// Whether these costs are computed, not read from a file: analytical, semi-empirical or pretrained.
[[nodiscard]] bool is_computed(std::string_view costs);

/// The logarithms of what computed costs predict for everything that was measured; NaN where nothing was, and for what
/// is none of this program's primitives or changes of layout.
[[nodiscard]] ps::Table log_predictions(ps::Dataset const& data, std::string_view costs);

}  // namespace cli
