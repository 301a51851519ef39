#include <primsel/tensor/hwc_bf16.hpp>
#include <primsel/tensor/transform.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <vector>

namespace ps = primsel;

namespace hwc_bf16_tests {

static_assert(ps::Layout<ps::hwc_bf16> && !ps::StridedLayout<ps::hwc_bf16>);
static_assert(ps::hwc_bf16::pixel(1) == 2 && ps::hwc_bf16::pixel(3) == 4 && ps::hwc_bf16::pixel(16) == 16);
static_assert(ps::hwc_bf16::pixel(17) == 32 && ps::hwc_bf16::pixel(64) == 64 && ps::hwc_bf16::pixel(65) == 96);

/// Different small integers, which bfloat16 has.
float value_at(std::size_t i) { return static_cast<float>(i % 251) - 125.0F; }

template <class Other>
void check(ps::Shape shape) {
    CAPTURE(std::string(Other::name));
    CAPTURE(to_string(shape));
    ps::Sequential here;
    std::vector<float> image(shape.size());
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = value_at(i);
    // A canary behind the last element.
    const std::size_t size = ps::hwc_bf16::size(shape);
    std::vector<float> stored(size / 2 + 1, 777.0F), back(image.size() + 1, 777.0F);
    ps::transform<Other, ps::hwc_bf16>(shape, image.data(), stored.data(), here);
    CHECK(stored.back() == 777.0F);
    const auto* const elements = reinterpret_cast<const ps::bfloat16*>(stored.data());
    std::set<std::size_t> places;
    std::size_t wrong = 0;
    for (int c = 0; c < shape.c; ++c) {
        for (int h = 0; h < shape.h; ++h) {
            for (int w = 0; w < shape.w; ++w) {
                const std::size_t at = ps::hwc_bf16::offset(shape, {c, h, w});
                places.insert(at);
                wrong += to_float(elements[at]) == image[Other::offset(shape, {c, h, w})] ? 0U : 1U;
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(places.size() == shape.size());
    CHECK(*places.rbegin() < size);
    for (std::size_t i = 0; i < size; ++i) {
        if (!places.contains(i) && elements[i].bits != 0) ++wrong;
    }
    CHECK(wrong == 0);
    ps::transform<ps::hwc_bf16, Other>(shape, stored.data(), back.data(), here);
    CHECK(back.back() == 777.0F);
    back.pop_back();
    CHECK(back == image);
}

TEST_CASE("images become bfloat16 and floats again in every layout, with zeros behind the channels") {
    for (const int c : {1, 2, 3, 5, 16, 17, 33, 64, 70, 97}) {
        for (const int h : {1, 3}) {
            for (const int w : {1, 4, 31, 45, 300}) {
                const ps::Shape shape{.c = c, .h = h, .w = w};
                check<ps::chw>(shape);
                check<ps::hcw>(shape);
                check<ps::hwc>(shape);
            }
        }
    }
}

}  // namespace hwc_bf16_tests
