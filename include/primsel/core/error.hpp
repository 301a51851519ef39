#pragma once

#include <primsel/core/number_text.hpp>

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The exception that set-up throws. Its message names the file, the layer and the shapes involved. run() never throws.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

namespace core {
inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, char part) { text += part; }
template <std::integral T>
void append(std::string& text, T part) {
    text += std::to_string(part);
}
template <std::floating_point T>
void append(std::string& text, T part) {
    text += exact_text(part);
}
template <class T>
    requires requires(T const& part) {
        { to_string(part) } -> std::convertible_to<std::string>;
    }
void append(std::string& text, T const& part) {
    text += to_string(part);
}
}  // namespace core

/// Returns the parts joined as text. Parts are strings, characters, numbers (in the fewest digits that read back as the
/// same number) and types with a to_string.
template <class... Parts>
[[nodiscard]] std::string join(Parts const&... parts) {
    std::string text;
    (core::append(text, parts), ...);
    return text;
}

/// Throws an error whose message is the joined parts.
template <class... Parts>
[[noreturn]] void fail(Parts const&... parts) {
    throw error(join(parts...));
}

}  // namespace primsel::inline PRIMSEL_ABI
