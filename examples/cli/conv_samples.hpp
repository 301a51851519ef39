// Times of primitives in profiles of any machine and instruction set, and what they are made of.
#pragma once

#include <primsel/learn/conv_regression.hpp>

#include <string>
#include <vector>

namespace cli {
namespace ps = primsel;

/// Of each profile of primitives among the files; those of layouts are passed over. Throws primsel::error, naming the
/// file, where one does not say its machine's speeds or is of an instruction set that this program cannot reckon for.
[[nodiscard]] std::vector<ps::ConvRegression::Sample> conv_samples(std::vector<std::string> const& paths);

}  // namespace cli
