// Shared parts of this room's tests.
#pragma once

#include <primsel/dynamic/operating_point.hpp>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace governing {

/// Random operating points; the energy of one in four is unknown.
inline std::vector<primsel::dynamic::OperatingPoint> any_points(std::mt19937& bits, std::size_t count) {
    std::uniform_real_distribution<double> any(0.1, 1.0);
    std::vector<primsel::dynamic::OperatingPoint> points(count);
    for (primsel::dynamic::OperatingPoint& point : points) {
        point.core_set = bits() % 3, point.level = bits() % 4;
        point.seconds = any(bits), point.accuracy = std::ceil(10 * any(bits)) / 10;
        point.joules = bits() % 4 == 0 ? primsel::dynamic::OperatingPoint::unknown : any(bits);
    }
    return points;
}

}  // namespace governing
