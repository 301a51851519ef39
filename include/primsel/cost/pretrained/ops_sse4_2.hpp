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
    static constexpr std::string_view cpu = "Intel Xeon, AMD EPYC";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {5.44e-06, 1.565, 2.284, 0.5, 1.062e-08}},
        {"average_pool", "hcw", {6.011e-06, 1.812, 2.189, 0.5, 9.714e-09}},
        {"average_pool", "hwc", {7.31e-08, 0.4736, 0.7572, 0.5, 5.247e-09}},
        {"batch_norm", "chw", {9.327e-07, 0.3052, 1.733, 62.34, 1.127e-10}},
        {"batch_norm", "hcw", {6.04e-06, 0.6453, 0.2992, 619.6, 8.996e-09}},
        {"batch_norm", "hwc", {1.91e-08, 0.04384, 2.513, 1.302, 2.08e-09}},
        {"channel_shuffle", "chw", {1.093e-07, 1.067, 0, 0.5, 1.278e-09}},
        {"channel_shuffle", "hcw", {7.523e-07, 0, 0, 0.5, 9.241e-09}},
        {"channel_shuffle", "hwc", {1.065e-06, 4.925, 0, 0.5, 3.561e-09}},
        {"concat", "chw", {1.899e-07, 1.27, 0, 0.5, 5.215e-10}},
        {"concat", "hcw", {2.841e-07, 1.26, 0, 0.5, 4.873e-10}},
        {"concat", "hwc", {1.188e-06, 1.557, 0, 0.5, 6.607e-09}},
        {"conv", "chw", {6.886e-08, 0.1365, 3.414, 0.5, 1.329e-09}},
        {"conv", "hcw", {6.603e-09, 0.258, 2.629, 0.5, 9.047e-09}},
        {"conv", "hwc", {2.231e-07, 0.2057, 4.243, 0.5, 3.402e-10}},
        {"dense", "chw", {0, 0, 0.6369, 0.8863, 0}},
        {"dense", "hcw", {0, 0, 0.6183, 0.882, 0}},
        {"dense", "hwc", {2.986e-09, 0, 0.5918, 0.8911, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 0.5, 4.065e-09}},
        {"global_average_pool", "hcw", {0, 3.812, 0, 0.5, 7.926e-09}},
        {"global_average_pool", "hwc", {0, 1.179, 0.5905, 0.5, 1.909e-10}},
        {"max_pool", "chw", {6.009e-09, 1.035, 2.099, 0.5, 1.16e-08}},
        {"max_pool", "hcw", {2.534e-09, 0.987, 2.033, 0.5, 1.108e-08}},
        {"max_pool", "hwc", {1.059e-07, 0.4284, 1.326, 0.5, 7.149e-10}},
        {"relu", "chw", {4.398e-08, 0.2018, 2.187, 0.5, 1.252e-10}},
        {"relu", "hcw", {5.621e-08, 0.1948, 2.187, 0.5, 1.327e-10}},
        {"relu", "hwc", {1.116e-07, 0.1958, 2.257, 0.5, 0}},
        {"slice", "chw", {3.016e-07, 1.087, 0, 0.5, 1.127e-10}},
        {"slice", "hcw", {4.022e-07, 1.11, 0, 0.5, 9.329e-11}},
        {"slice", "hwc", {2.375e-07, 1.538, 0, 0.5, 2.43e-09}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
