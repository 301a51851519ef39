// Any bytes are a plan, or a file of ranges and layers' precision, or are refused with primsel::error; what is a plan
// reads back as the same, bit for bit, and can be printed and explained.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <primsel/plan/plan_file.hpp>
#include <primsel/plan/precision_file.hpp>
#include <primsel/plan/print.hpp>
#include <sstream>

namespace fuzz_plan {
std::optional<primsel::Plan> parse(std::string_view text) {
    try {
        return primsel::parse_plan("fuzz", text);
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
        return std::nullopt;
    }
}
std::optional<primsel::PrecisionFile> parse_precisions(std::string_view text) {
    try {
        return primsel::parse_precision_file("fuzz", text);
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
        return std::nullopt;
    }
}

int run(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto precisions = parse_precisions(text)) {
        const std::string written = primsel::to_string(primsel::to_json(*precisions));
        const auto again = parse_precisions(written);
        if (!again || again->ranges != precisions->ranges || again->errors != precisions->errors) std::abort();
        if (primsel::to_string(primsel::to_json(*again)) != written) std::abort();
    }
    const auto plan = parse(text);
    if (!plan) return 0;
    if (parse(primsel::to_string(primsel::to_json(*plan))) != plan) std::abort();
    std::ostringstream out;
    out << *plan;
    for (primsel::PlannedLayer const& layer : plan->layers) out << plan->explain(layer.name);
    return 0;
}

}  // namespace fuzz_plan
