#include "batches.hpp"
#include "gradient_laws.hpp"

#include <primsel/op/batch_sums.hpp>
#include <primsel/op/normalize.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

using namespace batches_of_images;  // NOLINT(google-build-using-namespace)

Images normalized(Images const& x, Image const& of, Image const& gamma, Image const& beta, double epsilon) {
    Images y = x;
    const int channels = x[0].shape.c;
    for (int c = 0; c < channels; ++c) {
        each_pixel(x, [&](std::size_t n, int h, int w) {
            y[n](c, h, w) =
                (x[n](c, h, w) - of(c, 0, 0)) / std::sqrt(of(channels + c, 0, 0) + epsilon) * gamma(c, 0, 0) +
                beta(c, 0, 0);
        });
    }
    return y;
}

Images held(Images y, ps::Clamp clamp) {
    for (Image& image : y) {
        for (double& value : image.data) value = reference::held(value, clamp);
    }
    return y;
}

constexpr double epsilon = 1e-3;
struct Case {
    Images x, dy;
    Image gamma, beta, of;
};
Case random_case(ps::Shape shape, int batch) {
    laws::Random random(static_cast<unsigned>(shape.c * 100 + shape.h * 10 + shape.w));
    Case result{laws::random_images(random, shape, batch), laws::random_images(random, shape, batch),
                random.image(vector_of(shape.c)), random.image(vector_of(shape.c), 0.5F), Image(vector_of(1))};
    result.of = rounded(statistics(result.x));
    return result;
}
/// A clamp's gradient differs where rounding decides: nothing lies so near to a bound.
void keep_from(Case& values, ps::Clamp clamp) {
    const Images y = normalized(values.x, values.of, values.gamma, values.beta, epsilon);
    for (std::size_t n = 0; n < y.size(); ++n) {
        for (std::size_t i = 0; i < y[n].data.size(); ++i) {
            for (const float bound : {clamp.low, clamp.high}) {
                if (std::abs(y[n].data[i] - static_cast<double>(bound)) < 1e-5) values.dy[n].data[i] = 0;
            }
        }
    }
}

TEST_CASE("normalisation by the statistics of the batch, and a clamp") {
    for (auto const& [shape, batch] : batches()) {
        const Case values = random_case(shape, batch);
        const Images y = normalized(values.x, values.of, values.gamma, values.beta,
                                    static_cast<double>(static_cast<float>(epsilon)));
        const laws::Step step{{values.x, {values.of}, {values.gamma}, {values.beta}}, batch};
        const ps::NormalizeParams params{static_cast<float>(epsilon)};
        laws::check_step(params, step, y, 2e-6);
        for (const ps::Clamp clamp : {ps::relu_clamp, ps::Clamp{-0.5F, 0.25F}}) {
            laws::check_step(params, step, held(y, clamp), 2e-6, clamp);
        }
    }
}

TEST_CASE("the sums and the gradient of a normalisation agree with their formulas") {
    for (auto const& [shape, batch] : batches()) {
        for (const ps::Clamp clamp : {ps::Clamp{}, ps::relu_clamp, ps::Clamp{-0.5F, 0.25F}}) {
            Case values = random_case(shape, batch);
            keep_from(values, clamp);
            const Images y = normalized(values.x, values.of, values.gamma, values.beta, epsilon);
            const double count = static_cast<double>(values.x.size() * shape.pixels());
            Image sums(vector_of(2 * shape.c));
            Images dx = values.x;
            for (int c = 0; c < shape.c; ++c) {
                const double mean = values.of(c, 0, 0), inverse = 1 / std::sqrt(values.of(shape.c + c, 0, 0) + epsilon);
                const auto passed = [&](std::size_t n, int h, int w) {
                    const double value = y[n](c, h, w);
                    return value > static_cast<double>(clamp.low) && value < static_cast<double>(clamp.high)
                               ? values.dy[n](c, h, w)
                               : 0.0;
                };
                double sum = 0, product = 0;
                each_pixel(y, [&](std::size_t n, int h, int w) {
                    sum += passed(n, h, w);
                    product += passed(n, h, w) * (values.x[n](c, h, w) - mean) * inverse;
                });
                sums(c, 0, 0) = sum, sums(shape.c + c, 0, 0) = product;
                each_pixel(y, [&](std::size_t n, int h, int w) {
                    const double xhat = (values.x[n](c, h, w) - mean) * inverse;
                    dx[n](c, h, w) =
                        values.gamma(c, 0, 0) * inverse * (passed(n, h, w) - sum / count - xhat * product / count);
                });
            }
            const float eps = static_cast<float>(epsilon);
            std::vector<Images> inputs{values.x, {values.of}, {values.gamma}, {values.beta}, values.dy};
            laws::check_step(ps::NormalizeSumsParams{eps, clamp.bounded(), clamp.low, clamp.high}, {inputs, batch},
                             {sums}, 3e-6);
            inputs.push_back({rounded(sums)});
            laws::check_step(ps::NormalizeGradientParams{eps, clamp.bounded(), clamp.low, clamp.high}, {inputs, batch},
                             dx, 1e-5);
        }
    }
}

TEST_CASE("the gradient of a normalisation is the slope of the loss, through the statistics as well") {
    for (const ps::Clamp clamp : {ps::Clamp{}, ps::relu_clamp}) {
        const ps::Shape shape{3, 3, 2};
        const int batch = 3;
        Case values = random_case(shape, batch);
        const auto function = [&](Image const& gamma, Image const& beta) {
            return [gamma, beta, clamp](Images const& x) {
                return held(normalized(x, statistics(x), gamma, beta, epsilon), clamp);
            };
        };
        // No element near enough to the clamp that a difference crosses it.
        const Images y = normalized(values.x, values.of, values.gamma, values.beta, epsilon);
        for (Image const& image : y) {
            for (const double value : image.data) REQUIRE(std::abs(value) > 1e-3);
        }
        const float eps = static_cast<float>(epsilon);
        std::vector<Images> inputs{values.x, {values.of}, {values.gamma}, {values.beta}, values.dy};
        const Images sums = laws::run_step<ps::chw>(
            ps::NormalizeSumsParams{eps, clamp.bounded(), clamp.low, clamp.high}, {inputs, batch});
        for (int c = 0; c < shape.c; ++c) {
            const auto loss = [&](double more_gamma, double more_beta) {
                Image gamma = values.gamma, beta = values.beta;
                gamma(c, 0, 0) += more_gamma, beta(c, 0, 0) += more_beta;
                const Images result = function(gamma, beta)(values.x);
                double sum = 0;
                for (std::size_t n = 0; n < result.size(); ++n) {
                    for (std::size_t i = 0; i < result[n].data.size(); ++i) {
                        sum += result[n].data[i] * values.dy[n].data[i];
                    }
                }
                return sum;
            };
            const double h = 1e-5;
            CHECK(sums[0](c, 0, 0) == doctest::Approx((loss(0, h) - loss(0, -h)) / (2 * h)).epsilon(1e-4));
            CHECK(sums[0](shape.c + c, 0, 0) == doctest::Approx((loss(h, 0) - loss(-h, 0)) / (2 * h)).epsilon(1e-4));
        }
        inputs.push_back(sums);
        laws::check_step(ps::NormalizeGradientParams{eps, clamp.bounded(), clamp.low, clamp.high}, {inputs, batch},
                         laws::differences(values.x, values.dy, function(values.gamma, values.beta)), 1e-4);
    }
}

}  // namespace
