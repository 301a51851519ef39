// Profiles of machines that there are not, for the tests of this room.
#pragma once

#include "../io/scratch.hpp"

#include <primsel/core/executor.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/profile.hpp>

#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace machines {

inline primsel::Sequential executor;
inline constexpr float missing = std::numeric_limits<float>::quiet_NaN();

inline primsel::Kernels kernels() {
    return primsel::make_kernels<primsel::AllPrimitives, primsel::default_arch, primsel::AllLayouts>();
}

/// Times that grow with the operations; kn2row computes at stride 1 alone, winograd-2-3 then only 3 x 3 kernels,
/// "never" nothing.
inline primsel::learn::Dataset primitives(std::size_t rows, unsigned seed, double slower = 1) {
    primsel::learn::Dataset data{.inputs = {"c", "k", "im", "f", "s"},
                                 .subjects = {"direct-hwc", "kn2row", "winograd-2-3", "never"},
                                 .about = {{"arch", "abacus"}, {"cpu", "wooden"}},
                                 .configurations = {},
                                 .seconds = {}};
    std::mt19937 generator(seed);
    const auto draw = [&](unsigned least, unsigned most) {
        return static_cast<int>(least + generator() % (most - least + 1));
    };
    for (std::size_t row = 0; row < rows; ++row) {
        const int c = draw(3, 256), k = draw(8, 256), im = 7 * draw(1, 8), f = row % 3 == 2 ? 1 : 3,
                  s = row % 3 == 1 ? 2 : 1;
        const int configuration[] = {c, k, im, f, s};
        const double seconds = slower * (1e-6 + 5e-11 * c * k * f * f * (im / s) * (im / s));
        const double times[] = {seconds, s == 1 ? 0.6 * seconds : 0, f == 3 && s == 1 ? 0.3 * seconds : 0, 0};
        data.add(configuration, times);
    }
    return data;
}

/// Times that grow with the elements.
inline primsel::learn::Dataset layouts(std::size_t rows, unsigned seed, double slower = 1) {
    primsel::learn::Dataset data{.inputs = {"c", "im"},
                                 .subjects = {"chw-to-chw", "chw-to-hwc", "hwc-to-chw"},
                                 .about = {{"arch", "abacus"}, {"cpu", "wooden"}},
                                 .configurations = {},
                                 .seconds = {}};
    std::mt19937 generator(seed);
    for (std::size_t row = 0; row < rows; ++row) {
        const int configuration[] = {static_cast<int>(3 + generator() % 500), static_cast<int>(7 + generator() % 100)};
        const double seconds = slower * (5e-7 + 1e-9 * configuration[0] * configuration[1] * configuration[1]);
        const double times[] = {1e-9, seconds, 2 * seconds};
        data.add(configuration, times);
    }
    return data;
}

inline primsel::learn::Profile profile(std::size_t rows, unsigned seed, double slower = 1) {
    return {{"p.csv", primitives(rows, seed, slower)},
            primsel::learn::NamedDataset{"l.csv", layouts(rows, seed, slower)}};
}

using scratch::error_of;

}  // namespace machines
