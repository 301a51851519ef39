// The library's declarations agree with those of <windows.h>, and its headers bear that header's other macros.
#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>

#include <primsel/primsel.hpp>
#endif

#include <primsel/core/windows.hpp>

#include <doctest/doctest.h>

#include <string>

#if defined(_WIN32)
namespace windows = primsel::core::windows;

TEST_CASE("Windows: texts in UTF-8 become those of the system and come back; what is no UTF-8 becomes none") {
    for (const std::string text : {"", "plain", "\xc3\xbcmlaut \xce\xb1", "\xf0\x9f\x90\x88"}) {
        CHECK(windows::narrow(windows::wide(text)) == text);
    }
    CHECK(windows::wide("\xf0\x9f\x90\x88").size() == 2);
    CHECK(windows::wide("\xff").empty());
}
#endif
