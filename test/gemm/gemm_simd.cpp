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
