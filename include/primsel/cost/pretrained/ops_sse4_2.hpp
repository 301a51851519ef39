// Written by `primsel pretrain`; not to be edited.
// clang-format off
#pragma once

#include <primsel/cost/op_coefficients.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::pretrained {

/// An OpModel.
struct ops_sse4_2 {
    static constexpr std::string_view arch = "sse4.2";
    static constexpr std::string_view compiler = "gcc 12.2.0";
    static constexpr std::string_view cpu = "Intel Xeon";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {1.087e-05, 1.775, 2.381, 0, 7.741e-09}},
        {"average_pool", "hcw", {1.201e-05, 1.99, 2.304, 0, 6.803e-09}},
        {"average_pool", "hwc", {0, 0.5369, 0.7111, 0, 1.392e-09}},
        {"batch_norm", "chw", {1.846e-06, 0.2281, 1.358, 110.7, 2.255e-10}},
        {"batch_norm", "hcw", {1.208e-05, 0.4761, 0, 1226, 5.407e-09}},
        {"batch_norm", "hwc", {0, 0.08768, 2.162, 0, 4.159e-09}},
        {"channel_shuffle", "chw", {1.998e-07, 0.7451, 0, 0, 1.329e-09}},
        {"channel_shuffle", "hcw", {1.502e-06, 0, 0, 0, 6.837e-09}},
        {"channel_shuffle", "hwc", {1.569e-06, 3.65, 0, 0, 3.611e-09}},
        {"concat", "chw", {2.256e-07, 0.9776, 0, 0, 2.784e-10}},
        {"concat", "hcw", {4.211e-07, 0.9576, 0, 0, 2.251e-10}},
        {"concat", "hwc", {1.931e-06, 0.985, 0, 0, 9.071e-09}},
        {"conv", "chw", {1.135e-07, 0.1274, 2.353, 0, 2.011e-09}},
        {"conv", "hcw", {0, 0.1056, 3.212, 0, 5.797e-09}},
        {"conv", "hwc", {2.32e-07, 0.1462, 4.235, 0, 2.636e-10}},
        {"dense", "chw", {0, 0, 0.5124, 0.8803, 0}},
        {"dense", "hcw", {0, 0, 0.46, 0.8543, 0}},
        {"dense", "hwc", {5.973e-09, 0, 0.4182, 0.8623, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 0, 3.432e-09}},
        {"global_average_pool", "hcw", {0, 5.894, 0, 0, 4.822e-09}},
        {"global_average_pool", "hwc", {0, 0, 1.181, 0, 0}},
        {"max_pool", "chw", {0, 0.4974, 2.349, 0, 1.082e-08}},
        {"max_pool", "hcw", {0, 0.5175, 2.195, 0, 1.059e-08}},
        {"max_pool", "hwc", {9.703e-08, 0.2302, 1.529, 0, 6.403e-10}},
        {"relu", "chw", {0, 0.4035, 2.041, 0, 0}},
        {"relu", "hcw", {0, 0.3896, 2.087, 0, 0}},
        {"relu", "hwc", {0, 0.3917, 2.083, 0, 0}},
        {"slice", "chw", {2.021e-07, 0.8621, 0, 0, 0}},
        {"slice", "hcw", {3.533e-07, 0.827, 0, 0, 0}},
        {"slice", "hwc", {0, 1.272, 0, 0, 3.099e-09}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
