// Any bytes parse as JSON or are refused with primsel::error; what parsed prints, and reads back as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <primsel/io/json.hpp>

namespace fuzz_json {
std::optional<primsel::JsonCursor> parse(std::string_view text) {
    try {
        return primsel::parse_json("fuzz", text);
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
        return std::nullopt;
    }
}

int run(const std::uint8_t* data, std::size_t size) {
    const auto parsed = parse({reinterpret_cast<const char*>(data), size});
    if (!parsed) return 0;
    const int indent = static_cast<int>(size % 3);
    const std::string printed = primsel::to_string(parsed->value(), indent);
    const auto again = parse(printed);
    if (!again || primsel::to_string(again->value(), indent) != printed) std::abort();
    return 0;
}

}  // namespace fuzz_json
