#pragma once

#include <primsel/core/work.hpp>
#include <primsel/tensor/transform.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The work of transform<From, To> for one image of the shape.
template <Layout From, Layout To>
[[nodiscard]] Work transform_work(Shape shape) {
    const auto size = static_cast<double>(shape.size());
    const double bytes = 8 * size;
    if (same_placement<From, To>(shape)) return Work{}.add({.bytes = bytes, .working_set = bytes});
    if constexpr (tensor::moves_rows<From, To>) {
        // Each row of w is a copy of its own, and starting it takes about three operations.
        const double rows = 1.0 * shape.c * shape.h;
        return Work{}
            .add({.rate = Rate::scalar, .operations = 3 * rows, .working_set = bytes})
            .add({.bytes = bytes, .working_set = bytes});
    } else if constexpr (tensor::transposes<From, To> || TransformsFrom<To, From> || TransformsTo<From, To>) {
        // A transpose writes four floats at a time: half the speed of a copy.
        return Work{}.add({.bytes = 2 * bytes, .working_set = bytes});
    } else {
        return Work{}.add({.rate = Rate::scalar, .operations = size, .bytes = bytes, .working_set = bytes});
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
