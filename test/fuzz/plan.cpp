// Any bytes are a plan or are refused with primsel::error; what is a plan reads back as the same, bit for bit, and can
// be printed and explained.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <primsel/plan/plan_file.hpp>
#include <primsel/plan/print.hpp>
#include <sstream>

namespace {
std::optional<primsel::Plan> parse(std::string_view text) {
    try {
        return primsel::parse_plan("fuzz", text);
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
        return std::nullopt;
    }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto plan = parse({reinterpret_cast<const char*>(data), size});
    if (!plan) return 0;
    if (parse(primsel::to_string(primsel::to_json(*plan))) != plan) std::abort();
    std::ostringstream out;
    out << *plan;
    for (primsel::PlannedLayer const& layer : plan->layers) out << plan->explain(layer.name);
    return 0;
}
