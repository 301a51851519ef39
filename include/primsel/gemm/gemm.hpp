#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/work.hpp>

#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// A view of a matrix that it does not own, by the distance in floats between neighbouring rows and between
/// neighbouring columns. One of the two distances is 1: the matrix is row-major or stored transposed.
struct MatrixView {
    const float* data = nullptr;
    std::size_t row_stride = 0;
    std::size_t column_stride = 1;
};

[[nodiscard]] constexpr MatrixView row_major(const float* data, std::size_t stride) { return {data, stride, 1}; }
/// Returns the transpose of a row-major matrix whose rows are `stride` floats apart.
[[nodiscard]] constexpr MatrixView transposed(const float* data, std::size_t stride) { return {data, 1, stride}; }

/// The operands of C = A B, or C += A B, followed by C = clamp(C + bias + residual). A is m x k, B is k x n. C is m x n
/// and row-major with c_stride floats between rows; it overlaps neither A nor B.
struct GemmArgs {
    int m = 0, n = 0, k = 0;
    MatrixView a;
    MatrixView b;
    float* c = nullptr;
    std::size_t c_stride = 0;
    bool accumulate = false;
    /// The bias: one value for each row of C, or null; and one for each column, or null.
    const float* row_bias = nullptr;
    const float* column_bias = nullptr;
    /// Added to the result, in the layout of C; or null.
    const float* residual = nullptr;
    Clamp clamp{};
    /// scratch_floats floats of working memory.
    float* scratch = nullptr;
    ExecutorRef executor;
};

/// A matrix multiplication: an empty type with
/// - id: a FixedString, with which the ids of primitives that multiply with it end;
/// - scratch_floats<Arch>(m, n, k, workers): the number of floats of scratch that run needs;
/// - run<Arch>(args): noexcept, allocates nothing, gives the same bits for every executor;
/// - work<Arch>(m, n, k): the work for the analytical cost model; work<Arch>(m, n, k, threads) if it depends on them.
/// SimdGemm (gemm_simd.hpp) and EigenGemm (gemm_eigen.hpp) model this concept.
template <class G>
concept Gemm = requires(GemmArgs const& args, int size, std::size_t workers) {
    FixedString("-") + G::id;
    { G::template scratch_floats<default_arch>(size, size, size, workers) } -> std::same_as<std::size_t>;
    { G::template run<default_arch>(args) } noexcept;
    { G::template work<default_arch>(size, size, size) } -> std::same_as<Work>;
};

struct SimdGemm;

namespace gemm {
/// Returns the work of a product on so many threads, by work<Arch>(m, n, k, threads) where G has that.
template <class G, class Arch>
[[nodiscard]] Work work_of(int m, int n, int k, int threads) {
    if constexpr (requires { G::template work<Arch>(m, n, k, threads); }) {
        return G::template work<Arch>(m, n, k, threads);
    } else {
        return G::template work<Arch>(m, n, k);
    }
}
/// The end of the id of a primitive that multiplies with G, e.g. "-eigen"; empty for the library's own SimdGemm.
template <class G>
inline constexpr auto gemm_suffix = [] {
    if constexpr (std::same_as<G, SimdGemm>)
        return FixedString("");
    else
        return FixedString("-") + G::id;
}();
}  // namespace gemm

}  // namespace primsel::inline PRIMSEL_ABI
