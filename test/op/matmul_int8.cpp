#include "laws.hpp"

#include <primsel/op/matmul_int8.hpp>

#include <limits>

namespace matmul_int8_tests {

namespace ps = primsel;

using Op = ps::OpIn<ps::MatMulParams, ps::hwc_u8>;

/// Floats within the range, beyond both of its ends, and some that are no numbers.
std::vector<float> floats_of(std::size_t count, ps::TensorRange const& range, unsigned seed) {
    std::mt19937 bits(seed);
    std::vector<float> values(count);
    for (float& value : values) {
        value = range.scale * (static_cast<float>(bits() % 3000) / 10 - static_cast<float>(range.zero_point) - 20);
    }
    if (count > 40) values[7] = std::nanf(""), values[31] = std::numeric_limits<float>::infinity();
    return values;
}
/// The nearest bytes less the zero point, halves to the even one; the least for what is no number.
std::vector<std::int64_t> steps_of(std::vector<float> const& values, ps::TensorRange const& range) {
    const float least = -static_cast<float>(range.zero_point), factor = 1.0F / range.scale;
    std::vector<std::int64_t> steps;
    for (const float value : values) {
        const float scaled = value * factor, held = std::isnan(scaled) ? least : std::clamp(scaled, least, least + 255);
        steps.push_back(static_cast<std::int64_t>(std::nearbyint(held)));
    }
    return steps;
}

/// The definition, in integers.
std::vector<float> expected(ps::Shape a, ps::Shape b, ps::Shape c, std::size_t batch, std::vector<float> const& of_a,
                            std::vector<float> const& of_b, ps::TensorRange const& a_range,
                            ps::TensorRange const& b_range) {
    const std::vector<std::int64_t> x = steps_of(of_a, a_range), y = steps_of(of_b, b_range);
    const auto place = [](ps::Shape shape, std::size_t image, int channel, int row, int column) {
        return image * shape.size() +
               static_cast<std::size_t>((std::min(channel, shape.c - 1) * shape.h + row) * shape.w + column);
    };
    const float factor = a_range.scale * b_range.scale;
    std::vector<float> result;
    for (std::size_t image = 0; image < batch; ++image) {
        for (int channel = 0; channel < c.c; ++channel) {
            for (int row = 0; row < c.h; ++row) {
                for (int column = 0; column < c.w; ++column) {
                    std::int64_t sum = 0;
                    for (int i = 0; i < a.w; ++i) {
                        sum += x[place(a, image, channel, row, i)] * y[place(b, image, channel, i, column)];
                    }
                    result.push_back(static_cast<float>(sum) * factor);
                }
            }
        }
    }
    return result;
}

std::vector<float> result_of(ps::Shape a, ps::Shape b, std::size_t batch, std::vector<float> const& of_a,
                             std::vector<float> const& of_b, ps::TensorRange const& a_range,
                             ps::TensorRange const& b_range, ps::ExecutorRef executor) {
    const ps::Shape shapes[] = {a, b}, c = ps::MatMulParams{}.output(shapes);
    constexpr std::size_t guard = 64;
    const std::size_t room = Op::scratch_floats<ps::default_arch>({}, shapes, 3), size = batch * c.size();
    ps::AlignedBuffer scratch(room + guard);
    std::ranges::fill(scratch.span(), 12345.0F);
    std::vector<float> dst(size + 2 * guard, 12345.0F);
    const float* const src[] = {of_a.data(), of_b.data()};
    const ps::TensorRange ranges[] = {a_range, b_range};
    Op::run<ps::default_arch>({}, {.src = src,
                                   .src_shape = shapes,
                                   .dst = dst.data() + guard,
                                   .dst_shape = c,
                                   .batch = static_cast<int>(batch),
                                   .scratch = scratch.data(),
                                   .executor = executor,
                                   .src_range = ranges});
    const auto is_untouched = [](float x) { return x == 12345.0F; };
    CHECK(std::all_of(scratch.data() + room, scratch.data() + room + guard, is_untouched));
    CHECK(std::all_of(dst.begin(), dst.begin() + guard, is_untouched));
    CHECK(std::all_of(dst.end() - guard, dst.end(), is_untouched));
    return {dst.begin() + guard, dst.end() - guard};
}

void check(ps::Shape a, ps::Shape b, ps::TensorRange const& a_range, ps::TensorRange const& b_range) {
    CAPTURE(ps::to_string(a));
    CAPTURE(ps::to_string(b));
    CAPTURE(a_range.zero_point);
    CAPTURE(b_range.zero_point);
    const ps::Shape shapes[] = {a, b}, c = ps::MatMulParams{}.output(shapes);
    for (const std::size_t batch : laws::batches(3)) {
        const std::vector<float> of_a = floats_of(batch * a.size(), a_range, 1),
                                 of_b = floats_of(batch * b.size(), b_range, 2);
        ps::Sequential here;
        const std::vector<float> result = result_of(a, b, batch, of_a, of_b, a_range, b_range, here);
        CHECK(laws::same_bits(result, expected(a, b, c, batch, of_a, of_b, a_range, b_range)));
        ps::CallerPool pool(3, laws::Threads{});
        CHECK(laws::same_bits(result, result_of(a, b, batch, of_a, of_b, a_range, b_range, pool)));
    }
}

TEST_CASE("products of two tensors in 8 bits are the sums of integers times one factor, bit for bit") {
    const std::vector<int> zeros{0, 1, 37, 128, 255};
    std::size_t draw = 0;
    for (const int m : {1, 2, 15, 17, 33, 49, 97}) {
        for (const int n : {1, 5, 16, 17, 32, 33, 70}) {
            for (const int depth : {1, 3, 4, 64, 65, 130}) {
                if (++draw; quick() && draw % 5 != 0) continue;
                for (const auto& [of_a, of_b] : {std::pair{1, 1}, {3, 3}, {1, 3}, {2, 1}}) {
                    const ps::TensorRange a{0.02F, zeros[draw % 5]}, b{0.3F, zeros[draw / 5 % 5]};
                    if (quick() && (draw + static_cast<std::size_t>(of_a)) % 2 == 0) continue;
                    check({of_a, m, depth}, {of_b, depth, n}, a, b);
                }
            }
        }
    }
}

TEST_CASE("sums of the deepest products in 8 bits are exact, for the bytes that are farthest from each zero point") {
    constexpr int depth = static_cast<int>(Op::deepest);
    const ps::Shape a{1, 3, depth}, b{1, depth, 5};
    ps::Sequential here;
    for (const int of_a : {0, 255}) {
        for (const int of_b : {0, 128, 255}) {
            const ps::TensorRange a_range{1, of_a}, b_range{1, of_b};
            const std::vector<float> x(a.size(), of_a == 0 ? 255.0F : -255.0F),
                y(b.size(), of_b == 0 ? 255.0F : -static_cast<float>(of_b));
            const auto result = result_of(a, b, 1, x, y, a_range, b_range, here);
            CHECK(laws::same_bits(result, expected(a, b, {1, 3, 5}, 1, x, y, a_range, b_range)));
        }
    }
    const ps::Shape deeper[] = {{1, 3, depth + 1}, {1, depth + 1, 5}};
    CHECK(std::isinf(Op::work<ps::default_arch>({}, deeper, {1, 3, 5}).operations));
}

}  // namespace matmul_int8_tests
