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
        {"average_pool", "chw", {7.499e-09, 2.537, 1.723, 1, 2.042e-08, 0}},
        {"average_pool", "hcw", {7.188e-09, 0, 2.082, 1, 2.116e-08, 0}},
        {"average_pool", "hwc", {1.884e-07, 1.23, 0.685, 1, 1.544e-09, 0}},
        {"batch_norm", "chw", {1.34e-08, 0.7252, 1.794, 4.404, 8.965e-10, 0}},
        {"batch_norm", "hcw", {0, 0.9888, 0.4298, 0, 1.361e-08, 0}},
        {"batch_norm", "hwc", {4.031e-08, 0.5228, 3.007, 1.222, 0, 0}},
        {"channel_shuffle", "chw", {8.933e-08, 1.454, 0, 1, 1.305e-09, 0}},
        {"channel_shuffle", "hcw", {3.232e-09, 0, 0, 1, 1.189e-08, 0}},
        {"channel_shuffle", "hwc", {6.825e-07, 6.788, 0, 1, 5.665e-09, 0}},
        {"concat", "chw", {5.014e-08, 1.517, 0, 1, 1.163e-09, 0}},
        {"concat", "hcw", {3.176e-08, 1.521, 0, 1, 1.21e-09, 0}},
        {"concat", "hwc", {4.788e-07, 2.29, 0, 1, 8.093e-09, 0}},
        {"conv", "chw", {9.08e-08, 0.371, 4.13, 1, 7.736e-10, 0}},
        {"conv", "hcw", {7.779e-08, 0.8768, 1.518, 1, 1.255e-08, 0}},
        {"conv", "hwc", {2.436e-07, 0.2791, 4.29, 1, 3.876e-10, 0}},
        {"dense", "chw", {0, 0, 0.4758, 1.14, 0, 0}},
        {"dense", "hcw", {0, 0, 0.4811, 1.159, 0, 0}},
        {"dense", "hwc", {0, 0, 0.4791, 1.167, 0, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 1, 4.735e-09, 0}},
        {"global_average_pool", "hcw", {0, 1.38, 0, 1, 1.136e-08, 0}},
        {"global_average_pool", "hwc", {0, 0.9301, 1.033, 1, 0, 0}},
        {"lrn", "chw", {0, 5.563, 0.3922, 1, 5.412e-08, 0}},
        {"lrn", "hcw", {0, 5.563, 0.3922, 1, 5.412e-08, 0}},
        {"lrn", "hwc", {0, 5.563, 0.3922, 1, 5.412e-08, 0}},
        {"max_pool", "chw", {5.076e-08, 1.546, 1.889, 1, 1.271e-08, 0}},
        {"max_pool", "hcw", {4.603e-08, 1.216, 2.056, 1, 1.194e-08, 0}},
        {"max_pool", "hwc", {1.078e-07, 0.646, 1.126, 1, 8.561e-10, 0}},
        {"relu", "chw", {8.412e-08, 0.7415, 1.034, 1, 6.894e-10, 0}},
        {"relu", "hcw", {7.778e-08, 0.7547, 0.9517, 1, 8.441e-10, 0}},
        {"relu", "hwc", {2.34e-07, 0.2544, 2.298, 1, 0, 0}},
        {"slice", "chw", {2.852e-07, 1.462, 0, 1, 2.491e-10, 0}},
        {"slice", "hcw", {3.501e-07, 1.464, 0, 1, 2.495e-10, 0}},
        {"slice", "hwc", {3.482e-07, 2.016, 0, 1, 1.85e-09, 0}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
