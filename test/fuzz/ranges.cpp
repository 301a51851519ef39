// Any text is a file of ranges or is refused with primsel::error that names it; ranges are written and read back as the
// same, bit for bit.
#include "refusal.hpp"

#include <primsel/plan/ranges_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace fuzz_ranges {

int run(const std::uint8_t* data, std::size_t size) {
    try {
        const primsel::TensorRanges ranges = primsel::parse_ranges("fuzz", {reinterpret_cast<const char*>(data), size});
        for (auto const& [name, range] : ranges) {
            if (!range.known() || range.zero_point < 0 || range.zero_point > 255) std::abort();
        }
        if (primsel::parse_ranges("fuzz", to_string(primsel::to_json(ranges), 2)) != ranges) std::abort();
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    return 0;
}

}  // namespace fuzz_ranges
