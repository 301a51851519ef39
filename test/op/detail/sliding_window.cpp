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
    const auto slides = [](detail::PoolAxis const& down, detail::PoolAxis const& across, std::ptrdiff_t outputs = 100) {
        return detail::is_sliding<ps::default_arch>(down, across, outputs);
    };
    CHECK(slides(axis(13, 1), axis(13, 1)));
    CHECK(slides(axis(32, 3), axis(32, 3)));
    CHECK_FALSE(slides(axis(3, 1), axis(3, 1)));
    CHECK_FALSE(slides(axis(3, 3), axis(3, 3)));
    CHECK_FALSE(slides(axis(33, 1), axis(9, 1)));
    CHECK_FALSE(slides(axis(9, 1), axis(33, 1)));
    CHECK_FALSE(slides(axis(32, 1), axis(9, 4)));
    // An image of one row has one row of each window.
    CHECK_FALSE(slides({1, 9, 2, 4, 4, true}, axis(9, 2)));
}

TEST_CASE("the elements of all windows along an axis are counted") {
    for (const std::ptrdiff_t in : {1, 2, 7, 40}) {
        for (const std::ptrdiff_t size : {1, 3, 13}) {
            for (const std::ptrdiff_t step : {1, 2, 3}) {
                const detail::PoolAxis axis{in, size, step, size / 2, size / 2, true};
                const std::ptrdiff_t outputs = (in + 2 * (size / 2) - size) / step + 1;
                std::ptrdiff_t elements = 0;
                for (std::ptrdiff_t out = 0; out < outputs; ++out) elements += axis.last(out) - axis.first(out);
                CAPTURE(in);
                CAPTURE(size);
                CAPTURE(step);
                CHECK(axis.elements(outputs) <= 1.5 * static_cast<double>(elements));
                CHECK(axis.elements(outputs) >= static_cast<double>(elements) / 1.5);
            }
        }
    }
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
