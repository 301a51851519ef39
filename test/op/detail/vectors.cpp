#include <primsel/op/detail/vectors.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace {

namespace ps = primsel;
using Arch = ps::default_arch;
using V = ps::Floats<Arch>;
constexpr int width = ps::lanes<Arch>;

std::vector<float> lanes_of(V const& value) {
    std::vector<float> lane(static_cast<std::size_t>(width));
    ps::store<Arch>(lane.data(), value);
    return lane;
}

std::vector<float> counting(int n) {
    std::vector<float> result;
    for (int i = 1; i <= n; ++i) result.push_back(static_cast<float>(i));
    return result;
}

TEST_CASE("deal gives every second or every third element") {
    const std::vector<float> src = counting(3 * width);
    const auto check = [&]<std::size_t step>(V(&phases)[step]) {
        ps::op::detail::deal<Arch>(src.data(), phases);
        for (std::size_t p = 0; p < step; ++p) {
            const std::vector<float> lane = lanes_of(phases[p]);
            for (std::size_t i = 0; i < lane.size(); ++i) CHECK(lane[i] == static_cast<float>(i * step + p + 1));
        }
    };
    V two[2] = {V(0.0F), V(0.0F)}, three[3] = {V(0.0F), V(0.0F), V(0.0F)};
    check(two);
    check(three);
}

TEST_CASE("load_up_to loads n floats, or as many as a vector holds, and fills up") {
    for (int n = 0; n <= width + 3; ++n) {
        const std::vector<float> src = counting(n),
                                 lane = lanes_of(ps::op::detail::load_up_to<Arch>(src.data(), src.size(), -7.0F));
        for (int i = 0; i < width; ++i) {
            CHECK(lane[static_cast<std::size_t>(i)] == (i < n ? static_cast<float>(i + 1) : -7.0F));
        }
    }
}

TEST_CASE("store_up_to stores n floats, or as many as a vector holds, and no more") {
    const std::vector<float> lane = counting(width);
    for (int n = 0; n <= width + 3; ++n) {
        std::vector<float> dst(static_cast<std::size_t>(2 * width), 0.0F);
        ps::op::detail::store_up_to<Arch>(dst.data() + 1, ps::load<Arch>(lane.data()), static_cast<std::size_t>(n));
        const int stored = std::min(n, width);
        for (int i = 0; i < 2 * width; ++i) {
            CHECK(dst[static_cast<std::size_t>(i)] == (i >= 1 && i <= stored ? static_cast<float>(i) : 0.0F));
        }
    }
}

TEST_CASE("load_around fills on both sides of a row") {
    for (int n = 1; n <= width + 2; ++n) {
        const std::vector<float> row = counting(n);
        for (int at = -width - 2; at <= n + 2; ++at) {
            const std::vector<float> lane = lanes_of(ps::op::detail::load_around<Arch>(row.data(), at, n, -7.0F));
            for (int i = 0; i < width; ++i) {
                const float expected = at + i >= 0 && at + i < n ? static_cast<float>(at + i + 1) : -7.0F;
                CHECK(lane[static_cast<std::size_t>(i)] == expected);
            }
        }
    }
}

TEST_CASE("split_even_odd, first_integers and fold_lanes") {
    const std::vector<float> both = counting(2 * width);
    V a = ps::load<Arch>(both.data()), b = ps::load<Arch>(both.data() + width);
    ps::op::detail::split_even_odd<Arch>(a, b);
    const std::vector<float> even = lanes_of(a), odd = lanes_of(b),
                             integers = lanes_of(ps::op::detail::first_integers<Arch>());
    for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
        CHECK(even[i] == both[2 * i]);
        CHECK(odd[i] == both[2 * i + 1]);
        CHECK(integers[i] == static_cast<float>(i));
    }
    const auto sum = [](float x, float y) { return x + y; };
    CHECK(ps::op::detail::fold_lanes<Arch>(ps::load<Arch>(both.data()), sum) ==
          static_cast<float>(width * (width + 1) / 2));
}

TEST_CASE("max_or_nan is NaN where either is") {
    const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
    for (const float x : {-infinity, -1.0F, 0.0F, 2.0F, infinity, nan, -nan}) {
        for (const float y : {-infinity, -3.0F, 0.0F, 1.0F, infinity, nan, -nan}) {
            const float actual = lanes_of(ps::op::detail::max_or_nan<Arch>(V(x), V(y)))[0];
            if (std::isnan(x) || std::isnan(y)) {
                CHECK(std::isnan(actual));
            } else {
                CHECK(actual == std::max(x, y));
            }
        }
    }
}

TEST_CASE("reciprocal_sqrt is right to the last two bits over the range of normal numbers") {
    double worst = 0;
    for (float x = std::numeric_limits<float>::min(); x < std::numeric_limits<float>::max() / 1.01F; x *= 1.003F) {
        const double actual = lanes_of(ps::op::detail::reciprocal_sqrt<Arch>(V(x)))[0];
        worst = std::max(worst, std::abs(actual * std::sqrt(static_cast<double>(x)) - 1));
    }
    CHECK(worst < 4 * 0x1p-24);
}

TEST_CASE("permuted and pick take elements by ascending indices, near or far") {
    // The elements from 5 on of some row, the first of them 1.
    constexpr int begin = 5;
    for (int size = 1; size <= 3 * width; ++size) {
        const std::vector<float> src = counting(size);
        for (const int step : {0, 1, 2, 3, 5, 9}) {
            std::vector<int> index;
            for (int i = 0; i < width; ++i) index.push_back(begin + std::min(i * step / 2, size - 1));
            const std::vector<float> picked =
                lanes_of(ps::op::detail::pick<Arch>(src.data(), index.data(), begin, size));
            for (std::size_t i = 0; i < picked.size(); ++i) {
                CHECK(picked[i] == static_cast<float>(index[i] - begin + 1));
            }
        }
    }
    std::vector<int> back;
    for (int i = 0; i < width; ++i) back.push_back(width + 2 - i);
    const std::vector<float> all = counting(width),
                             reversed =
                                 lanes_of(ps::op::detail::permuted<Arch>(ps::load<Arch>(all.data()), back.data(), 3));
    CHECK(std::equal(all.rbegin(), all.rend(), reversed.begin()));
}

}  // namespace
