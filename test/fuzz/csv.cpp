// Any text parses as a dataset and as samples or is refused with primsel::error; what parsed reads back as the same
// when written, and has features.
#include <primsel/cost/features.hpp>
#include <primsel/learn/sample.hpp>
#include <primsel/learn/tables.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace fuzz_csv {

template <class Parse>
auto try_to(Parse const& parse) -> std::optional<decltype(parse())> {
    try {
        return parse();
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
        return std::nullopt;
    }
}
void check_same(bool same) {
    if (!same) std::abort();
}

int run(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto parsed = try_to([&] { return primsel::learn::parse_dataset("fuzz", text); })) {
        const std::string written = primsel::learn::to_csv(*parsed);
        check_same(primsel::learn::to_csv(primsel::learn::parse_dataset("again", written)) == written);
        if (parsed->inputs == primsel::learn::ConvConfiguration::inputs()) {
            for (const float value : primsel::learn::features_of(*parsed).values) check_same(std::isfinite(value));
        }
    }
    if (const auto parsed = try_to([&] { return primsel::learn::parse_samples("fuzz", text); })) {
        const std::string written = primsel::learn::to_csv(*parsed);
        check_same(primsel::learn::to_csv(primsel::learn::parse_samples("again", written)) == written);
        for (primsel::learn::Sample const& sample : parsed->all) {
            for (const float value : primsel::ConvFeatures::of(sample.shape)) check_same(std::isfinite(value));
        }
    }
    return 0;
}

}  // namespace fuzz_csv
