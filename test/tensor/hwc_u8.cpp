#include "../quick.hpp"

#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/hwc_u8.hpp>
#include <primsel/tensor/transform.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace ps = primsel;

namespace hwc_u8_tests {

static_assert(ps::Layout<ps::hwc_u8> && ps::NeedsRange<ps::hwc_u8> && !ps::StridedLayout<ps::hwc_u8>);
static_assert(ps::hwc_u8::pixel(1) == 4 && ps::hwc_u8::pixel(5) == 8 && ps::hwc_u8::pixel(32) == 32);
static_assert(ps::hwc_u8::pixel(33) == 64 && ps::hwc_u8::pixel(64) == 64 && ps::hwc_u8::pixel(65) == 128);

constexpr ps::TensorRange range{0.5F, 77};
float value_at(std::size_t i) { return 0.5F * (static_cast<float>(i % 251) - 77.0F); }

template <class Other>
void check(ps::Shape shape) {
    CAPTURE(std::string(Other::name));
    CAPTURE(to_string(shape));
    ps::Sequential here;
    std::vector<float> image(shape.size());
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = value_at(i);
    // A canary behind the last element.
    const std::size_t size = ps::hwc_u8::size(shape);
    std::vector<float> stored(size / 4 + 1, 777.0F), back(image.size() + 1, 777.0F);
    ps::transform<Other, ps::hwc_u8>(shape, image.data(), stored.data(), here, range);
    CHECK(stored.back() == 777.0F);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(stored.data());
    std::set<std::size_t> places;
    std::size_t wrong = 0;
    for (int c = 0; c < shape.c; ++c) {
        for (int h = 0; h < shape.h; ++h) {
            for (int w = 0; w < shape.w; ++w) {
                const std::size_t at = ps::hwc_u8::offset(shape, {c, h, w});
                places.insert(at);
                const auto byte = static_cast<std::uint8_t>(image[Other::offset(shape, {c, h, w})] * 2 + 77.0F);
                wrong += bytes[at] == byte ? 0U : 1U;
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(places.size() == shape.size());
    CHECK(*places.rbegin() < size);
    ps::transform<ps::hwc_u8, Other>(shape, stored.data(), back.data(), here, range);
    CHECK(back.back() == 777.0F);
    back.pop_back();
    CHECK(back == image);
}

/// By way of floats of 16 bits, in which these values are exact.
template <class L>
void check_short_floats(ps::Shape shape) {
    CAPTURE(to_string(shape));
    ps::Sequential here;
    std::vector<float> image(shape.size()), back(image);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = value_at(i);
    const std::size_t size = L::size(shape) / 2;
    std::vector<float> wide(size), again(size + 1, 777.0F), bytes(ps::hwc_u8::size(shape) / 4 + 1, 777.0F);
    ps::transform<ps::chw, L>(shape, image.data(), wide.data(), here);
    ps::transform<L, ps::hwc_u8>(shape, wide.data(), bytes.data(), here, range);
    CHECK(bytes.back() == 777.0F);
    ps::transform<ps::hwc_u8, ps::chw>(shape, bytes.data(), back.data(), here, range);
    CHECK(back == image);
    ps::transform<ps::hwc_u8, L>(shape, bytes.data(), again.data(), here, range);
    CHECK(again.back() == 777.0F);
    again.pop_back();
    CHECK(std::memcmp(again.data(), wide.data(), size * sizeof(float)) == 0);
}

TEST_CASE("images become bytes and floats again in every layout") {
    for (const int c : {1, 2, 3, 5, 16, 17, 32, 33, 64, 70, 300}) {
        for (const int h : {1, 3}) {
            for (const int w : {1, 4, 31, 45, 300}) {
                if (quick() && c * w > 5000) continue;
                const ps::Shape shape{.c = c, .h = h, .w = w};
                check<ps::chw>(shape);
                check<ps::hcw>(shape);
                check<ps::hwc>(shape);
                check_short_floats<ps::hwc_bf16>(shape);
                check_short_floats<ps::hwc_f16>(shape);
            }
        }
    }
}

}  // namespace hwc_u8_tests
