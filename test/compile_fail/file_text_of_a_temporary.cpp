// expect: deleted
#include <primsel/io/file.hpp>

#include <string_view>

#ifdef PRIMSEL_TEST_FIXED
std::size_t size_of(primsel::SharedBytes const& file) { return file.text().size(); }
#else
std::string_view text = primsel::read_file("weights.bin").text();
#endif
