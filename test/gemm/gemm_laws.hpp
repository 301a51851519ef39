// The laws of the Gemm concept, for any model.
#pragma once

#include "../primitive/laws.hpp"

#include <primsel/gemm/gemm.hpp>

#include <doctest/doctest.h>

namespace laws {

struct Product {
    int m, n, k;
    bool a_transposed = false, b_transposed = false, accumulate = false, row_bias = false, column_bias = false,
         residual = false;
    ps::Clamp clamp{};
};

/// A product's data: small integers, of which every order of summation has the same, exact sum. Rows are farther apart
/// than they are wide; what lies between is NaN, and what follows the last row is not theirs.
class Operands {
public:
    explicit Operands(Product const& p, Watch watch)
        : a(p.a_transposed ? p.k : p.m, p.a_transposed ? p.m : p.k, watch),
          b(p.b_transposed ? p.n : p.k, p.b_transposed ? p.k : p.n, watch),
          c(p.m, p.n, watch),
          residual(p.m, p.n, watch),
          row_bias(1, p.m, watch),
          column_bias(1, p.n, watch) {
        std::mt19937 bits(static_cast<unsigned>(p.m * 10000 + p.n * 100 + p.k));
        for (Stored* each : {&a, &b, &residual, &row_bias, &column_bias}) {
            each->fill(bits);
            each->floats.seal();
        }
        if (p.accumulate) c.fill(bits);  // otherwise NaN, which must not matter
    }

    struct Stored {
        std::size_t rows, columns, stride;
        Guarded floats;

