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
        {"average_pool", "chw", {1.293e-08, 4.081, 1.598, 1, 7.964e-09}},
        {"average_pool", "hcw", {1.3e-08, 5.161, 1.514, 1, 1.876e-09}},
        {"average_pool", "hwc", {0, 0.9114, 0.4152, 1, 3.031e-09}},
        {"batch_norm", "chw", {1.408e-07, 0, 2.222, 10.59, 0}},
        {"batch_norm", "hcw", {4.534e-08, 0, 2.269, 8.152, 4.661e-09}},
        {"batch_norm", "hwc", {1.272e-07, 0, 2.593, 1.203, 1.2e-08}},
        {"channel_shuffle", "chw", {0, 0.837, 0, 1, 9.435e-10}},
        {"channel_shuffle", "hcw", {2.244e-07, 0.6131, 0, 1, 5.828e-09}},
        {"channel_shuffle", "hwc", {5.382e-07, 3.757, 0, 1, 1.512e-09}},
        {"concat", "chw", {0, 1.075, 0, 1, 0}},
        {"concat", "hcw", {2.113e-08, 1.061, 0, 1, 0}},
        {"concat", "hwc", {0, 0.9687, 0, 1, 1.117e-08}},
        {"conv", "chw", {9.316e-08, 0.1845, 2.964, 1, 7.624e-10}},
        {"conv", "hcw", {2.783e-08, 0, 3.196, 1, 6.063e-09}},
        {"conv", "hwc", {1.302e-07, 0.1957, 3.592, 1, 2.791e-10}},
        {"dense", "chw", {0, 0, 0.4878, 0.7977, 0}},
        {"dense", "hcw", {0, 0, 0.4632, 0.7997, 0}},
        {"dense", "hwc", {0, 0, 0.5211, 0.8162, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 1, 3.983e-09}},
        {"global_average_pool", "hcw", {0, 0, 0, 1, 4.862e-09}},
        {"global_average_pool", "hwc", {0, 1.117, 0.01247, 1, 1.403e-09}},
        {"max_pool", "chw", {2.065e-08, 1.024, 2.093, 1, 6.649e-09}},
        {"max_pool", "hcw", {5.783e-08, 1.35, 1.843, 1, 5.06e-09}},
        {"max_pool", "hwc", {1.467e-07, 0.744, 0.825, 1, 6.436e-10}},
        {"relu", "chw", {0, 1.053, 0, 1, 0}},
        {"relu", "hcw", {0, 1.052, 0, 1, 0}},
        {"relu", "hwc", {0, 0.986, 0, 1, 5.719e-09}},
        {"slice", "chw", {3.292e-08, 0.5511, 0, 1, 1.651e-10}},
        {"slice", "hcw", {1.435e-07, 0.5983, 0, 1, 1.219e-10}},
        {"slice", "hwc", {6.203e-09, 0.9901, 0, 1, 1.469e-09}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
