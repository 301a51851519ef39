#include "laws.hpp"

#include <primsel/op/standardize.hpp>

namespace standardize_op {

namespace ps = primsel;

/// Factors and shifts of the channels.
struct Channels {
    explicit Channels(ps::Shape shape)
        : factors(laws::Random(3).floats(static_cast<std::size_t>(shape.c))),
          shifts(laws::Random(4).floats(static_cast<std::size_t>(shape.c))) {}
    [[nodiscard]] ps::OpWeights weights() const { return {.kernel = factors, .bias = shifts}; }
    std::vector<float> factors, shifts;
};

/// Short and long rows, few and many columns of few and many rows, sets of several rows, and channels that are cut by
/// strips.
std::vector<ps::Shape> shapes() {
    std::vector<ps::Shape> result = laws::odd_shapes();
    for (const ps::Shape shape : {ps::Shape{6, 41, 53}, ps::Shape{600, 3, 2}, ps::Shape{2, 3, 1700},
                                  ps::Shape{3, 1700, 2}, ps::Shape{1100, 1, 5}, ps::Shape{36, 9, 150}}) {
        result.push_back(shape);
    }
    return result;
}

TEST_CASE("sets along any axes agree with the reference in every layout") {
    unsigned turn = 0;
    for (ps::Shape const& shape : shapes()) {
        const Channels channels(shape);
        for (int axes = 1; axes < 8; ++axes) {
            const ps::StandardizeParams params{
                .along_c = (axes & 1) != 0, .along_h = (axes & 2) != 0, .along_w = (axes & 4) != 0, .epsilon = 1e-3F};
            CAPTURE(axes);
            laws::check(params, shape, 4e-6, channels.weights());
            ps::StandardizeParams mean_squares = params;
            mean_squares.centres = false;
            if (quick() && turn++ % 3 != 0) continue;
            laws::check(mean_squares, shape, 4e-6, channels.weights());
        }
    }
}

TEST_CASE("groups of channels agree with the reference in every layout") {
    for (ps::Shape const& shape : shapes()) {
        const Channels channels(shape);
        for (int groups = 2; groups <= shape.c; ++groups) {
            if (shape.c % groups != 0 || (groups > 8 && groups < shape.c / 3)) continue;
            CAPTURE(groups);
            const ps::StandardizeParams params{
                .along_c = true, .along_h = true, .along_w = true, .groups = groups, .epsilon = 1e-3F};
            laws::check(params, shape, 4e-6, channels.weights());
            if (quick() && groups != 2) continue;
            laws::check(params, shape, 4e-6, channels.weights(), 1, 2.0F, {-0.5F, 1.0F});
        }
    }
}

TEST_CASE("factors and summands of places in a set agree with the reference in every layout") {
    int turn = 0;
    for (ps::Shape const& shape : shapes()) {
        const Channels channels(shape);
        for (const int axes : {1, 2, 4, 7}) {
            CAPTURE(axes);
            for (int inputs = 1; inputs < 4; ++inputs) {
                if (quick() && inputs != turn % 3 + 1) continue;
                const ps::StandardizeParams params{.along_c = (axes & 1) != 0,
                                                   .along_h = (axes & 2) != 0,
                                                   .along_w = (axes & 4) != 0,
                                                   .epsilon = 1e-3F,
                                                   .scales = (inputs & 1) != 0,
                                                   .shifts = (inputs & 2) != 0};
                if (!params.may_have_tensors(shape)) continue;
                std::vector<ps::Shape> all{shape};
                for (int i = 0; i < (inputs == 3 ? 2 : 1); ++i) all.push_back(params.set_shape(shape));
                laws::check(params, all, 8e-6, channels.weights());
            }
            ++turn;
        }
    }
}

/// A float sum of squares, or a mean that is rounded to a float, would be off by more than the whole deviation.
TEST_CASE("a mean of a million deviations does not matter") {
    for (const ps::Shape shape : {ps::Shape{4, 40, 70}, ps::Shape{130, 5, 7}}) {
        const Channels channels(shape);
        laws::Random random(6);
        std::vector<laws::Images> inputs{{random.image(shape, 4.0F)}};
        for (double& value : inputs[0][0].data) value = std::round(value) * 0.5 + 1e6;
        for (int axes = 1; axes < 8; ++axes) {
            CAPTURE(axes);
            laws::check(
                ps::StandardizeParams{
                    .along_c = (axes & 1) != 0, .along_h = (axes & 2) != 0, .along_w = (axes & 4) != 0},
                inputs, channels.weights(), 1e-4);
        }
    }
}

/// The variance of means of blocks counts, not only that within blocks.
TEST_CASE("parts that differ by more than their deviation have one variance") {
    for (const ps::Shape shape : {ps::Shape{6, 90, 70}, ps::Shape{70, 60, 4}}) {
        const Channels channels(shape);
        laws::Random random(7);
        std::vector<laws::Images> inputs{{random.image(shape, 0.01F)}};
        std::size_t place = 0;
        for (double& value : inputs[0][0].data) {
            value = static_cast<double>(static_cast<float>(value + (place++ > shape.size() / 2 ? 100.0 : -3.0)));
        }
        for (const int axes : {1, 2, 6, 7}) {
            CAPTURE(axes);
            laws::check(
                ps::StandardizeParams{
                    .along_c = (axes & 1) != 0, .along_h = (axes & 2) != 0, .along_w = (axes & 4) != 0},
                inputs, channels.weights(), 2e-4);
        }
    }
}

TEST_CASE("equal elements become the shift") {
    const std::vector<float> factors(5, 2.0F), shifts(5, 0.25F), elements(5 * 33, 12345.678F);
    const ps::StandardizeParams params{.along_h = true, .along_w = true};
    for (const float y : laws::run_one<ps::hwc>(params, {5, 3, 11}, elements, {.kernel = factors, .bias = shifts}))
        CHECK(y == 0.25F);
}

}  // namespace standardize_op
