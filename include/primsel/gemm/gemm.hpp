#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/work.hpp>

#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// A matrix that somebody else owns, by the floats between neighbours down a column and along a row. One of the two is
/// 1: row-major or, with them exchanged, stored transposed.
struct MatrixView {
    const float* data = nullptr;
    std::size_t row_stride = 0;
    std::size_t column_stride = 1;
};

[[nodiscard]] constexpr MatrixView row_major(const float* data, std::size_t stride) { return {data, stride, 1}; }
/// The transpose of a row-major matrix whose rows are `stride` floats apart.
[[nodiscard]] constexpr MatrixView transposed(const float* data, std::size_t stride) { return {data, 1, stride}; }

/// C = A B, or C += A B; then C = clamp(C + bias + residual). A is m x k, B is k x n, C is m x n and row-major with
/// c_stride floats between rows; C overlaps neither A nor B.
struct GemmArgs {
    int m = 0, n = 0, k = 0;
    MatrixView a;
    MatrixView b;
    float* c = nullptr;
    std::size_t c_stride = 0;
    bool accumulate = false;
    /// A value a row of C, or null; and a value a column, or null.
    const float* row_bias = nullptr;
    const float* column_bias = nullptr;
    /// Laid out as C, or null.
    const float* residual = nullptr;
    Clamp clamp{};
    /// scratch_floats floats.
    float* scratch = nullptr;
    ExecutorRef executor;
};

/// A matrix multiplication: an empty type with
/// - id: its name, a FixedString, which the ids of primitives that multiply with it end in;
/// - scratch_floats<Arch>(m, n, k, workers): room that run needs;
/// - run<Arch>(args): noexcept, no allocation, the same bits whatever the executor;
/// - work<Arch>(m, n, k): what it does, for the analytical cost model.
/// SimdGemm (gemm_simd.hpp) and EigenGemm (gemm_eigen.hpp) model it.
template <class G>
concept Gemm = requires(GemmArgs const& args, int size, std::size_t workers) {
    FixedString("-") + G::id;
    { G::template scratch_floats<default_arch>(size, size, size, workers) } -> std::same_as<std::size_t>;
    { G::template run<default_arch>(args) } noexcept;
    { G::template work<default_arch>(size, size, size) } -> std::same_as<Work>;
};

struct SimdGemm;

namespace gemm {
/// The end of the id of a primitive that multiplies with G: "-eigen"; nothing for the library's own.
template <class G>
inline constexpr auto gemm_suffix = [] {
    if constexpr (std::same_as<G, SimdGemm>)
        return FixedString("");
    else
        return FixedString("-") + G::id;
}();
}  // namespace gemm

}  // namespace primsel::inline PRIMSEL_ABI
