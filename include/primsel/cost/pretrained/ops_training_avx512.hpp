// Written by `primsel pretrain`; not to be edited.
// clang-format off
#pragma once

#include <primsel/cost/op_coefficients.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::pretrained {

/// An OpModel.
struct ops_training_avx512 {
    static constexpr std::string_view arch = "avx512bw";
    static constexpr std::string_view compiler = "gcc 12.2.0";
    static constexpr std::string_view cpu = "Intel(R) Xeon(R) Processor";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"activation_gradient", "chw", {0, 0.9528, 0, 0, 0}},
        {"activation_gradient", "hcw", {0, 0.957, 0, 0, 0}},
        {"activation_gradient", "hwc", {0, 0.9331, 0, 0, 4.402e-11}},
        {"batch_statistics", "chw", {0, 0.5862, 1.637, 0, 9.561e-10}},
        {"batch_statistics", "hcw", {0, 0, 4.875, 0, 1.024e-09}},
        {"batch_statistics", "hwc", {1.075e-06, 1.089, 1.851, 0, 1.607e-09}},
        {"channel_sum", "chw", {1.02e-06, 0.3121, 5.555, 0, 8.665e-11}},
        {"channel_sum", "hcw", {1.663e-06, 0, 14, 0, 0}},
        {"channel_sum", "hwc", {3.124e-07, 1.01, 0.7893, 0, 1.572e-09}},
        {"normalize", "chw", {0, 0.839, 0, 0, 8.155e-10}},
        {"normalize", "hcw", {0, 0, 5.922, 0, 9.924e-10}},
        {"normalize", "hwc", {0, 0.9441, 0.8176, 0, 7.535e-11}},
        {"normalize_gradient", "chw", {0, 0.9285, 0, 0, 6.276e-10}},
        {"normalize_gradient", "hcw", {0, 0, 4.189, 0, 4.202e-10}},
        {"normalize_gradient", "hwc", {0, 0.8915, 0, 0, 1.47e-09}},
        {"normalize_sums", "chw", {0, 0.882, 0.2971, 0, 5.967e-10}},
        {"normalize_sums", "hcw", {0, 0.1708, 3.2, 0, 5.345e-10}},
        {"normalize_sums", "hwc", {1.441e-07, 0.9107, 0.5846, 0, 2.412e-10}},
        {"pool_gradient", "chw", {0.0001136, 0, 8.999, 0, 7.462e-09}},
        {"pool_gradient", "hcw", {0.0001029, 0, 10.58, 0, 8.843e-09}},
        {"pool_gradient", "hwc", {0, 0.6737, 2.423, 0, 8.538e-10}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
