#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/transform.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace ps = primsel;

namespace hwc_short_floats_tests {

static_assert(ps::Layout<ps::hwc_bf16> && !ps::StridedLayout<ps::hwc_bf16>);
static_assert(ps::hwc_bf16::pixel(1) == 2 && ps::hwc_bf16::pixel(3) == 4 && ps::hwc_bf16::pixel(16) == 16);
static_assert(ps::hwc_bf16::pixel(17) == 32 && ps::hwc_bf16::pixel(64) == 64 && ps::hwc_bf16::pixel(65) == 96);

/// Different small integers, which both types have.
float value_at(std::size_t i) { return static_cast<float>(i % 251) - 125.0F; }

template <class L, class Other>
void check(ps::Shape shape) {
    CAPTURE(std::string(L::name));
    CAPTURE(std::string(Other::name));
    CAPTURE(to_string(shape));
    ps::Sequential here;
    std::vector<float> image(shape.size());
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = value_at(i);
    // A canary behind the last element.
    const std::size_t size = L::size(shape);
    std::vector<float> stored(size / 2 + 1, 777.0F), back(image.size() + 1, 777.0F);
    ps::transform<Other, L>(shape, image.data(), stored.data(), here);
    CHECK(stored.back() == 777.0F);
    const auto* const elements = reinterpret_cast<const ps::element_of<L>*>(stored.data());
    std::set<std::size_t> places;
    std::size_t wrong = 0;
    for (int c = 0; c < shape.c; ++c) {
        for (int h = 0; h < shape.h; ++h) {
            for (int w = 0; w < shape.w; ++w) {
                const std::size_t at = L::offset(shape, {c, h, w});
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
    ps::transform<L, Other>(shape, stored.data(), back.data(), here);
    CHECK(back.back() == 777.0F);
    back.pop_back();
    CHECK(back == image);
}

/// From the other type and back.
template <class L>
void check_other(ps::Shape shape) {
    using Other = std::conditional_t<std::same_as<L, ps::hwc_f16>, ps::hwc_bf16, ps::hwc_f16>;
    CAPTURE(std::string(L::name));
    CAPTURE(to_string(shape));
    ps::Sequential here;
    std::vector<float> image(shape.size());
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = value_at(i);
    const std::size_t size = L::size(shape) / 2;
    std::vector<float> from(size), expected(size), stored(size + 1, 777.0F);
    ps::transform<ps::chw, Other>(shape, image.data(), from.data(), here);
    ps::transform<ps::chw, L>(shape, image.data(), expected.data(), here);
    ps::transform<Other, L>(shape, from.data(), stored.data(), here);
    CHECK(stored.back() == 777.0F);
    CHECK(std::memcmp(stored.data(), expected.data(), size * sizeof(float)) == 0);
}

TEST_CASE_TEMPLATE("images become 16-bit floats and floats again in every layout, with zeros behind the channels", L,
                   ps::hwc_bf16, ps::hwc_f16) {
    for (const int c : {1, 2, 3, 5, 16, 17, 33, 64, 70, 97}) {
        for (const int h : {1, 3}) {
            for (const int w : {1, 4, 31, 45, 300}) {
                const ps::Shape shape{.c = c, .h = h, .w = w};
                check<L, ps::chw>(shape);
                check<L, ps::hcw>(shape);
                check<L, ps::hwc>(shape);
                check_other<L>(shape);
            }
        }
    }
}

}  // namespace hwc_short_floats_tests
