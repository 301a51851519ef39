#include "batches.hpp"
#include "gradient_laws.hpp"

#include <primsel/op/batch_sums.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

using namespace batches_of_images;  // NOLINT(google-build-using-namespace)

TEST_CASE("batch statistics: means and variances of each channel over the batch") {
    laws::Random random(3);
    for (auto const& [shape, batch] : batches()) {
        for (const double mean : {0.0, 100.0}) {
            Images x = laws::random_images(random, shape, batch);
            for (Image& image : x) {
                for (double& value : image.data) value += mean;
                image = rounded(image);
            }
            const Image expected = statistics(x);
            laws::check_step(ps::BatchStatisticsParams{}, {{x}, batch}, {expected}, 1e-6);
            // The variances by themselves.
            const Image actual = laws::run_step<ps::hwc>(ps::BatchStatisticsParams{}, {{x}, batch})[0];
            for (int c = 0; c < shape.c; ++c) {
                const double want = expected(shape.c + c, 0, 0), got = actual(shape.c + c, 0, 0);
                CHECK(std::abs(got - want) <= 1e-5 * want);
            }
        }
    }
}

TEST_CASE("batch statistics of many pixels keep their digits, wherever the channel's values begin") {
    laws::Random random(4);
    for (const int c : {1, 5, quick() ? 17 : 64}) {
        Images x = laws::random_images(random, {c, 60, 70}, 4, 1.7F);
        for (std::size_t n = 0; n < x.size(); ++n) {
            for (double& value : x[n].data) value += n == 0 ? 0 : 100;
            x[n] = rounded(x[n]);
        }
        laws::check_step(ps::BatchStatisticsParams{}, {{x}, 4}, {statistics(x)}, 1e-6);
        for (Image& image : x) std::ranges::fill(image.data, 0.1F);
        laws::check_step(ps::BatchStatisticsParams{}, {{x}, 4}, {statistics(x)}, 1e-12);
    }
}

TEST_CASE("channel sums") {
    laws::Random random(5);
    for (auto const& [shape, batch] : batches()) {
        const Images dy = laws::random_images(random, shape, batch);
        Image expected(vector_of(shape.c));
        for (int c = 0; c < shape.c; ++c) {
            each_pixel(dy, [&](std::size_t n, int h, int w) { expected(c, 0, 0) += dy[n](c, h, w); });
        }
        laws::check_step(ps::ChannelSumParams{}, {{dy}, batch}, {expected}, 2e-6);
    }
}

}  // namespace
