#pragma once

#include <primsel/gemm/gemm_simd.hpp>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// Returns the number of floats of scratch that multiply needs.
template <class Arch>
[[nodiscard]] std::size_t multiply_scratch(GemmArgs const& args) {
    return SimdGemm::scratch_floats<Arch>(args.m, args.n, args.k, args.executor.concurrency());
}

/// SimdGemm for code that is not hot otherwise. It is not inline, so that instantiate.hpp keeps the tiles out of other
/// translation units.
template <class Arch>
void multiply(GemmArgs const& args) noexcept {
    SimdGemm::run<Arch>(args);
}

#ifdef PRIMSEL_EXTERN_KERNELS
extern template void multiply<default_arch>(GemmArgs const&) noexcept;
#endif

}  // namespace primsel::inline PRIMSEL_ABI::gemm
