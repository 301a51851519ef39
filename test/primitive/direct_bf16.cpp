#include "laws.hpp"

#include <primsel/engine/low_precision.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string_view>

using namespace laws;

namespace direct_bf16_tests {

[[nodiscard]] List primitives() {
    static const std::vector<ps::PrimitiveEntry> entries = chosen(
        ps::make_kernels<ps::EveryPrimitive, ps::default_arch, ps::EveryLayout>().primitives, ps::Bf16Primitives{});
    return make_list(entries, ps::EveryLayout{});
}

TEST_CASE("bfloat16: convolutions of integers are exact, of other numbers within the rounding of the result") {
    const List list = primitives();
    ps::Sequential sequential;
    Backwards backwards;
    std::map<std::string_view, int> runs;
    std::size_t turn = 0;
    for (ps::ConvShape const& shape : odd_shapes()) {
        const Problem integers(shape, Values::integers),
            normal(shape, Values::normal, 1, [](float value) { return to_float(ps::bfloat16::nearest(value)); });
        Epilogue const& epilogue = epilogues[turn++ % std::size(epilogues)];
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            ++runs[entry.id];
            const bool floats = list.layouts[entry.out_layout].element_bytes == sizeof(float);
            Problem const& problem = floats ? integers : normal;
            const Outcome one = run(list, entry, problem, epilogue, sequential, Watch::zones);
            const Outcome two = run(list, entry, problem, epilogue, backwards, Watch::heap);
            CHECK(one.intact);
            CHECK(two.intact);
            CHECK(same_bits(one.dst, two.dst));
            std::vector<double> exact = problem.exact(epilogue);
            if (floats) {
                CHECK(equal(one.dst, exact));
            } else {
                double worst = 0;
                for (std::size_t i = 0; i < exact.size(); ++i) {
                    // Half a unit in the last place, and the error of sums in floats.
                    const double unit = std::max(std::abs(exact[i]), 1e-3) * ps::bfloat16::rounding + 1e-4;
                    worst = std::max(worst, std::abs(static_cast<double>(one.dst[i]) - exact[i]) / unit);
                }
                CHECK(worst <= 1);
            }
        }
    }
    for (ps::PrimitiveEntry const& entry : list.primitives) {
        CAPTURE(std::string(entry.id));
        CHECK(runs[entry.id] >= (quick() ? 5 : 40));
    }
}

TEST_CASE("bfloat16: the bits do not depend on threads, strips of a large image and many outputs included") {
    const List list = primitives();
    ps::Sequential sequential;
    ps::CallerPool pool(3, Threads{});
    std::vector<ps::ConvShape> shapes{same_shape(33, 35, 23, 14, 3), same_shape(19, 70, 23, 14, 1),
                                      same_shape(128, 40, quick() ? 30 : 60, 64, 3), same_shape(192, 200, 9, 7, 3),
                                      same_shape(3, 40, 31, 40, 7)};
    shapes.back().stride_h = shapes.back().stride_w = 2;
    shapes.push_back(same_shape(70, 24, 40, 12, 3));
    shapes.back().dilation_h = shapes.back().dilation_w = 16;
    shapes.back().pad_top = shapes.back().pad_bottom = shapes.back().pad_left = shapes.back().pad_right = 16;
    shapes.push_back(same_shape(70, 70, 40, 31, 5));
    shapes.back().groups = 70;
    for (ps::ConvShape const& shape : shapes) {
        const Problem integers(shape, Values::integers);
        const std::vector<double> exact = integers.exact(epilogues[1]);
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            const Outcome one = run(list, entry, integers, epilogues[1], sequential, Watch::zones);
            const Outcome many = run(list, entry, integers, epilogues[1], pool, Watch::zones);
            CHECK(one.intact);
            CHECK(many.intact);
            CHECK(same_bits(one.dst, many.dst));
            CHECK(equal(one.dst, exact));  // the epilogue bounds results to numbers that bfloat16 has
        }
    }
}

TEST_CASE("bfloat16: a pixel that is not finite spoils only the outputs that depend on it") {
    const List list = primitives();
    ps::Sequential sequential;
    for (const int c : {3, 20, 40}) {
        const ps::ConvShape shape = same_shape(c, 35, 9, 11, 3);
        Problem problem(shape, Values::integers);
        problem.src[4 * 11 + 5] = std::numeric_limits<float>::infinity();
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            const Outcome one = run(list, entry, problem, {}, sequential, Watch::zones);
            const Problem finite(shape, Values::integers);
            const std::vector<double> exact = finite.exact({});
            std::size_t wrong = 0;
            for (int k = 0; k < shape.k; ++k) {
                for (int h = 0; h < 9; ++h) {
                    for (int w = 0; w < 11; ++w) {
                        const auto at = static_cast<std::size_t>((k * 9 + h) * 11 + w);
                        if (std::abs(h - 4) <= 1 && std::abs(w - 5) <= 1) continue;
                        wrong += std::abs(static_cast<double>(one.dst[at]) - exact[at]) <=
                                         std::abs(exact[at]) * ps::bfloat16::rounding
                                     ? 0U
                                     : 1U;
                    }
                }
            }
            CHECK(wrong == 0);
        }
    }
}

}  // namespace direct_bf16_tests
