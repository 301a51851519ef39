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
    static constexpr std::string_view cpu = "Intel Xeon";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {0, 0.01001, 4.546, 0, 6.073e-09}},
        {"average_pool", "hcw", {0, 0.1971, 4.589, 0, 5.016e-09}},
        {"average_pool", "hwc", {0, 0.6754, 0.8822, 0, 8.681e-10}},
        {"batch_norm", "chw", {0, 1.135, 0.4392, 0, 1.894e-10}},
        {"batch_norm", "hcw", {2.408e-06, 1.027, 0.6862, 145.8, 3.283e-11}},
        {"batch_norm", "hwc", {3.368e-07, 1.211, 0, 2.324, 0}},
        {"channel_shuffle", "chw", {1.113e-07, 0.7554, 0, 0, 7.123e-10}},
        {"channel_shuffle", "hcw", {3.15e-07, 1.086, 0, 0, 8.597e-10}},
        {"channel_shuffle", "hwc", {1.458e-06, 3.74, 0, 0, 2.336e-09}},
        {"concat", "chw", {7.98e-08, 1.224, 0, 0, 2.012e-11}},
        {"concat", "hcw", {0, 1.128, 0, 0, 0}},
        {"concat", "hwc", {0, 1.112, 0, 0, 1.925e-09}},
        {"conv", "chw", {2.075e-07, 0.4246, 1.061, 0, 9.336e-10}},
        {"conv", "hcw", {0, 0.2047, 0, 0, 1.038e-08}},
        {"conv", "hwc", {2.656e-07, 0.3067, 3.482, 0, 1.198e-10}},
        {"dense", "chw", {1.207e-07, 24.07, 0, 1.276, 0}},
        {"dense", "hcw", {7.344e-08, 32.49, 0, 1.072, 0}},
        {"dense", "hwc", {7.101e-08, 0, 0, 1.021, 3.728e-08}},
        {"global_average_pool", "chw", {0, 0, 0, 0, 4.56e-09}},
        {"global_average_pool", "hcw", {0, 0, 0, 0, 5.504e-09}},
        {"global_average_pool", "hwc", {0, 0.7232, 0, 0, 6.376e-09}},
        {"max_pool", "chw", {0, 0.6253, 2.267, 0, 5.575e-09}},
        {"max_pool", "hcw", {2.606e-08, 0.6062, 2.405, 0, 4.874e-09}},
        {"max_pool", "hwc", {0, 0.6607, 1.01, 0, 1.645e-09}},
        {"relu", "chw", {4.889e-08, 1.186, 0, 0, 2.915e-11}},
        {"relu", "hcw", {9.078e-08, 1.189, 0, 0, 1.74e-11}},
        {"relu", "hwc", {2.323e-07, 1.18, 0, 0, 0}},
        {"slice", "chw", {0, 0.8688, 0, 0, 4.853e-12}},
        {"slice", "hcw", {5.19e-09, 0.7553, 0, 0, 4.187e-11}},
        {"slice", "hwc", {0, 0.9037, 0, 0, 6.643e-10}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
