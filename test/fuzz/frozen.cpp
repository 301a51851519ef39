// Any bytes are the weights of frozen networks or are refused in words, whatever their tables say; what is taken is
// whole.
#include "refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <primsel/frozen/files.hpp>
#include <primsel/frozen/weights.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz_frozen {

namespace frozen = primsel::frozen;

int run(const std::uint8_t* data, std::size_t size) {
    const std::string_view file(reinterpret_cast<const char*>(data), size);
    // A key that the bytes cannot know.
    if (frozen::find_sections(std::as_bytes(std::span(file)), {"0.0.0", "none", 1}, {}, {}) == nullptr) std::abort();
    std::vector<frozen::PackedPlan> plans;
    try {
        plans = frozen::packed_plans(file);
    } catch (primsel::error const&) {
        return 0;
    }
    const std::string again = frozen::weights_file(plans);
    const std::vector<frozen::PackedPlan> same = frozen::packed_plans(again);
    if (same.size() != plans.size()) std::abort();
    for (std::size_t i = 0; i < plans.size(); ++i) {
        if (same[i].arch != plans[i].arch || same[i].sections != plans[i].sections) std::abort();
    }
    return 0;
}

}  // namespace fuzz_frozen
