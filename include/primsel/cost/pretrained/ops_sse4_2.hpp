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
        {"average_pool", "hcw", {1.022e-08, 0.08639, 2.081, 1, 2.061e-08, 0}},
        {"average_pool", "hwc", {1.647e-07, 0.4381, 0.7988, 1, 9e-09, 0}},
        {"batch_norm", "chw", {1.433e-08, 0.3934, 2.151, 13.4, 0, 0}},
        {"batch_norm", "hcw", {0, 0.9707, 0.4129, 3.264, 1.333e-08, 0}},
        {"batch_norm", "hwc", {3.81e-08, 0, 3.06, 0, 0, 0}},
        {"channel_shuffle", "chw", {9.937e-10, 1.416, 0, 1, 1.216e-09, 0}},
        {"channel_shuffle", "hcw", {2.973e-09, 0, 0, 1, 1.18e-08, 0}},
        {"channel_shuffle", "hwc", {5.951e-07, 6.264, 0, 1, 3.215e-09, 0}},
        {"concat", "chw", {1.304e-07, 1.579, 0, 1, 8.249e-10, 0}},
        {"concat", "hcw", {1.292e-07, 1.585, 0, 1, 8.134e-10, 0}},
        {"concat", "hwc", {4.287e-07, 2.183, 0, 1, 5.649e-09, 0}},
        {"conv", "chw", {4.879e-08, 0.212, 4.373, 1, 6.821e-10, 0}},
        {"conv", "hcw", {7.512e-08, 0.8566, 1.419, 1, 1.25e-08, 0}},
        {"conv", "hwc", {2.22e-07, 0.2539, 4.289, 1, 3.94e-10, 0}},
        {"dense", "chw", {0, 0, 0.5666, 1.058, 0, 0}},
        {"dense", "hcw", {0, 0, 0.5767, 1.08, 0, 0}},
        {"dense", "hwc", {0, 0, 0.5695, 1.086, 0, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 1, 4.718e-09, 0}},
        {"global_average_pool", "hcw", {0, 1.613, 0, 1, 1.116e-08, 0}},
        {"global_average_pool", "hwc", {2.235e-08, 2.394, 0, 1, 0, 0}},
        {"lrn", "chw", {0, 8.862, 0.1515, 1, 6.071e-08, 0}},
        {"lrn", "hcw", {0, 8.862, 0.1515, 1, 6.071e-08, 0}},
        {"lrn", "hwc", {0, 8.862, 0.1515, 1, 6.071e-08, 0}},
        {"max_pool", "chw", {3.208e-08, 1.569, 1.868, 1, 1.246e-08, 0}},
        {"max_pool", "hcw", {2.494e-08, 1.365, 1.943, 1, 1.175e-08, 0}},
        {"max_pool", "hwc", {9.923e-08, 0.6247, 1.125, 1, 8.722e-10, 0}},
        {"relu", "chw", {7.52e-08, 0, 2.406, 1, 2.286e-10, 0}},
        {"relu", "hcw", {9.703e-08, 0, 2.339, 1, 2.803e-10, 0}},
        {"relu", "hwc", {2.225e-07, 0, 2.509, 1, 0, 0}},
        {"slice", "chw", {4.095e-07, 1.314, 0, 1, 2.219e-10, 0}},
        {"slice", "hcw", {4.553e-07, 1.399, 0, 1, 1.841e-10, 0}},
        {"slice", "hwc", {4.676e-07, 1.812, 0, 1, 1.759e-09, 0}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
