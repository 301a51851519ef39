#include "gemm_laws.hpp"

#include <primsel/gemm/gemm_simd.hpp>

namespace ps = primsel;

namespace {

struct MultiplyMayThrow : ps::SimdGemm {
    template <class Arch>
    static void run(ps::GemmArgs const&) {}
};
struct WithoutWork {
    template <class Arch>
    static std::size_t scratch_floats(int, int, int, std::size_t) {
        return 0;
    }
    template <class Arch>
    static void run(ps::GemmArgs const&) noexcept {}
};
static_assert(ps::Gemm<ps::SimdGemm>);
static_assert(!ps::Gemm<MultiplyMayThrow> && !ps::Gemm<WithoutWork> && !ps::Gemm<int>);

}  // namespace

TEST_CASE("SimdGemm multiplies") { laws::check_gemm<ps::SimdGemm>(); }

TEST_CASE("SimdGemm gives the same bits on every executor") { laws::check_gemm_bits<ps::SimdGemm>(); }

TEST_CASE("SimdGemm multiplies into rows that are spread over many pages") {
    const laws::Product product{
        .m = 43, .n = 35963, .k = 3, .a_transposed = true, .row_bias = true, .column_bias = true, .residual = true};
    ps::Sequential sequential;
    laws::Backwards backwards;
    ps::CallerPool pool(3, laws::Threads{});
    laws::Operands first(product, laws::Watch::zones), second(product, laws::Watch::heap);
    const std::vector<double> exact = laws::exact_product(product, first);
    CHECK(laws::equal(laws::multiply<ps::SimdGemm>(product, first, sequential, laws::Watch::zones), exact));
    CHECK(laws::equal(laws::multiply<ps::SimdGemm>(product, second, backwards, laws::Watch::heap), exact));
    CHECK(laws::equal(laws::multiply<ps::SimdGemm>(product, second, pool, laws::Watch::heap), exact));
}
