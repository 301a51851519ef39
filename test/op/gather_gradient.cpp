#include "gradient_laws.hpp"

#include <primsel/op/gather_gradient.hpp>

#include <cmath>

namespace gather_gradients {
namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

/// Row numbers of which some are equal, negative or outside.
Images row_numbers(laws::Random& random, ps::Shape shape, int rows) {
    Images result = laws::random_images(random, shape, 3, 1.25F * static_cast<float>(rows));
    result[1].data[0] = std::nan("");
    return result;
}

/// The sum, for each element of the image, of dy over the places that were taken from it.
Images expected(ps::GatherParams const& params, ps::Shape shape, Images const& numbers, Images const& dy) {
    Images result;
    for (std::size_t n = 0; n < dy.size(); ++n) {
        Image image(shape);
        for (int c = 0; c < shape.c; ++c) {
            for (int i = 0; i < dy[n].shape.h; ++i) {
                for (int w = 0; w < shape.w; ++w) {
                    double row = std::trunc(params.elements ? numbers[n](c, i, w)
                                                            : numbers[n].data[static_cast<std::size_t>(i)]);
                    if (params.from_end && row < 0) row += shape.h;
                    if (row >= 0 && row < shape.h) image(c, static_cast<int>(row), w) += dy[n](c, i, w);
                }
            }
        }
        result.push_back(std::move(image));
    }
    return result;
}

}  // namespace

TEST_CASE("the gradient of gathered rows is the sum over the places that read them") {
    laws::Random random(4);
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const bool elements : {false, true}) {
            for (const bool from_end : {false, true}) {
                const ps::GatherParams params{from_end, elements};
                const ps::Shape at = elements ? ps::Shape{shape.c, 4, shape.w} : ps::Shape{3, 1, 5};
                const ps::Shape read[] = {shape, at};
                const Images numbers = row_numbers(random, at, shape.h),
                             dy = laws::random_images(random, params.output(read), 3);
                CAPTURE(ps::to_string(shape));
                laws::check_images(laws::run_step<ps::chw>(ps::GatherGradientParams{params, shape}, {{numbers, dy}, 3}),
                                   expected(params, shape, numbers, dy), 2e-6);
            }
        }
    }
}

}  // namespace gather_gradients
