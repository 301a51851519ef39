#include "../worse.hpp"
#include "laws.hpp"

#include <primsel/op/dense_narrow.hpp>

namespace dense_narrow_tests {

namespace ps = primsel;

/// The weights of a layer as they are rounded: numbers that are exact in float, and the scale of each output. Output k
/// of a dense layer has a row of weights, that of a layer on rows a column.
struct Rounded {
    std::vector<float> kernel, scales;
};
template <class L, class Params>
Rounded rounded(Params const& params, std::vector<float> const& kernel) {
    const auto k = static_cast<std::size_t>(params.k), depth = kernel.size() / k;
    constexpr bool rows = std::same_as<Params, ps::DenseParams>;
    Rounded result{std::vector<float>(kernel.size()), std::vector<float>(k, 1)};
    for (std::size_t output = 0; output < k; ++output) {
        const auto at = [&](std::size_t i) { return rows ? output * depth + i : i * k + output; };
        if constexpr (ps::ShortFloatLayout<L>) {
            for (std::size_t i = 0; i < depth; ++i) {
                result.kernel[at(i)] = to_float(ps::element_of<L>::nearest(kernel[at(i)]));
            }
        } else {
            float largest = 0;
            for (std::size_t i = 0; i < depth; ++i) largest = std::max(largest, std::abs(kernel[at(i)]));
            result.scales[output] = largest / 127;
            for (std::size_t i = 0; i < depth; ++i) {
                result.kernel[at(i)] = static_cast<float>(
                    std::nearbyint(static_cast<double>(kernel[at(i)]) * 127 / static_cast<double>(largest)));
            }
        }
    }
    return result;
}

template <class L, class Params>
std::vector<float> result_of(Params const& params, laws::Images const& images, ps::OpWeights const& weights,
                             ps::ExecutorRef executor, ps::Clamp clamp = {}) {
    using Op = ps::OpIn<Params, L>;
    const ps::Shape shape = images[0].shape, output = params.output({&shape, 1});
    // A guard behind the packed weights and on both sides of the result.
    const std::size_t bytes = Op::packed_bytes(params, shape), guard = 64;
    std::vector<std::byte> packed(bytes + guard, std::byte{0x5a});
    Op::template pack<ps::chw>(params, shape, weights, reinterpret_cast<float*>(packed.data()));
    CHECK(std::all_of(packed.end() - guard, packed.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
    const std::vector<float> src = laws::lay_out<ps::chw>(images);
    const float* const from = src.data();
    const std::size_t size = output.size() * images.size();
    std::vector<float> room(size + 2 * guard, 12345.0F);
    laws::entry_of<L>(params).run(params, {.src = {&from, 1},
                                           .src_shape = {&shape, 1},
                                           .dst = room.data() + guard,
                                           .dst_shape = output,
                                           .batch = static_cast<int>(images.size()),
                                           .weights = reinterpret_cast<const float*>(packed.data()),
                                           .clamp = clamp,
                                           .executor = executor});
    const auto is_untouched = [](float x) { return x == 12345.0F; };
    CHECK(std::all_of(room.begin(), room.begin() + guard, is_untouched));
    CHECK(std::all_of(room.end() - guard, room.end(), is_untouched));
    return {room.begin() + guard, room.end() - guard};
}

/// A layer with narrow weights is, to the rounding of floats, one in doubles with the rounded weights; its bits are the
/// same for any number of threads, and so are those of an image alone and in a batch.
template <class L, class Params>
void check(Params const& params, ps::Shape shape, std::size_t batch, std::vector<float> const& kernel,
           std::vector<float> const& bias, ps::Clamp clamp) {
    CAPTURE(L::name);
    CAPTURE(params.k);
    CAPTURE(ps::to_string(shape));
    CAPTURE(batch);
    laws::Random random(static_cast<unsigned>(shape.c * 1000 + shape.h * 100 + shape.w));
    laws::Images images;
    for (std::size_t n = 0; n < batch; ++n) images.push_back(random.image(shape, 1.0F));
    const Rounded held = rounded<L>(params, kernel);
    const ps::Shape output = params.output({&shape, 1});
    ps::Sequential here;
    const std::vector<float> actual = result_of<L>(params, images, {kernel, bias}, here, clamp);
    double worst = 0;
    for (std::size_t n = 0; n < batch; ++n) {
        const reference::Image expected = reference::run(params, {images[n]}, {held.kernel, {}}, output);
        for (std::size_t i = 0; i < output.size(); ++i) {
            const std::size_t of = i % held.scales.size();
            const double sum = expected.data[i] * static_cast<double>(held.scales[of]),
                         want = reference::held(bias.empty() ? sum : sum + static_cast<double>(bias[of]), clamp),
                         got = actual[n * output.size() + i];
            const double error = std::abs(got - want) / std::max(1.0, std::abs(want));
            worst = worse(worst, error);
        }
        const std::vector<float> alone = result_of<L>(params, {images[n]}, {kernel, bias}, here, clamp);
        CHECK(std::equal(alone.begin(), alone.end(), actual.begin() + static_cast<std::ptrdiff_t>(n * output.size())));
    }
    CHECK(worst <= 2e-6);
    ps::CallerPool pool(3, laws::Threads{});
    CHECK(laws::same_bits(actual, result_of<L>(params, images, {kernel, bias}, pool, clamp)));
}
template <class Params>
void check_all(Params const& params, ps::Shape shape, std::size_t depth, laws::Random& random) {
    const float range = 1.0F / std::sqrt(static_cast<float>(depth));
    const auto k = static_cast<std::size_t>(params.k);
    const std::vector<float> kernel = random.floats(k * depth, range),
                             bias = params.bias ? random.floats(k) : std::vector<float>{};
    const ps::Clamp clamp = params.bias ? ps::Clamp{} : ps::Clamp{-0.5F, 0.25F};
    for (const std::size_t batch : laws::batches(13)) {
        check<ps::hwc_bf16>(params, shape, batch, kernel, bias, clamp);
        check<ps::hwc_f16>(params, shape, batch, kernel, bias, clamp);
        check<ps::hwc_u8>(params, shape, batch, kernel, bias, clamp);
    }
}

TEST_CASE("dense layers with weights in 16 and 8 bits agree with the reference of the rounded weights") {
    laws::Random random(3);
    for (const int k : {1, 16, 17, 33, 49, 165}) {
        for (ps::Shape const& shape :
             {ps::Shape{1, 1, 1}, ps::Shape{3, 4, 7}, ps::Shape{513, 1, 1}, ps::Shape{19, 9, 7}}) {
            check_all(ps::DenseParams{.k = k, .bias = k != 49}, shape, shape.size(), random);
        }
    }
}

TEST_CASE("dense rows with weights in 16 and 8 bits agree with the reference of the rounded weights") {
    laws::Random random(5);
    for (const int k : {1, 17, 49, 100}) {
        for (ps::Shape const& shape : {ps::Shape{1, 5, 3}, ps::Shape{3, 4, 7}, ps::Shape{1, 7, 530}}) {
            if (quick() && shape.w == 530 && k != 49) continue;
            check_all(ps::DenseRowsParams{.k = k, .bias = k != 49}, shape, static_cast<std::size_t>(shape.w), random);
        }
    }
}

TEST_CASE("weights in 8 bits: an output of zeros is its bias, and one with weights that are not finite is NaN") {
    const ps::Shape shape{5, 1, 1};
    std::vector<float> kernel(4 * 5, 1.0F);
    std::fill_n(kernel.begin(), 5, 0.0F);
    kernel[7] = std::nanf(""), kernel[12] = laws::infinity;
    const std::vector<float> bias{3, 3, 3, 3};
    laws::Random random(1);
    ps::Sequential here;
    const laws::Image image = random.image(shape);
    const std::vector<float> result = result_of<ps::hwc_u8>(ps::DenseParams{.k = 4}, {image}, {kernel, bias}, here);
    CHECK(result[0] == 3);
    CHECK(std::isnan(result[1]));
    CHECK(std::isnan(result[2]));
    CHECK(std::isfinite(result[3]));
}

TEST_CASE("weights in 16 and 8 bits take a half and a quarter of the room") {
    const ps::DenseParams params{.k = 4096};
    const ps::Shape shape{256, 6, 6};
    const auto floats = static_cast<double>(ps::Op<ps::DenseParams>::packed_floats(params, shape) * sizeof(float));
    CHECK(static_cast<double>(ps::OpIn<ps::DenseParams, ps::hwc_bf16>::packed_bytes(params, shape)) < 0.501 * floats);
    CHECK(static_cast<double>(ps::OpIn<ps::DenseParams, ps::hwc_f16>::packed_bytes(params, shape)) < 0.501 * floats);
    CHECK(static_cast<double>(ps::OpIn<ps::DenseParams, ps::hwc_u8>::packed_bytes(params, shape)) < 0.251 * floats);
}

}  // namespace dense_narrow_tests
