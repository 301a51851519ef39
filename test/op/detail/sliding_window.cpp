#include <doctest/doctest.h>
#include <primsel/op/detail/sliding_window.hpp>

#include <cmath>
#include <vector>

namespace op_sliding_window {

namespace {

namespace ps = primsel;
namespace detail = ps::op::detail;

TEST_CASE("windows slide if they are large along both axes together, and no larger than a block of terms") {
    const auto axis = [](std::ptrdiff_t size, std::ptrdiff_t step) {
        return detail::PoolAxis{100, size, step, 0, 0, true};
    };
    CHECK(detail::is_sliding(axis(13, 1), axis(13, 1)));
    CHECK(detail::is_sliding(axis(32, 3), axis(32, 3)));
    CHECK_FALSE(detail::is_sliding(axis(3, 1), axis(3, 1)));
    CHECK_FALSE(detail::is_sliding(axis(3, 3), axis(3, 3)));
    CHECK_FALSE(detail::is_sliding(axis(33, 1), axis(9, 1)));
    CHECK_FALSE(detail::is_sliding(axis(9, 1), axis(33, 1)));
    CHECK_FALSE(detail::is_sliding(axis(32, 1), axis(9, 4)));
}

TEST_CASE("neighbours are reduced by doubling for every count") {
    using Arch = ps::default_arch;
    std::vector<float> src(200), dst(200, std::nanf(""));
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i * i % 37);
    for (std::ptrdiff_t count = 1; count <= detail::longest_sliding; ++count) {
        const std::ptrdiff_t floats = 150;
        const float* const sums =
            detail::reduce_neighbours<Arch, detail::Average>(src.data(), dst.data(), floats, count);
        bool all = true;
        for (std::ptrdiff_t i = 0; i + count <= floats; ++i) {
            float sum = 0;
            for (std::ptrdiff_t j = 0; j < count; ++j) sum += src[static_cast<std::size_t>(i + j)];
            all = all && sums[i] == sum;
        }
        CAPTURE(count);
        CHECK(all);
    }
}

}  // namespace

}  // namespace op_sliding_window
