// The laws of the Gemm concept, over its models.
#include <primsel/primitive/gemm_simd.hpp>

#if __has_include(<Eigen/Core>)
#include <primsel/primitive/gemm_eigen.hpp>
#endif

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace ps = primsel;

namespace {

static_assert(ps::Gemm<ps::SimdGemm>);
static_assert(!ps::Gemm<int>);

struct Case {
    int m, n, k;
    bool a_transposed, b_transposed, accumulate, epilogue;
};

/// Small integers: every model and order of summation has the same, exact result.
template <class G>
std::vector<float> multiply(Case const& t, ps::ExecutorRef executor, std::vector<double>* exact = nullptr) {
    const auto m = static_cast<std::size_t>(t.m), n = static_cast<std::size_t>(t.n), k = static_cast<std::size_t>(t.k);
    const std::size_t gap = 3, a_stride = (t.a_transposed ? m : k) + gap, b_stride = (t.b_transposed ? k : n) + gap,
                      c_stride = n + gap;
    std::vector<float> a((t.a_transposed ? k : m) * a_stride), b((t.b_transposed ? n : k) * b_stride), c(m * c_stride),
        residual(c.size()), rows(m), columns(n);
    unsigned state = 1;
    for (auto* data : {&a, &b, &c, &residual, &rows, &columns}) {
        for (float& value : *data)
            value = static_cast<float>(static_cast<int>((state = state * 1103515245U + 12345U) >> 16 & 7U) - 3);
    }
    const std::vector<float> before = c;
    const ps::Clamp clamp = t.epilogue ? ps::Clamp{-20, 25} : ps::Clamp{};
    std::vector<float> scratch(G::template scratch_floats<ps::default_arch>(t.m, t.n, t.k, executor.concurrency()));
    G::template run<ps::default_arch>(
        {.m = t.m,
         .n = t.n,
         .k = t.k,
         .a = t.a_transposed ? ps::transposed(a.data(), a_stride) : ps::row_major(a.data(), a_stride),
         .b = t.b_transposed ? ps::transposed(b.data(), b_stride) : ps::row_major(b.data(), b_stride),
         .c = c.data(),
         .c_stride = c_stride,
         .accumulate = t.accumulate,
         .row_bias = t.epilogue ? rows.data() : nullptr,
         .column_bias = t.epilogue ? columns.data() : nullptr,
         .residual = t.epilogue ? residual.data() : nullptr,
         .clamp = clamp,
         .scratch = scratch.data(),
         .executor = executor});
    if (exact != nullptr) {
        exact->assign(before.begin(), before.end());  // what lies between the rows stays as it was
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                const std::size_t at = i * c_stride + j;
                double sum = t.accumulate ? static_cast<double>(before[at]) : 0.0;
                for (std::size_t l = 0; l < k; ++l) {
                    sum += static_cast<double>(t.a_transposed ? a[l * a_stride + i] : a[i * a_stride + l]) *
                           static_cast<double>(t.b_transposed ? b[j * b_stride + l] : b[l * b_stride + j]);
                }
                if (t.epilogue) sum += static_cast<double>(rows[i] + columns[j] + residual[at]);
                (*exact)[at] = std::clamp(sum, static_cast<double>(clamp.low), static_cast<double>(clamp.high));
            }
        }
    }
    return c;
}

template <class G>
void check_laws() {
    ps::Sequential sequential;
    ps::CallerPool pool(3, [](std::size_t n, auto const& task) noexcept {
        std::vector<std::thread> workers;
        for (std::size_t i = 0; i < n; ++i) workers.emplace_back([&task, i] { task(i); });
        for (std::thread& worker : workers) worker.join();
    });
    for (const int m : {1, 2, 13, 14, 15, 43, 130}) {
        for (const int n : {1, 7, 16, 17, 32, 33, 70}) {
            for (const int k : {1, 2, 31}) {
                for (unsigned form = 0; form < 16; ++form) {
                    const Case t{m, n, k, (form & 1U) != 0, (form & 2U) != 0, (form & 4U) != 0, (form & 8U) != 0};
                    std::vector<double> exact;
                    const std::vector<float> c = multiply<G>(t, sequential, &exact);
                    CAPTURE(m);
                    CAPTURE(n);
                    CAPTURE(k);
                    CAPTURE(form);
                    CHECK(std::equal(c.begin(), c.end(), exact.begin(),
                                     [](float x, double y) { return static_cast<double>(x) == y; }));
                    if (form == 0 && n > 30) CHECK(multiply<G>(t, pool) == c);
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("SimdGemm multiplies") { check_laws<ps::SimdGemm>(); }

#if __has_include(<Eigen/Core>)
TEST_CASE("EigenGemm multiplies") {
    static_assert(ps::Gemm<ps::EigenGemm>);
    check_laws<ps::EigenGemm>();
}
#endif
