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
        {"average_pool", "chw", {1.116e-08, 0.06525, 2.155, 1, 2.12e-08, 0}},
        {"average_pool", "hcw", {1.044e-08, 0.1203, 2.076, 1, 2.052e-08, 0}},
        {"average_pool", "hwc", {1.473e-07, 0.8145, 0.7438, 1, 5.378e-09, 0}},
        {"batch_norm", "chw", {2.837e-08, 0.6589, 1.918, 14.62, 0, 0}},
        {"batch_norm", "hcw", {0, 0.9903, 0.3939, 3.225, 1.334e-08, 0}},
        {"batch_norm", "hwc", {4.424e-08, 0.5246, 2.592, 2.57, 0, 0}},
        {"channel_shuffle", "chw", {2.855e-08, 1.382, 0, 1, 1.237e-09, 0}},
        {"channel_shuffle", "hcw", {2.973e-09, 0, 0, 1, 1.18e-08, 0}},
        {"channel_shuffle", "hwc", {6.569e-07, 6.014, 0, 1, 4.583e-09, 0}},
        {"concat", "chw", {1.183e-07, 1.54, 0, 1, 8.743e-10, 0}},
        {"concat", "hcw", {1.239e-07, 1.546, 0, 1, 8.658e-10, 0}},
        {"concat", "hwc", {4.521e-07, 2.127, 0, 1, 6.842e-09, 0}},
        {"conv", "chw", {8.638e-08, 0.3728, 4.101, 1, 7.431e-10, 0}},
        {"conv", "hcw", {7.758e-08, 0.8812, 1.374, 1, 1.252e-08, 0}},
        {"conv", "hwc", {2.447e-07, 0.3182, 4.175, 1, 4.177e-10, 0}},
        {"dense", "chw", {0, 0, 0.5666, 1.058, 0, 0}},
        {"dense", "hcw", {0, 0, 0.5767, 1.08, 0, 0}},
        {"dense", "hwc", {0, 0, 0.5695, 1.086, 0, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 1, 4.718e-09, 0}},
        {"global_average_pool", "hcw", {0, 1.56, 0, 1, 1.118e-08, 0}},
        {"global_average_pool", "hwc", {0, 1.521, 0.558, 1, 0, 0}},
        {"lrn", "chw", {0, 6.025, 0.3532, 1, 5.453e-08, 0}},
        {"lrn", "hcw", {0, 6.025, 0.3532, 1, 5.453e-08, 0}},
        {"lrn", "hwc", {0, 6.025, 0.3532, 1, 5.453e-08, 0}},
        {"max_pool", "chw", {2.981e-08, 1.542, 1.879, 1, 1.247e-08, 0}},
        {"max_pool", "hcw", {2.467e-08, 1.333, 1.964, 1, 1.175e-08, 0}},
        {"max_pool", "hwc", {1.051e-07, 0.6375, 1.121, 1, 8.414e-10, 0}},
        {"relu", "chw", {1.181e-07, 0.6941, 1.115, 1, 5.025e-10, 0}},
        {"relu", "hcw", {1.119e-07, 0.6961, 1.05, 1, 5.567e-10, 0}},
        {"relu", "hwc", {2.632e-07, 0.334, 2.024, 1, 0, 0}},
        {"slice", "chw", {4.064e-07, 1.306, 0, 1, 2.285e-10, 0}},
        {"slice", "hcw", {4.533e-07, 1.39, 0, 1, 1.906e-10, 0}},
        {"slice", "hwc", {4.883e-07, 1.791, 0, 1, 1.816e-09, 0}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
