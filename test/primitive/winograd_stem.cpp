#include <primsel/primitive/winograd_stem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace primitive_winograd_stem {

namespace ps = primsel;

/// The largest difference, over all inputs and taps that are 1 alone, between the filter of the matrices and the
/// definition.
template <int m, int r, int stride>
double error_of_matrices() {
    using Matrices = ps::primitive::detail::TileMatrices<m, r, stride>;
    double largest = 0;
    for (std::size_t output = 0; output < static_cast<std::size_t>(m); ++output) {
        for (std::size_t input = 0; input < static_cast<std::size_t>(Matrices::size); ++input) {
            for (std::size_t tap = 0; tap < static_cast<std::size_t>(r); ++tap) {
                double sum = 0;
                for (std::size_t i = 0; i < static_cast<std::size_t>(Matrices::size); ++i)
                    sum += Matrices::output[output][i] * Matrices::kernel[i][tap] * Matrices::input[i][input];
                const int of_input = Matrices::position(static_cast<int>(input)),
                          of_tap = Matrices::tap(static_cast<int>(tap));
                const bool meets = of_input == static_cast<int>(output) * stride + of_tap;
                largest = std::max(largest, std::abs(sum - (meets ? 1 : 0)));
            }
        }
    }
    return largest;
}

TEST_CASE("the phases of a filter with a stride compute its definition") {
    CHECK(error_of_matrices<4, 3, 1>() < 1e-12);
    CHECK(error_of_matrices<2, 3, 2>() < 1e-12);
    CHECK(error_of_matrices<4, 3, 2>() < 1e-12);
    CHECK(error_of_matrices<3, 5, 2>() < 1e-12);
    CHECK(error_of_matrices<4, 7, 2>() < 1e-12);
    CHECK(error_of_matrices<2, 7, 3>() < 1e-12);
    CHECK(error_of_matrices<4, 11, 4>() < 1e-12);
    CHECK(error_of_matrices<3, 4, 4>() < 1e-12);
}

TEST_CASE("a first layer that is not of the stem's kind is refused, with a reason") {
    using Stem = ps::WinogradStem<4, 7, 2>;
    const ps::ConvShape stem{.c = 3, .k = 64, .h = 30, .w = 31, .fh = 7, .fw = 7, .stride_h = 2, .stride_w = 2};
    CHECK(bool(Stem::supports(stem)));
    const auto reason = [](ps::ConvShape shape) { return std::string_view(Stem::supports(shape).reason()); };
    ps::ConvShape other = stem;
    other.fh = 5;
    CHECK(reason(other) == "needs a 7x7 kernel");
    other = stem, other.stride_h = 1;
    CHECK(reason(other) == "needs stride 2");
    other = stem, other.dilation_w = 2;
    CHECK(reason(other) == "needs dilation 1");
    other = stem, other.c = 5;
    CHECK(reason(other) == "needs 4 channels or fewer");
}

}  // namespace primitive_winograd_stem
