#pragma once

#include <doctest/doctest.h>

#include <string>

namespace tests {

/// True once a test case has found that something outside the repository is missing. The program then ends with the
/// exit status 77, which CTest shows as "Skipped". Such cases stand in TEST_SUITE("outside"), which CTest runs by
/// itself.
inline bool any_skipped = false;

/// Says what is missing; the test case returns.
inline void skip(std::string const& missing) {
    any_skipped = true;
    MESSAGE("skipped: no ", missing);
}

}  // namespace tests
