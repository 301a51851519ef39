// Any bytes are a forecaster or are refused with primsel::error; what is one writes the same bytes, and can be asked.
// So do tables of measured networks.
#include <primsel/forecast/forecaster.hpp>
#include <primsel/forecast/network_profile_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz_forecaster {

void check_refusal(primsel::error const& error) {
    if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
}
primsel::forecast::NetworkLoad some_load() {
    const primsel::forecast::ConvSizes conv{
        .n = 8, .m = 4, .kernel_h = 3, .kernel_w = 3, .groups = 1, .in_h = 9, .in_w = 9, .out_h = 9, .out_w = 9};
    return primsel::forecast::network_load(std::vector{conv}, 2);
}
void check(std::string_view bytes) {
    try {
        const auto forecaster = primsel::forecast::parse_forecaster("fuzz", std::as_bytes(std::span(bytes)));
        if (primsel::forecast::to_bytes("fuzz", forecaster) != bytes) std::abort();
        static const primsel::forecast::NetworkLoad load = some_load();
        (void)forecaster.forecast(load);
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
}

int run(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check(bytes);
    // No change keeps the checksum right: so once more with the header that the content asks for.
    std::string whole(primsel::forecast::detail::forecaster_format);
    const std::uint64_t sum = primsel::checksum(std::as_bytes(std::span(bytes)));
    whole.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
    check(whole.append(bytes));
    try {
        std::map<std::string, std::string> about;
        for (primsel::forecast::ProfileRow const& row :
             primsel::forecast::parse_network_profile("fuzz", bytes, about)) {
            const std::string line = primsel::join(primsel::forecast::NetworkProfileFormat::columns, '\n',
                                                   primsel::forecast::NetworkProfileFormat::line(row));
            std::map<std::string, std::string> nothing;
            const auto again = primsel::forecast::parse_network_profile("fuzz", line, nothing);
            if (again.size() != 1 || !(again[0].key == row.key)) std::abort();
        }
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    return 0;
}

}  // namespace fuzz_forecaster
