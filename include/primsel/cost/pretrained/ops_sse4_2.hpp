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
    static constexpr std::string_view cpu = "AMD EPYC";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {1.119e-08, 0, 2.165, 1, 2.125e-08, 0}},
        {"average_pool", "hcw", {1.034e-08, 0.1046, 2.078, 1, 2.057e-08, 0}},
        {"average_pool", "hwc", {1.576e-07, 0.6324, 0.7715, 1, 7.11e-09, 0}},
        {"batch_norm", "chw", {2.952e-08, 0.5577, 2.008, 14.89, 0, 0}},
        {"batch_norm", "hcw", {0, 0.9512, 0.4291, 3.951, 1.334e-08, 0}},
        {"batch_norm", "hwc", {4.398e-08, 0.4399, 2.664, 2.969, 0, 0}},
        {"channel_shuffle", "chw", {9.49e-08, 1.445, 0, 1, 1.302e-09, 0}},
        {"channel_shuffle", "hcw", {2.973e-09, 0, 0, 1, 1.18e-08, 0}},
        {"channel_shuffle", "hwc", {6.734e-07, 5.918, 0, 1, 9.041e-09, 0}},
        {"concat", "chw", {9.39e-08, 1.487, 0, 1, 1.049e-09, 0}},
        {"concat", "hcw", {1.086e-07, 1.499, 0, 1, 1.037e-09, 0}},
        {"concat", "hwc", {4.616e-07, 2.104, 0, 1, 8.33e-09, 0}},
        {"conv", "chw", {7.466e-08, 0.3478, 4.159, 1, 7.463e-10, 0}},
        {"conv", "hcw", {6.681e-08, 0.8597, 1.438, 1, 1.256e-08, 0}},
        {"conv", "hwc", {2.329e-07, 0.2881, 4.244, 1, 4.252e-10, 0}},
        {"dense", "chw", {0, 0, 0.5666, 1.058, 0, 0}},
        {"dense", "hcw", {0, 0, 0.5767, 1.08, 0, 0}},
        {"dense", "hwc", {0, 0, 0.5695, 1.086, 0, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 1, 4.718e-09, 0}},
        {"global_average_pool", "hcw", {0, 1.431, 0, 1, 1.13e-08, 0}},
        {"global_average_pool", "hwc", {0, 1.084, 0.9177, 1, 0, 0}},
        {"lrn", "chw", {0, 6.025, 0.3532, 1, 5.453e-08, 0}},
        {"lrn", "hcw", {0, 6.025, 0.3532, 1, 5.453e-08, 0}},
        {"lrn", "hwc", {0, 6.025, 0.3532, 1, 5.453e-08, 0}},
        {"max_pool", "chw", {3.044e-08, 1.532, 1.877, 1, 1.256e-08, 0}},
        {"max_pool", "hcw", {2.523e-08, 1.33, 1.958, 1, 1.184e-08, 0}},
        {"max_pool", "hwc", {1.253e-07, 0.6481, 1.123, 1, 7.638e-10, 0}},
        {"relu", "chw", {1.157e-07, 0.6086, 1.23, 1, 5.579e-10, 0}},
        {"relu", "hcw", {1.13e-07, 0.6233, 1.148, 1, 6.178e-10, 0}},
        {"relu", "hwc", {2.536e-07, 0.1328, 2.319, 1, 0, 0}},
        {"slice", "chw", {2.815e-07, 1.428, 0, 1, 2.655e-10, 0}},
        {"slice", "hcw", {3.343e-07, 1.42, 0, 1, 2.709e-10, 0}},
        {"slice", "hwc", {3.505e-07, 2.012, 0, 1, 1.852e-09, 0}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
