// Times of layers that are no convolutions: taken here, or in files of any machine.
#pragma once

#include "progress.hpp"

#include <primsel/cost/op_coefficients.hpp>
#include <primsel/learn/op_regression.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cli {
namespace ps = primsel;

/// Facts about this program and machine, for what is learned here.
[[nodiscard]] std::map<std::string, std::string> about_here();

/// The networks of those names, or all that are listed where it is empty or says "all".
[[nodiscard]] std::vector<std::string> networks_of(std::vector<std::string> names);
/// Times of the layers of networks that are no convolutions, here and by the kernels of this instruction set; one tick
/// of progress a network.
[[nodiscard]] std::vector<ps::OpTime> time_ops(std::vector<std::string> const& networks, Progress& progress);
/// Times the same layers, and then `drawn` layers that are drawn at random, each layer once. Appends them to a file
/// that may have some of them.
void write_op_times(std::string const& path, std::vector<std::string> const& networks, std::size_t drawn,
                    std::uint64_t seed);

struct OpSamples {
    std::map<std::string, std::string> about{};
    std::vector<ps::learn::OpRegression::Sample> samples{};
};
/// The samples of all files with times of ops of an instruction set; the others are passed over. Throws primsel::error
/// where there are none.
[[nodiscard]] OpSamples op_samples_of(std::vector<std::string> const& paths, std::string_view arch);

}  // namespace cli
