#pragma once

#include <primsel/core/config.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The answer yes, or no with a reason that a user can read ("needs stride 1").
class Support {
public:
    [[nodiscard]] static constexpr Support yes() { return Support(nullptr); }
    /// Returns the answer no. The reason must be a string literal.
    [[nodiscard]] static constexpr Support no(const char* reason) { return Support(reason); }

    constexpr explicit operator bool() const { return reason_ == nullptr; }
    /// Returns the reason; empty for yes.
    [[nodiscard]] constexpr std::string_view reason() const { return reason_ == nullptr ? "" : reason_; }

private:
    constexpr explicit Support(const char* reason) : reason_(reason) {}
    const char* reason_;
};

}  // namespace primsel::inline PRIMSEL_ABI
