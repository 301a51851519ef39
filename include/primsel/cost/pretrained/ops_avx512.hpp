// Written by `primsel pretrain`; not to be edited.
// clang-format off
#pragma once

#include <primsel/cost/op_coefficients.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::pretrained {

/// An OpModel.
struct ops_avx512 {
    static constexpr std::string_view arch = "avx512bw";
    static constexpr std::string_view compiler = "gcc 12.2.0";
    static constexpr std::string_view cpu = "Intel Xeon, AMD EPYC";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {0, 0.005005, 4.009, 0.5, 5.466e-09}},
        {"average_pool", "hcw", {0, 0.2352, 3.998, 0.5, 4.381e-09}},
        {"average_pool", "hwc", {0, 0.6547, 0.8839, 0.5, 1.045e-09}},
        {"batch_norm", "chw", {0, 0.684, 1.084, 2.481, 1.144e-10}},
        {"batch_norm", "hcw", {1.204e-06, 0.5135, 1.514, 94.02, 1.914e-11}},
        {"batch_norm", "hwc", {1.684e-07, 0.7755, 0.9753, 1.162, 0}},
        {"channel_shuffle", "chw", {5.969e-08, 0.8172, 0, 0.5, 5.109e-10}},
        {"channel_shuffle", "hcw", {1.575e-07, 0.8472, 0, 0.5, 1.245e-09}},
        {"channel_shuffle", "hwc", {9.002e-07, 3.739, 0, 0.5, 3.209e-09}},
        {"concat", "chw", {3.99e-08, 1.184, 0, 0.5, 1.006e-11}},
        {"concat", "hcw", {0, 1.121, 0, 0.5, 0}},
        {"concat", "hwc", {0, 1.087, 0, 0.5, 2.679e-09}},
        {"conv", "chw", {1.278e-07, 0.333, 1.538, 0.5, 7.359e-10}},
        {"conv", "hcw", {0, 0.1023, 0.8698, 0.5, 9.471e-09}},
        {"conv", "hwc", {1.689e-07, 0.3055, 3.146, 0.5, 9.191e-11}},
        {"dense", "chw", {6.035e-08, 12.04, 0.08462, 1.079, 0}},
        {"dense", "hcw", {3.672e-08, 16.25, 0.07606, 0.973, 0}},
        {"dense", "hwc", {3.55e-08, 0, 0.0815, 0.9503, 1.864e-08}},
        {"global_average_pool", "chw", {0, 0, 0, 0.5, 4.17e-09}},
        {"global_average_pool", "hcw", {0, 0, 0, 0.5, 4.925e-09}},
        {"global_average_pool", "hwc", {0, 0.7935, 0.2558, 0.5, 3.598e-09}},
        {"max_pool", "chw", {0, 0.5263, 2.149, 0.5, 5.275e-09}},
        {"max_pool", "hcw", {3.163e-08, 0.6759, 2.211, 0.5, 4.367e-09}},
        {"max_pool", "hwc", {7.393e-08, 0.6664, 0.976, 0.5, 1.193e-09}},
        {"relu", "chw", {2.445e-08, 1.134, 0, 0.5, 1.457e-11}},
        {"relu", "hcw", {4.539e-08, 1.135, 0, 0.5, 8.7e-12}},
        {"relu", "hwc", {1.162e-07, 1.126, 0, 0.5, 2.257e-10}},
        {"slice", "chw", {2.144e-08, 0.7844, 0, 0.5, 2.426e-12}},
        {"slice", "hcw", {1.968e-08, 0.7197, 0, 0.5, 2.093e-11}},
        {"slice", "hwc", {0, 0.7938, 0, 0.5, 1.169e-09}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
