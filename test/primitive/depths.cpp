// Error bounds over short and long depths, and what one pixel that is not finite may change.
#include "laws.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace laws;

namespace {

namespace ps = primsel;

std::vector<ps::ConvShape> shapes(int c) {
    std::vector<ps::ConvShape> result{same_shape(c, 4, 6, 6, 3), same_shape(c, 4, 7, 6, 5), same_shape(c, 4, 6, 6, 1),
                                      same_shape(c, 4, 6, 6, 3), same_shape(c, 4, 6, 9, 7)};
    result[3].fh = 1, result[3].pad_top = result[3].pad_bottom = 0;
    result[4].fw = 1, result[4].pad_left = result[4].pad_right = 0;
    return result;
}

TEST_CASE("error bounds hold over short and long depths, and Winograd's are the larger ones") {
    const List list = all_primitives();
    ps::Sequential sequential;
    for (const int c : {3, 64, quick() ? 512 : 8192}) {
        for (ps::ConvShape const& shape : shapes(c)) {
            const Problem problem(shape, Values::normal);
            const std::vector<double> exact = problem.exact({});
            for (ps::PrimitiveEntry const& entry : list.primitives) {
                if (!entry.supports(shape)) continue;
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                CHECK(error(run(list, entry, problem, {}, sequential, Watch::zones).dst, exact) <= entry.error_bound);
            }
        }
    }
    for (ps::PrimitiveEntry const& entry : list.primitives) {
        CAPTURE(std::string(entry.id));
        if (entry.mixes_pixels) CHECK(entry.error_bound >= 4e-5);
        if (entry.id == "im2row-copy-short-ab-ik" || entry.id == "direct-hwc") CHECK(entry.error_bound <= 2e-5);
    }
}

TEST_CASE("a pixel that is huge or not finite changes only outputs that read it, where pixels are not mixed") {
    const List list = all_primitives();
    ps::Sequential sequential;
    for (ps::ConvShape const& shape : shapes(5)) {
        const Problem clean(shape, Values::normal);
        for (const float spoilt : {std::numeric_limits<float>::infinity(), std::nanf(""), 1e30F}) {
            Problem problem = clean;
            const int h = 2, w = 3;
            problem.src[static_cast<std::size_t>((1 * shape.h + h) * shape.w + w)] = spoilt;
            for (ps::PrimitiveEntry const& entry : list.primitives) {
                if (!entry.supports(shape) || entry.mixes_pixels) continue;
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                const std::vector<float> before = run(list, entry, clean, {}, sequential, Watch::zones).dst;
                const std::vector<float> after = run(list, entry, problem, {}, sequential, Watch::zones).dst;
                std::size_t at = 0;
                for (int k = 0; k < shape.k; ++k) {
                    for (int y = 0; y < shape.out_h(); ++y) {
                        for (int x = 0; x < shape.out_w(); ++x, ++at) {
                            const bool reads = std::abs(y - h) <= shape.fh / 2 && std::abs(x - w) <= shape.fw / 2;
                            if (!reads && after[at] != before[at]) FAIL_CHECK("output ", k, ", ", y, ", ", x);
                        }
                    }
                }
            }
        }
    }
}

}  // namespace
