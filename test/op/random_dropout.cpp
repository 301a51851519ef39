#include "gradient_laws.hpp"

#include <primsel/op/random_dropout.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

Image seed_of(double first, double second) {
    Image seed({2, 1, 1});
    seed(0, 0, 0) = first, seed(1, 0, 0) = second;
    return seed;
}
Images dropped(ps::RandomDropoutParams const& params, Images const& x, Image const& seed, std::size_t first = 0) {
    const laws::Step step{{x, {seed}}, static_cast<int>(x.size())};
    const Images y = laws::run_step<ps::chw>(params, step, false, {}, first);
    for_each_order_of_ops([&]<class L>(L) {
        for (const bool in_place : {false, true}) {
            const Images other = laws::run_step<L>(params, step, in_place, {}, first);
            for (std::size_t n = 0; n < y.size(); ++n) CHECK(other[n].data == y[n].data);
        }
    });
    return y;
}
Images ones(ps::Shape shape, std::size_t count) {
    Images x(count, Image(shape));
    for (Image& image : x) std::ranges::fill(image.data, 1.0);
    return x;
}

TEST_CASE("dropout drops the same elements in every layout, and scales the others") {
    laws::Random random(5);
    for (ps::Shape const& shape : laws::odd_shapes()) {
        const ps::RandomDropoutParams params{.rate = 0.25F, .stream = 7};
        const Image seed = seed_of(123, 456);
        const Images x = laws::random_images(random, shape, 3), y = dropped(params, x, seed),
                     keep = dropped(params, ones(shape, 3), seed);
        for (std::size_t n = 0; n < 3; ++n) {
            for (std::size_t i = 0; i < x[n].data.size(); ++i) {
                const double factor = keep[n].data[i];
                CHECK((factor == 0 || factor == static_cast<double>(1 / 0.75F)));
                CHECK(y[n].data[i] == doctest::Approx(factor * x[n].data[i]).epsilon(1e-6));
            }
        }
        // One by one as all at once.
        for (std::size_t n = 0; n < 3; ++n) CHECK(dropped(params, {x[n]}, seed, n)[0].data == y[n].data);
    }
}

TEST_CASE("dropout: shares, and independence of seeds, streams, images and neighbours") {
    const ps::Shape shape{40, 25, 20};
    const auto kept = [](Images const& y) {
        std::vector<double> result;
        for (Image const& image : y) {
            for (const double value : image.data) result.push_back(value == 0 ? 0 : 1);
        }
        return result;
    };
    const auto mean = [](std::vector<double> const& values) {
        double sum = 0;
        for (const double value : values) sum += value;
        return sum / static_cast<double>(values.size());
    };
    // There are 20000 elements; five deviations are 0.018.
    for (const float rate : {0.1F, 0.5F, 0.9F}) {
        const auto first = kept(dropped({rate, 0}, ones(shape, 1), seed_of(1, 2)));
        const double share = 1 - static_cast<double>(rate), both = share * share;
        CHECK(std::abs(mean(first) - share) < 0.018);
        for (auto const& other : {kept(dropped({rate, 1}, ones(shape, 1), seed_of(1, 2))),
                                  kept(dropped({rate, 0}, ones(shape, 1), seed_of(2, 2))),
                                  kept(dropped({rate, 0}, ones(shape, 1), seed_of(1, 3))),
                                  kept(dropped({rate, 0}, ones(shape, 1), seed_of(1, 2), 1))}) {
            std::vector<double> products;
            for (std::size_t i = 0; i < first.size(); ++i) products.push_back(first[i] * other[i]);
            CHECK(std::abs(mean(products) - both) < 0.018);
        }
        for (const std::size_t apart : {1U, 2U, 16U, 20U, 500U}) {
            std::vector<double> products;
            for (std::size_t i = 0; i + apart < first.size(); ++i) products.push_back(first[i] * first[i + apart]);
            CHECK(std::abs(mean(products) - both) < 0.018);
        }
    }
    CHECK(mean(kept(dropped({0.0F, 0}, ones(shape, 1), seed_of(0, 0)))) == 1);
    CHECK(mean(kept(dropped({1.0F, 0}, ones(shape, 1), seed_of(0, 0)))) == 0);
}

}  // namespace
