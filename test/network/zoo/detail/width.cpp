#include <primsel/network/zoo/detail/width.hpp>

#include <doctest/doctest.h>

namespace {

using primsel::zoo::detail::rounded;
using primsel::zoo::detail::wide;

static_assert(wide<std::ratio<1>, 64> == 64);
static_assert(wide<std::ratio<3, 4>, 64> == 48);
static_assert(wide<std::ratio<5, 2>, 6> == 15);

// The results of torchvision's _make_divisible(channels * width, 8).
static_assert(rounded<std::ratio<1>, 24> == 24);
static_assert(rounded<std::ratio<1, 2>, 24> == 16);    // 12 up, halfway
static_assert(rounded<std::ratio<3, 4>, 24> == 24);    // 18 up, since 16 would be more than a tenth less
static_assert(rounded<std::ratio<3, 4>, 40> == 32);    // 30
static_assert(rounded<std::ratio<13, 10>, 32> == 40);  // 41.6
static_assert(rounded<std::ratio<13, 10>, 16> == 24);  // 20.8
static_assert(rounded<std::ratio<1, 10>, 16> == 8);    // 1.6: at least 8
static_assert(rounded<std::ratio<35, 100>, 320> == 112);
static_assert(rounded<std::ratio<7, 5>, 1280> == 1792);

}  // namespace
