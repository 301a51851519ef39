// The numbers that the paper gives ("Optimising the Performance of Convolutional Neural Networks across Computing
// Systems using Transfer Learning", Mulder, Radu and Dubach 2020, sections 4 and 5).
#pragma once

#include <array>
#include <string_view>

namespace reproduce::paper {

/// Table 2, by family: how many primitives have so many data points. Table 6 names them.
struct Counted {
    std::string_view family, points;
};
inline constexpr std::array counted{Counted{"direct", "4665"}, Counted{"im2", "8 x 4665, 12 x 1974"},
                                    Counted{"kn2", "1974"},    Counted{"wino3", "419"},
                                    Counted{"wino5", "417"},   Counted{"conv-1x1", "419"},
                                    Counted{"mec", "4665"}};

/// Table 4: milliseconds to predict and solve, and how long profiling took.
struct Selected {
    std::string_view network;
    double milliseconds;
    std::string_view intel, amd;
};
inline constexpr std::array selected{
    Selected{"alexnet", 43.6, "66 s", "189 s"},  Selected{"vgg11", 327, "0.20 h", "0.67 h"},
    Selected{"vgg19", 673, "0.57 h", "1.79 h"},  Selected{"googlenet", 177, "182 s", "445 s"},
    Selected{"resnet18", 119, "242 s", "736 s"}, Selected{"resnet34", 194, "494 s", "0.41 h"}};

/// Table 5: rows are the family that was trained with, columns those evaluated, in the order of `families`.
inline constexpr std::array<std::array<int, 7>, 7> by_family{{{1, 44, 32, 28, 28, 26, 18},
                                                              {3, 1, 6, 8, 8, 3, 3},
                                                              {2, 13, 1, 10, 8, 8, 4},
                                                              {5, 18, 11, 1, 3, 3, 4},
                                                              {6, 16, 10, 4, 1, 4, 5},
                                                              {8, 32, 24, 11, 15, 1, 12},
                                                              {5, 36, 24, 23, 21, 19, 1}}};

}  // namespace reproduce::paper
