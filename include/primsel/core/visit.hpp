#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

namespace core::detail {

/// Calls `function` with the alternative that the variant holds, which is that of index `First` or a later one.
template <std::size_t First, class Function, class Variant>
constexpr decltype(auto) visit_from(Function& function, Variant& variant) {
    constexpr std::size_t left = std::variant_size_v<std::remove_const_t<Variant>> - First;
    switch (variant.index() - First) {
        case 1:
            if constexpr (left > 1) return function(std::get<First + 1>(variant));
            break;
        case 2:
            if constexpr (left > 2) return function(std::get<First + 2>(variant));
            break;
        case 3:
            if constexpr (left > 3) return function(std::get<First + 3>(variant));
            break;
        case 4:
            if constexpr (left > 4) return function(std::get<First + 4>(variant));
            break;
        case 5:
            if constexpr (left > 5) return function(std::get<First + 5>(variant));
            break;
        case 6:
            if constexpr (left > 6) return function(std::get<First + 6>(variant));
            break;
        case 7:
            if constexpr (left > 7) return function(std::get<First + 7>(variant));
            break;
        default:
            if constexpr (left > 8) {
                if (variant.index() >= First + 8) return visit_from<First + 8>(function, variant);
            }
    }
    return function(std::get<First>(variant));
}

}  // namespace core::detail

namespace core {

/// std::visit of one variant, by switches of eight cases: they compile faster than libstdc++'s table of pointers. The
/// function gets an lvalue. Throws std::bad_variant_access if the variant holds nothing.
template <class Function, class Variant>
constexpr decltype(auto) visit(Function&& function, Variant&& variant) {
    if (variant.valueless_by_exception()) throw std::bad_variant_access();
    return detail::visit_from<0>(function, variant);
}

}  // namespace core

}  // namespace primsel::inline PRIMSEL_ABI
