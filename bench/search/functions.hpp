// Standard test functions of optimisation, on the unit cube: each parameter goes from 0 to 1.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

namespace functions {

using std::numbers::pi;

/// Over [-5, 10] x [0, 15].
inline double branin(std::span<const double> u) {
    const double x = 15 * u[0] - 5, y = 15 * u[1];
    const double bent = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
    return bent * bent + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}
inline double hartmann3(std::span<const double> u) {
    constexpr double weights[4] = {1, 1.2, 3, 3.2};
    constexpr double a[4][3] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
    constexpr double p[4][3] = {
        {0.3689, 0.1170, 0.2673}, {0.4699, 0.4387, 0.7470}, {0.1091, 0.8732, 0.5547}, {0.0381, 0.5743, 0.8828}};
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        double inner = 0;
        for (std::size_t j = 0; j < 3; ++j) inner += a[i][j] * (u[j] - p[i][j]) * (u[j] - p[i][j]);
        sum -= weights[i] * std::exp(-inner);
    }
    return sum;
}
inline double hartmann6(std::span<const double> u) {
    constexpr double weights[4] = {1, 1.2, 3, 3.2};
    constexpr double a[4][6] = {
        {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
    constexpr double p[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        double inner = 0;
        for (std::size_t j = 0; j < 6; ++j) inner += a[i][j] * (u[j] - p[i][j]) * (u[j] - p[i][j]);
        sum -= weights[i] * std::exp(-inner);
    }
    return sum;
}
/// Over [-20, 40]^5: the optimum lies in no middle.
inline double ackley5(std::span<const double> u) {
    double squares = 0, waves = 0;
    for (const double share : u) {
        const double x = 60 * share - 20;
        squares += x * x, waves += std::cos(2 * pi * x);
    }
    const auto n = static_cast<double>(u.size());
    return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(waves / n) + 20 + std::numbers::e;
}
/// Over [-2, 2]^4.
inline double rosenbrock4(std::span<const double> u) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < u.size(); ++i) {
        const double x = 4 * u[i] - 2, y = 4 * u[i + 1] - 2;
        sum += 100 * (y - x * x) * (y - x * x) + (1 - x) * (1 - x);
    }
    return sum;
}

struct Function {
    std::string_view name;
    std::size_t parameters;
    double (*of)(std::span<const double>);
};
inline constexpr std::array<Function, 5> all{{{"branin", 2, branin},
                                              {"hartmann3", 3, hartmann3},
                                              {"hartmann6", 6, hartmann6},
                                              {"ackley5", 5, ackley5},
                                              {"rosenbrock4", 4, rosenbrock4}}};

}  // namespace functions
