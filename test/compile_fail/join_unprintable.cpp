// expect: no matching function for call to
#include <primsel/core/config.hpp>
#include <primsel/core/error.hpp>

struct Opaque {};
#ifdef PRIMSEL_TEST_FIXED
std::string to_string(Opaque) { return "opaque"; }
#endif

std::string text = primsel::join("a part that nobody can print: ", Opaque{});
