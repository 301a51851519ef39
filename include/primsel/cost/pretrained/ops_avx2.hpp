// Written by `primsel pretrain`; not to be edited.
// clang-format off
#pragma once

#include <primsel/cost/op_coefficients.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::pretrained {

/// An OpModel.
struct ops_avx2 {
    static constexpr std::string_view arch = "fma3+avx2";
    static constexpr std::string_view compiler = "gcc 12.2.0";
    static constexpr std::string_view cpu = "AMD EPYC";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {9.192e-06, 1.464, 1.382, 1, 1.284e-08}},
        {"average_pool", "hcw", {8.433e-06, 1.75, 1.288, 1, 1.045e-08}},
        {"average_pool", "hwc", {3.119e-06, 0.445, 0.7915, 1, 0}},
        {"batch_norm", "chw", {3.933e-07, 0.08258, 2.111, 15.42, 3.531e-10}},
        {"batch_norm", "hcw", {0, 0, 2.118, 0, 8.353e-09}},
        {"batch_norm", "hwc", {3.716e-07, 0.003732, 3.492, 0, 0}},
        {"channel_shuffle", "chw", {2.805e-07, 0.5754, 0, 1, 8.537e-10}},
        {"channel_shuffle", "hcw", {1.221e-06, 0.3697, 0, 1, 5.423e-09}},
        {"channel_shuffle", "hwc", {4.031e-06, 2.12, 0, 1, 3.571e-09}},
        {"concat", "chw", {7.514e-07, 0.5235, 0, 1, 7.402e-10}},
        {"concat", "hcw", {1.013e-06, 0.5193, 0, 1, 6.996e-10}},
        {"concat", "hwc", {5.8e-06, 0.6927, 0, 1, 1.233e-09}},
        {"conv", "chw", {2.003e-07, 0.1108, 2.744, 1, 9.662e-10}},
        {"conv", "hcw", {3.655e-07, 0, 3.079, 1, 5.943e-09}},
        {"conv", "hwc", {3.117e-07, 0.07608, 3.884, 1, 3.921e-10}},
        {"dense", "chw", {0, 0, 0.5339, 0.7837, 0}},
        {"dense", "hcw", {0, 0, 0.5198, 0.779, 0}},
        {"dense", "hwc", {0, 0, 0.5475, 0.7844, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 1, 4.02e-09}},
        {"global_average_pool", "hcw", {0, 0, 0, 1, 4.981e-09}},
        {"global_average_pool", "hwc", {0, 1.074, 0.1922, 1, 0}},
        {"max_pool", "chw", {0, 0.5153, 2.906, 1, 1.083e-08}},
        {"max_pool", "hcw", {0, 0.5378, 3.014, 1, 8.706e-09}},
        {"max_pool", "hwc", {8.509e-07, 0.1131, 1.674, 1, 8.56e-10}},
        {"relu", "chw", {3.75e-07, 0.06633, 4.198, 1, 8.203e-11}},
        {"relu", "hcw", {5.334e-07, 0.03233, 4.547, 1, 1.163e-11}},
        {"relu", "hwc", {2.605e-07, 0, 4.779, 1, 0}},
        {"slice", "chw", {2.126e-07, 0.4571, 0, 1, 7.996e-11}},
        {"slice", "hcw", {3.695e-07, 0.4646, 0, 1, 5.028e-11}},
        {"slice", "hwc", {1.614e-07, 0.6635, 0, 1, 2.072e-09}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
