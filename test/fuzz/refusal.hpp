// The properties that a fuzzer expects of a refusal.
#pragma once

#include <primsel/core/error.hpp>

#include <cstdlib>
#include <string_view>

/// It names the file, which fuzzers call "fuzz".
inline void check_refusal(primsel::error const& error) {
    if (!std::string_view(error.what()).starts_with("fuzz")) std::abort();
}
