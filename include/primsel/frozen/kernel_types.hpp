// Kernels as a program names them: types and the headers that declare them.
#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/type_list.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::frozen {

/// Returns a type as C++ names it from outside, without the inline namespace of the instruction set.
template <class T>
[[nodiscard]] std::string type_text() {
    // "... [with T = primsel::v0_1_0_x::chw]" of g++, "... [T = primsel::chw]" of clang.
    std::string_view name = __PRETTY_FUNCTION__;
    const std::size_t first = name.find("T = ") + 4;
    name = name.substr(first, name.find_first_of(";]", first) - first);
    std::string text(name);
    for (std::string_view inner : {std::string_view(PRIMSEL_ABI_TEXT "::"), std::string_view("{anonymous}::")}) {
        for (std::size_t at = text.find(inner); at != std::string::npos; at = text.find(inner)) {
            text.erase(at, inner.size());
        }
    }
    return text;
}

/// The types of all kernels that a plan may name.
struct KernelTypes {
    std::vector<std::pair<std::string_view, std::string>> primitives;  ///< by id
    std::vector<std::string> layouts;                                  ///< by position
};
template <class Primitives, class Layouts>
[[nodiscard]] KernelTypes kernel_types() {
    return []<class... P, class... L>(TypeList<P...>, TypeList<L...>) {
        KernelTypes types;
        (types.primitives.emplace_back(P::id, type_text<P>()), ...);
        (types.layouts.push_back(type_text<L>()), ...);
        return types;
    }(Primitives{}, Layouts{});
}

}  // namespace primsel::inline PRIMSEL_ABI::frozen
