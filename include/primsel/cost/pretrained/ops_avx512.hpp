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
    static constexpr std::string_view cpu = "AMD EPYC";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {0, 0, 4.23, 1, 4.304e-09}},
        {"average_pool", "hcw", {0, 0, 5.282, 1, 2.976e-09}},
        {"average_pool", "hwc", {4.319e-07, 0.3717, 1.226, 1, 3.452e-09}},
        {"batch_norm", "chw", {0, 0.9799, 0, 0, 3.403e-10}},
        {"batch_norm", "hcw", {5.814e-08, 0.9167, 0, 15.67, 8.875e-10}},
        {"batch_norm", "hwc", {0, 1.221, 0, 7.867, 2.998e-09}},
        {"channel_shuffle", "chw", {8.768e-08, 0.8354, 0, 1, 4e-10}},
        {"channel_shuffle", "hcw", {1.128e-07, 0.8064, 0, 1, 1.333e-09}},
        {"channel_shuffle", "hwc", {4.381e-07, 3.529, 0, 1, 8.966e-09}},
        {"concat", "chw", {0, 1.13, 0, 1, 7.895e-11}},
        {"concat", "hcw", {0, 1.079, 0, 1, 8.921e-11}},
        {"concat", "hwc", {2.147e-07, 1.076, 0, 1, 4.257e-09}},
        {"conv", "chw", {5.613e-08, 0.5251, 0.7468, 1, 6.952e-10}},
        {"conv", "hcw", {0, 0, 3.247, 1, 6.714e-09}},
        {"conv", "hwc", {1.565e-07, 0.4964, 2.075, 1, 3.643e-10}},
        {"dense", "chw", {0, 0, 0, 1.012, 0}},
        {"dense", "hcw", {0, 0, 0, 1.004, 0}},
        {"dense", "hwc", {0, 0, 0, 1.005, 0}},
        {"global_average_pool", "chw", {0, 4.309, 0, 1, 2.39e-09}},
        {"global_average_pool", "hcw", {0, 6.302, 0, 1, 2.678e-09}},
        {"global_average_pool", "hwc", {4.588e-08, 0, 3.061, 1, 0}},
        {"lrn", "chw", {0, 1.507, 0.3729, 1, 2.964e-09}},
        {"lrn", "hcw", {0, 1.819, 0.382, 1, 5.284e-09}},
        {"lrn", "hwc", {0, 1.774, 0.4499, 1, 7.336e-09}},
        {"max_pool", "chw", {0, 0.8645, 1.997, 1, 4.552e-09}},
        {"max_pool", "hcw", {0, 0.7518, 2.271, 1, 3.571e-09}},
        {"max_pool", "hwc", {7.508e-08, 0.5914, 1.08, 1, 1.088e-09}},
        {"relu", "chw", {0, 1.044, 0, 1, 8.849e-11}},
        {"relu", "hcw", {0, 1.051, 0, 1, 7.445e-11}},
        {"relu", "hwc", {1.256e-07, 1.074, 0, 1, 1.849e-09}},
        {"slice", "chw", {8.342e-08, 0.6724, 0, 1, 3.285e-11}},
        {"slice", "hcw", {4.379e-08, 0.6386, 0, 1, 6.462e-11}},
        {"slice", "hwc", {4.907e-08, 0.6696, 0, 1, 1.978e-09}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
