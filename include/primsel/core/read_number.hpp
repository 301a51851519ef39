// Numbers read from text, independent of the locale.
#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/finite.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

namespace primsel::inline PRIMSEL_ABI {

namespace core::detail {

/// Types that the standard library's std::from_chars reads: libc++ before version 20 reads only integers.
template <class T>
concept ReadByCharconv = requires(const char* text, T& value) { std::from_chars(text, text, value); };

// The C library's reading of numbers in the locale "C", whichever the program has.
#if defined(_WIN32)
using Locale = ::_locale_t;
[[nodiscard]] inline Locale plain_locale() { return ::_create_locale(LC_ALL, "C"); }
// Older C libraries read no floats: rounded twice. Where std::from_chars reads them, as in libstdc++, nothing calls
// this.
[[nodiscard]] inline float strtof_in(const char* text, char** end, Locale in) {
    return static_cast<float>(::_strtod_l(text, end, in));
}
[[nodiscard]] inline double strtod_in(const char* text, char** end, Locale in) { return ::_strtod_l(text, end, in); }
#else
using Locale = ::locale_t;
[[nodiscard]] inline Locale plain_locale() { return ::newlocale(LC_ALL_MASK, "C", nullptr); }
[[nodiscard]] inline float strtof_in(const char* text, char** end, Locale in) { return ::strtof_l(text, end, in); }
[[nodiscard]] inline double strtod_in(const char* text, char** end, Locale in) { return ::strtod_l(text, end, in); }
#endif

/// Reads a whole text as std::from_chars does, by means of strtod. Refuses the additional forms of strtod: leading
/// blanks, a plus sign and hexadecimal digits.
template <std::floating_point T>
[[nodiscard]] bool read_number_by_strtod(std::string_view text, T& value) {
    static const Locale plain = plain_locale();
    const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
    const bool is_number = !digits.empty() && (digits[0] == '.' || (digits[0] >= '0' && digits[0] <= '9'));
    const bool is_word =
        !digits.empty() && (digits[0] == 'i' || digits[0] == 'I' || digits[0] == 'n' || digits[0] == 'N');
    if (!is_word && (!is_number || digits.find_first_of("xX") != std::string_view::npos)) return false;
    const std::string ended(text);
    char* end = nullptr;
    T read = 0;
    if constexpr (std::same_as<T, float>) {
        read = strtof_in(ended.c_str(), &end, plain);
    } else {
        read = static_cast<T>(strtod_in(ended.c_str(), &end, plain));
    }
    if (end != ended.c_str() + ended.size()) return false;
    const std::string_view mantissa = digits.substr(0, digits.find_first_of("eE"));
    const bool vanished = read == 0 && mantissa.find_first_of("123456789") != std::string_view::npos;
    if (is_number && (is_infinite(read) || vanished)) return false;
    value = read;
    return true;
}

}  // namespace core::detail

/// Reads a number; returns whether the whole text is one that fits the type.
template <class T>
[[nodiscard]] bool read_number(std::string_view text, T& value) {
    if constexpr (core::detail::ReadByCharconv<T>) {
        const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
        return fault == std::errc{} && end == text.data() + text.size();
    } else {
        return core::detail::read_number_by_strtod(text, value);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
