#include "laws.hpp"

#include <primsel/op/roi_align.hpp>

#include <array>
#include <cmath>

namespace roi_align_tests {

namespace ps = primsel;
using laws::Image;
using ps::PoolKind;
using ps::RoiAlignParams;

Image boxes_of(std::vector<std::array<float, 4>> const& corners) {
    Image boxes({1, static_cast<int>(corners.size()), 4});
    for (std::size_t i = 0; i < boxes.data.size(); ++i) boxes.data[i] = static_cast<double>(corners[i / 4][i % 4]);
    return boxes;
}

TEST_CASE("pooling of boxes agrees with the reference") {
    const Image boxes = boxes_of({{1, 2, 5.5F, 6},
                                  {-4, -3, 3, 20},
                                  {0.25F, 0.5F, 0.75F, 0.5F},
                                  {6, 5, 2, 1},
                                  {30, 30, 40, 41},
                                  {-50, 2, 60, 4},
                                  {2, 2, 4, 4}});
    Image images({1, 1, 7});
    images.data = {0, 1, 1, 0, 1, 0, 2};  // the last is none
    laws::Random random(5);
    for (const PoolKind kind : {PoolKind::average, PoolKind::max}) {
        for (const bool half_pixel : {false, true}) {
            for (const int samples : {0, 1, 3}) {
                for (const float scale : {1.0F, 0.5F}) {
                    CAPTURE(static_cast<int>(kind));
                    CAPTURE(half_pixel);
                    CAPTURE(samples);
                    const RoiAlignParams params{.size = {3, 2},
                                                .kind = kind,
                                                .images = 2,
                                                .samples = samples,
                                                .scale = scale,
                                                .half_pixel = half_pixel};
                    laws::check(params, {{random.image({6, 9, 7})}, {boxes}, {images}}, {}, 2e-6);
                }
            }
        }
    }
}

TEST_CASE("boxes beyond all bounds end, and those of no number are 0") {
    const float huge = 1e30F;
    const Image boxes = boxes_of({{-huge, -huge, huge, huge},
                                  {std::nanf(""), 0, 1, 1},
                                  {0, 0, laws::infinity, 1},
                                  {huge, huge, -huge, -huge},
                                  {0, 0, 1e9F, 1e9F}});
    ps::Sequential sequential;
    for (const PoolKind kind : {PoolKind::average, PoolKind::max}) {
        const std::vector<float> y = laws::run<ps::chw>(
            RoiAlignParams{.size = 2, .kind = kind}, {{Image({1, 4, 4})}, {boxes}, {Image({1, 1, 5})}}, {}, sequential);
        CHECK(y == std::vector<float>(20, 0.0F));
    }
}

}  // namespace roi_align_tests
