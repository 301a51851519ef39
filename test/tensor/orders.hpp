// The orders of the axes beside the library's chw, hcw and hwc: layouts of a user's.
#pragma once

#include <primsel/tensor/layout.hpp>

struct cwh : primsel::tensor::detail::Strided<cwh> {
    static constexpr std::string_view name = "cwh";
    [[nodiscard]] static constexpr primsel::Strides strides(primsel::Shape shape) {
        return {shape.pixels(), 1, static_cast<std::size_t>(shape.h)};
    }
};
struct wch : primsel::tensor::detail::Strided<wch> {
    static constexpr std::string_view name = "wch";
    [[nodiscard]] static constexpr primsel::Strides strides(primsel::Shape shape) {
        const auto c = static_cast<std::size_t>(shape.c), h = static_cast<std::size_t>(shape.h);
        return {h, 1, c * h};
    }
};
struct whc : primsel::tensor::detail::Strided<whc> {
    static constexpr std::string_view name = "whc";
    [[nodiscard]] static constexpr primsel::Strides strides(primsel::Shape shape) {
        const auto c = static_cast<std::size_t>(shape.c), h = static_cast<std::size_t>(shape.h);
        return {1, c, c * h};
    }
};

/// Calls f with a layout of each of the six orders.
template <class F>
void for_each_order(F const& f) {
    f(primsel::chw{}), f(primsel::hcw{}), f(primsel::hwc{}), f(cwh{}), f(wch{}), f(whc{});
}

/// The same for what takes long to compile for a layout; of a user's, PRIMSEL_TEST_ORDER may name the only one.
template <class F>
void for_each_order_of_ops(F const& f) {
#ifdef PRIMSEL_TEST_ORDER
    f(primsel::chw{}), f(primsel::hcw{}), f(primsel::hwc{}), f(PRIMSEL_TEST_ORDER{});
#else
    for_each_order(f);
#endif
}
