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
        {"average_pool", "chw", {1.051e-08, 1.354, 2.187, 1, 1.351e-08}},
        {"average_pool", "hcw", {1.167e-08, 1.633, 2.075, 1, 1.263e-08}},
        {"average_pool", "hwc", {1.462e-07, 0.4102, 0.8032, 1, 9.102e-09}},
        {"batch_norm", "chw", {1.934e-08, 0.3822, 2.108, 13.98, 0}},
        {"batch_norm", "hcw", {0, 0.8145, 0.5984, 13.16, 1.259e-08}},
        {"batch_norm", "hwc", {3.821e-08, 0, 2.863, 2.605, 0}},
        {"channel_shuffle", "chw", {1.886e-08, 1.388, 0, 1, 1.226e-09}},
        {"channel_shuffle", "hcw", {2.601e-09, 0, 0, 1, 1.164e-08}},
        {"channel_shuffle", "hwc", {5.601e-07, 6.2, 0, 1, 3.511e-09}},
        {"concat", "chw", {1.542e-07, 1.562, 0, 1, 7.646e-10}},
        {"concat", "hcw", {1.47e-07, 1.561, 0, 1, 7.496e-10}},
        {"concat", "hwc", {4.458e-07, 2.129, 0, 1, 4.143e-09}},
        {"conv", "chw", {2.422e-08, 0.1455, 4.475, 1, 6.464e-10}},
        {"conv", "hcw", {1.321e-08, 0.4104, 2.046, 1, 1.23e-08}},
        {"conv", "hwc", {2.143e-07, 0.2652, 4.251, 1, 4.169e-10}},
        {"dense", "chw", {0, 0, 0.7615, 0.8923, 0}},
        {"dense", "hcw", {0, 0, 0.7767, 0.9098, 0}},
        {"dense", "hwc", {0, 0, 0.7654, 0.9199, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 1, 4.699e-09}},
        {"global_average_pool", "hcw", {0, 1.731, 0, 1, 1.103e-08}},
        {"global_average_pool", "hwc", {0, 2.357, 0, 1, 3.818e-10}},
        {"max_pool", "chw", {1.202e-08, 1.572, 1.848, 1, 1.237e-08}},
        {"max_pool", "hcw", {5.069e-09, 1.457, 1.871, 1, 1.156e-08}},
        {"max_pool", "hwc", {1.148e-07, 0.6265, 1.122, 1, 7.894e-10}},
        {"relu", "chw", {8.797e-08, 0, 2.333, 1, 2.505e-10}},
        {"relu", "hcw", {1.124e-07, 0, 2.288, 1, 2.655e-10}},
        {"relu", "hwc", {2.233e-07, 0, 2.431, 1, 0}},
        {"slice", "chw", {4.01e-07, 1.311, 0, 1, 2.253e-10}},
        {"slice", "hcw", {4.51e-07, 1.394, 0, 1, 1.866e-10}},
        {"slice", "hwc", {4.749e-07, 1.805, 0, 1, 1.761e-09}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