        Stored(int row_count, int column_count, Watch watch)
            : rows(static_cast<std::size_t>(row_count)),
              columns(static_cast<std::size_t>(column_count)),
              stride(columns + 3),
              floats((rows - 1) * stride + columns, watch, 1) {}
        void fill(std::mt19937& bits) {
            for (std::size_t i = 0; i < rows; ++i) {
                for (std::size_t j = 0; j < columns; ++j) {
                    floats.data()[i * stride + j] = static_cast<float>(static_cast<int>(bits() % 7) - 3);
                }
            }
        }
        [[nodiscard]] double at(std::size_t i, std::size_t j) {
            return static_cast<double>(floats.data()[i * stride + j]);
        }
    };
    Stored a, b, c, residual, row_bias, column_bias;
};

/// The exact value of every place of C, the gaps included; NaN there.
[[nodiscard]] inline std::vector<double> exact_product(Product const& p, Operands& o) {
    std::vector<double> result;
    for (std::size_t i = 0; i < o.c.rows; ++i) {
        for (std::size_t j = 0; j < o.c.columns; ++j) {
            double sum = p.accumulate ? o.c.at(i, j) : 0.0;
            for (std::size_t l = 0; l < static_cast<std::size_t>(p.k); ++l) {
                sum += (p.a_transposed ? o.a.at(l, i) : o.a.at(i, l)) * (p.b_transposed ? o.b.at(j, l) : o.b.at(l, j));
            }
            if (p.row_bias) sum += o.row_bias.at(0, i);
            if (p.column_bias) sum += o.column_bias.at(0, j);
            if (p.residual) sum += o.residual.at(i, j);
            result.push_back(std::clamp(sum, static_cast<double>(p.clamp.low), static_cast<double>(p.clamp.high)));
        }
    }
    return result;
}

/// C, row after row; empty if anything else was written, the gaps between the rows included.
template <ps::Gemm G>
[[nodiscard]] std::vector<float> multiply(Product const& p, Operands& o, ps::ExecutorRef executor, Watch watch) {
    Guarded scratch(G::template scratch_floats<ps::default_arch>(p.m, p.n, p.k, executor.concurrency()), watch, 0);
    G::template run<ps::default_arch>({.m = p.m,
                                       .n = p.n,
                                       .k = p.k,
                                       .a = p.a_transposed ? ps::transposed(o.a.floats.data(), o.a.stride)
                                                           : ps::row_major(o.a.floats.data(), o.a.stride),
                                       .b = p.b_transposed ? ps::transposed(o.b.floats.data(), o.b.stride)
                                                           : ps::row_major(o.b.floats.data(), o.b.stride),
                                       .c = o.c.floats.data(),
                                       .c_stride = o.c.stride,
                                       .accumulate = p.accumulate,
                                       .row_bias = p.row_bias ? o.row_bias.floats.data() : nullptr,
                                       .column_bias = p.column_bias ? o.column_bias.floats.data() : nullptr,
                                       .residual = p.residual ? o.residual.floats.data() : nullptr,
                                       .clamp = p.clamp,
                                       .scratch = scratch.data(),
                                       .executor = executor});
    std::vector<float> c;
    bool intact = scratch.intact();
    for (Operands::Stored const* each : {&o.a, &o.b, &o.c, &o.residual, &o.row_bias, &o.column_bias}) {
        intact = intact && each->floats.intact();
    }
    for (std::size_t i = 0; i < o.c.rows; ++i) {
        for (std::size_t j = 0; j < (i + 1 < o.c.rows ? o.c.stride : o.c.columns); ++j) {
            const float value = o.c.floats.data()[i * o.c.stride + j];
            if (j < o.c.columns) {
                c.push_back(value);
            } else {
                intact = intact && std::isnan(value);
            }
        }
    }
    return intact ? c : std::vector<float>{};
}

template <ps::Gemm G>
void check_gemm() {
    ps::Sequential sequential;
    Backwards backwards;
    ps::CallerPool pool(3, Threads{});
    const std::vector<int> rows =
        quick() ? std::vector<int>{1, 13, 43} : std::vector<int>{1, 2, 7, 13, 14, 15, 43, 130};
    const std::vector<int> columns =
        quick() ? std::vector<int>{1, 16, 33} : std::vector<int>{1, 7, 8, 15, 16, 17, 31, 32, 33, 70, 131};
    unsigned turn = 0;
    for (const int m : rows) {
        for (const int n : columns) {
            for (const int k : {1, 2, 31, 97}) {
                for (unsigned form = 0; form < 8; ++form) {
                    // Every part of the epilogue is there in half of the cases, in changing company.
                    const unsigned parts = turn++ * 2654435761U >> 20U;
                    const Product product{.m = m,
                                          .n = n,
                                          .k = k,
                                          .a_transposed = (form & 1U) != 0,
                                          .b_transposed = (form & 2U) != 0,
                                          .accumulate = (form & 4U) != 0,
                                          .row_bias = (parts & 1U) != 0,
                                          .column_bias = (parts & 2U) != 0,
                                          .residual = (parts & 4U) != 0,
                                          .clamp = (parts & 8U) != 0 ? ps::Clamp{-20, 25} : ps::Clamp{}};
                    CAPTURE(m);
                    CAPTURE(n);
                    CAPTURE(k);
                    CAPTURE(product.a_transposed);
                    CAPTURE(product.b_transposed);
                    CAPTURE(product.accumulate);
                    CAPTURE(product.row_bias);
                    CAPTURE(product.column_bias);
                    CAPTURE(product.residual);
                    CAPTURE(product.clamp.high);
                    Operands first(product, Watch::zones), second(product, Watch::heap);
                    const std::vector<double> exact = exact_product(product, first);
                    CHECK(equal(multiply<G>(product, first, sequential, Watch::zones), exact));
                    CHECK(equal(multiply<G>(product, second, backwards, Watch::heap), exact));
                    if (form == 0 && k == 31) {
                        Operands third(product, Watch::heap);
                        CHECK(equal(multiply<G>(product, third, pool, Watch::heap), exact));
                    }
                }
            }
        }
    }
}

/// With values whose sums round: the same bits on every executor, and again.
template <ps::Gemm G>
void check_gemm_bits() {
    ps::Sequential sequential;
    Backwards backwards;
    ps::CallerPool pool(3, Threads{});
    struct Size {
        int m, n, k;
    };
    for (Size const& size : {Size{150, 70, 300}, Size{33, 270, 111}, Size{49, 49, 49}}) {
        for (unsigned form = 0; form < 4; ++form) {
            const Product product{.m = size.m,
                                  .n = size.n,
                                  .k = size.k,
                                  .a_transposed = (form & 1U) != 0,
                                  .b_transposed = (form & 2U) != 0,
                                  .column_bias = true};
            CAPTURE(size.m);
            CAPTURE(form);
            const auto run = [&](ps::ExecutorRef executor) {
                Operands o(product, Watch::heap);
                std::mt19937 bits(5);
                std::normal_distribution<float> normal;
                for (Operands::Stored* each : {&o.a, &o.b, &o.column_bias}) {
                    for (float& value : each->floats.span()) value = normal(bits);
                    each->floats.seal();
                }
                return multiply<G>(product, o, executor, Watch::heap);
            };
            const std::vector<float> once = run(sequential);
            CHECK_FALSE(once.empty());
            CHECK(same_bits(run(sequential), once));
            CHECK(same_bits(run(backwards), once));
            CHECK(same_bits(run(pool), once));
        }
    }
}

}  // namespace laws
