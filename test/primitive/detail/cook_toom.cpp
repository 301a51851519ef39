#include <primsel/primitive/detail/cook_toom.hpp>

#include <doctest/doctest.h>

#include <array>

namespace {

using primsel::detail::cook_toom;
using primsel::detail::CookToom;
using primsel::detail::default_points;

template <int m, int r>
constexpr bool exact = cook_toom<m, r>.defect() < 1e-9;
static_assert(exact<1, 1> && exact<1, 3> && exact<2, 2> && exact<3, 2>);
static_assert(exact<2, 3> && exact<3, 3> && exact<4, 3> && exact<5, 3> && exact<6, 3> && exact<8, 3>);
static_assert(exact<1, 5> && exact<2, 5> && exact<3, 5> && exact<4, 5> && exact<6, 5> && exact<2, 7> && exact<4, 7>);

// Any distinct points will do; points that are not distinct cannot.
static_assert(CookToom<2, 3>({3, 5, 7}).defect() < 1e-9);
static_assert([] {
    auto matrices = cook_toom<4, 3>;
    matrices.kernel[2][1] *= 1.001;
    return matrices.defect() > 1e-5;
}());
static_assert([] {
    auto matrices = cook_toom<4, 3>;
    matrices.output[3][5] = 0;
    return matrices.defect() > 0.5;
}());

}  // namespace

TEST_CASE("the outputs of a filter, by the formula of the matrices") {
    constexpr auto const& f = cook_toom<4, 3>;
    constexpr std::array<double, 6> signal{3, -1, 4, 1, -5, 9};
    constexpr std::array<double, 3> filter{2, 7, -1};
    for (std::size_t i = 0; i < 4; ++i) {
        double output = 0, direct = 0;
        for (std::size_t t = 0; t < 3; ++t) direct += filter[t] * signal[i + t];
        for (std::size_t p = 0; p < 6; ++p) {
            double of_kernel = 0, of_input = 0;
            for (std::size_t t = 0; t < 3; ++t) of_kernel += f.kernel[p][t] * filter[t];
            for (std::size_t j = 0; j < 6; ++j) of_input += f.input[p][j] * signal[j];
            output += f.output[i][p] * of_kernel * of_input;
        }
        CHECK(output == doctest::Approx(direct).epsilon(1e-12));
    }
}

TEST_CASE("no point is used twice") {
    constexpr auto points = default_points<9>();
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) CHECK(points[i] != points[j]);
    }
}
