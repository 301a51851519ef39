#include <primsel/primitive/detail/cook_toom.hpp>

#include <doctest/doctest.h>

#include <array>

namespace {

using primsel::DefaultPoints;
using primsel::Points;
using primsel::primitive::detail::cook_toom;
using primsel::primitive::detail::CookToom;

template <int m, int r>
constexpr bool exact = cook_toom<m, r>.is_convolution();
static_assert(exact<1, 1> && exact<1, 3> && exact<2, 2> && exact<3, 2>);
static_assert(exact<2, 3> && exact<3, 3> && exact<4, 3> && exact<5, 3> && exact<6, 3> && exact<8, 3>);
static_assert(exact<1, 5> && exact<2, 5> && exact<3, 5> && exact<4, 5> && exact<6, 5> && exact<2, 7> && exact<4, 7>);

// Any distinct points will do.
using Odd = Points<std::ratio<3>, std::ratio<5, 4>, std::ratio<-7, 3>>;
static_assert(cook_toom<2, 3, Odd>.is_convolution() && cook_toom<3, 2, Odd>.is_convolution());
static_assert([] {
    auto matrices = cook_toom<4, 3>;
    matrices.kernel[2][1] = matrices.kernel[2][1] * primsel::Rational(1001, 1000);
    return !matrices.is_convolution();
}());
static_assert([] {
    auto matrices = cook_toom<4, 3>;
    matrices.output[3][5] = 0;
    return !matrices.is_convolution();
}());

}  // namespace

TEST_CASE("the outputs of a filter, by the formula of the matrices") {
    using primsel::primitive::detail::input_matrix;
    using primsel::primitive::detail::kernel_matrix;
    using primsel::primitive::detail::output_matrix;
    constexpr std::array<double, 6> signal{3, -1, 4, 1, -5, 9};
    constexpr std::array<double, 3> filter{2, 7, -1};
    for (std::size_t i = 0; i < 4; ++i) {
        double output = 0, direct = 0;
        for (std::size_t t = 0; t < 3; ++t) direct += filter[t] * signal[i + t];
        for (std::size_t p = 0; p < 6; ++p) {
            double of_kernel = 0, of_input = 0;
            for (std::size_t t = 0; t < 3; ++t) of_kernel += kernel_matrix<4, 3>[p][t] * filter[t];
            for (std::size_t j = 0; j < 6; ++j) of_input += input_matrix<4, 3>[p][j] * signal[j];
            output += output_matrix<4, 3>[i][p] * of_kernel * of_input;
        }
        CHECK(output == doctest::Approx(direct).epsilon(1e-12));
    }
}

TEST_CASE("no point is used twice") {
    constexpr auto points = DefaultPoints<9>::values;
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) CHECK(points[i] != points[j]);
    }
}
