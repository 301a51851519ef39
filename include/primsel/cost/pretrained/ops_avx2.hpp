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
    static constexpr std::string_view cpu = "Intel Xeon";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {0, 0.8577, 1.596, 0, 4.865e-09}},
        {"average_pool", "hcw", {0, 1.096, 1.463, 0, 3.802e-09}},
        {"average_pool", "hwc", {0, 0.5002, 0.4335, 0, 1.286e-09}},
        {"batch_norm", "chw", {5.26e-07, 1.185, 0, 21.54, 1.953e-10}},
        {"batch_norm", "hcw", {1.582e-06, 0.857, 0.3544, 39.12, 9.073e-10}},
        {"batch_norm", "hwc", {3.447e-07, 0.9681, 0.46, 5.181, 0}},
        {"channel_shuffle", "chw", {2.676e-07, 0.7887, 0, 0, 4.686e-10}},
        {"channel_shuffle", "hcw", {6.02e-07, 0.7575, 0, 0, 1.216e-09}},
        {"channel_shuffle", "hwc", {1.411e-06, 3.407, 0, 0, 1.743e-08}},
        {"concat", "chw", {0, 1.235, 0, 0, 0}},
        {"concat", "hcw", {0, 1.151, 0, 0, 0}},
        {"concat", "hwc", {0, 1.132, 0, 0, 1.893e-09}},
        {"conv", "chw", {1.629e-07, 0.2756, 1.252, 0, 8.092e-10}},
        {"conv", "hcw", {0, 0.1003, 1.402, 0, 4.913e-09}},
        {"conv", "hwc", {1.144e-07, 0.112, 2.359, 0, 0}},
        {"dense", "chw", {0, 0, 0.8757, 0.722, 0}},
        {"dense", "hcw", {0, 7.729, 0.2943, 0.9087, 1.363e-09}},
        {"dense", "hwc", {6.312e-08, 28.84, 0.1501, 0.9636, 0}},
        {"global_average_pool", "chw", {2.234e-08, 0, 0, 0, 2.959e-09}},
        {"global_average_pool", "hcw", {0, 0, 0, 0, 3.985e-09}},
        {"global_average_pool", "hwc", {2.129e-08, 0.1263, 0.6954, 0, 1.45e-10}},
        {"max_pool", "chw", {2.925e-07, 0.6612, 1.224, 0, 4.715e-09}},
        {"max_pool", "hcw", {4.037e-07, 0.6362, 1.272, 0, 3.66e-09}},
        {"max_pool", "hwc", {0, 0.4026, 0.8404, 0, 1.814e-09}},
        {"relu", "chw", {0, 1.161, 0, 0, 0}},
        {"relu", "hcw", {0, 1.159, 0, 0, 0}},
        {"relu", "hwc", {0, 1.159, 0, 0, 0}},
        {"slice", "chw", {0, 0.8282, 0, 0, 1.093e-13}},
        {"slice", "hcw", {1.438e-07, 0.6831, 0, 0, 1.167e-11}},
        {"slice", "hwc", {2.269e-08, 0.7574, 0, 0, 7.662e-10}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
