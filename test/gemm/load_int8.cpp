#include <primsel/gemm/load_int8.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace load_int8_tests {

namespace ps = primsel;

TEST_CASE("vectors of all bytes are loaded as floats, from any address") {
    std::vector<std::int8_t> bytes;
    for (int i = 0; i < 300; ++i) bytes.push_back(static_cast<std::int8_t>(i * 7));
    constexpr std::size_t width = ps::lanes<ps::default_arch>;
    for (std::size_t from = 0; from + width <= bytes.size(); ++from) {
        float loaded[width];
        ps::store<ps::default_arch>(loaded, ps::gemm::load_int8<ps::default_arch>(bytes.data() + from));
        for (std::size_t i = 0; i < width; ++i) CHECK(loaded[i] == static_cast<float>(bytes[from + i]));
    }
}

}  // namespace load_int8_tests
