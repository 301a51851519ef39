#include "laws.hpp"

#include <primsel/op/reduce.hpp>

namespace {

namespace ps = primsel;
using ps::Axis;
using ps::ReduceKind;

TEST_CASE("reductions agree with the reference along any axis in every layout") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const Axis axis : {Axis::c, Axis::h, Axis::w}) {
            laws::check(ps::ReduceParams{ReduceKind::mean, axis}, shape, 1e-6);
            laws::check(ps::ReduceParams{ReduceKind::sum, axis}, shape, 2e-5);
            laws::check(ps::ReduceParams{ReduceKind::max, axis}, shape, 0);
            laws::check(ps::ReduceParams{ReduceKind::arg_max, axis}, shape, 0);
        }
    }
}

TEST_CASE("reductions of rows around the length of a block of float sums") {
    for (const int length : {64, 255, 256, 257, 511, 513, 1024, 1025}) {
        const ps::Shape shape{1, 19, length};
        laws::check(ps::ReduceParams{ReduceKind::mean, Axis::w}, shape, 1e-6);
        laws::check(ps::ReduceParams{ReduceKind::max, Axis::w}, shape, 0);
        laws::check(ps::ReduceParams{ReduceKind::arg_max, Axis::w}, shape, 0);
    }
}

TEST_CASE("a NaN wins over every maximum and sum") {
    for (const ReduceKind kind : {ReduceKind::mean, ReduceKind::sum, ReduceKind::max}) {
        for (const Axis axis : {Axis::c, Axis::h, Axis::w}) {
            std::vector<float> elements(5 * 5 * 5, 3.0F);
            elements[62] = std::nanf("");  // the one in the middle
            const std::vector<float> y = laws::run_one<ps::hcw>(ps::ReduceParams{kind, axis}, {5, 5, 5}, elements);
            for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i == 12));
        }
    }
}

TEST_CASE("of equal largest elements, the first is found") {
    const std::vector<float> elements{1, 3, 2, 3, -1, -1, -2, -1};
    const ps::ReduceParams in_rows{ReduceKind::arg_max, Axis::w}, in_columns{ReduceKind::arg_max, Axis::h};
    CHECK(laws::run_one<ps::chw>(in_rows, {1, 2, 4}, elements) == std::vector<float>{1, 0});
    CHECK(laws::run_one<ps::chw>(in_columns, {1, 4, 2}, elements) == std::vector<float>{1, 0});
    CHECK(laws::run_one<ps::chw>(in_columns, {1, 8, 1}, elements) == std::vector<float>{1});

    std::vector<float> many(40 * 70, 1.0F), first(40);
    for (std::size_t row = 0; row < 40; ++row) {
        for (const std::size_t at : {row, row + 16, row + 24}) many[row * 70 + at] = 2;
        many[row * 70 + 69] = std::nanf("");
        first[row] = static_cast<float>(row);
    }
    CHECK(laws::run_one<ps::chw>(in_rows, {40, 1, 70}, many) == first);
    CHECK(laws::run_one<ps::chw>(in_rows, {20, 1, 33}, std::vector<float>(20 * 33, -laws::infinity)) ==
          std::vector<float>(20, 0.0F));
}

}  // namespace
