// Any two files parse as idx images and labels or are refused with primsel::error; what parsed reads back as the same
// when written. The first two bytes say how long the first file is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <primsel/train/idx.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz_idx {

int run(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(2);
    const std::size_t first = std::min(bytes.size(), std::size_t{data[0]} + 256 * std::size_t{data[1]});
    try {
        const primsel::LabelledImages images =
            primsel::parse_idx("fuzz: images", bytes.first(first), "fuzz: labels", bytes.subspan(first));
        primsel::check_images("fuzz", images);
        std::vector<std::uint8_t> labels(images.labels.begin(), images.labels.end());
        const auto count = static_cast<std::int64_t>(labels.size());
        const std::string again = primsel::to_idx("fuzz", std::span(&count, 1), labels);
        const std::string_view before(reinterpret_cast<const char*>(bytes.data()) + first, bytes.size() - first);
        if (again != before) std::abort();
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz")) std::abort();
    }
    return 0;
}

}  // namespace fuzz_idx
