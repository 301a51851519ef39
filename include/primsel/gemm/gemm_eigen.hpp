// Opt-in: needs Eigen (the CMake target primsel::eigen). Eigen's symbols do not name the Arch. Translation units
// compiled for different instruction sets must therefore not include this header in one program.
#pragma once

#include <primsel/gemm/gemm.hpp>

#include <Eigen/Core>
#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// Eigen's matrix multiplication, on the calling thread. Eigen takes its packing buffers from the stack or the heap, so
/// a network that uses it may allocate in run().
struct EigenGemm {
    static constexpr FixedString id = "eigen";

    template <class>
    [[nodiscard]] static std::size_t scratch_floats(int, int, int, std::size_t) {
        return 0;
    }

    template <class Arch>
    static void run(GemmArgs const& args) noexcept {
        using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        using RowMajor = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
        const auto map = [](MatrixView const& view, int rows, int columns) {
            return RowMajor(view.data, rows, columns, Eigen::OuterStride<>(static_cast<Eigen::Index>(view.row_stride)));
        };
        const auto map_transposed = [](MatrixView const& view, int rows, int columns) {
            const auto stride = static_cast<Eigen::Index>(view.column_stride);
            return RowMajor(view.data, columns, rows, Eigen::OuterStride<>(stride)).transpose();
        };
        Eigen::Map<Matrix, 0, Eigen::OuterStride<>> c(args.c, args.m, args.n,
                                                      Eigen::OuterStride<>(static_cast<Eigen::Index>(args.c_stride)));
        if (!args.accumulate) c.setZero();
        const bool a_plain = args.a.column_stride == 1, b_plain = args.b.column_stride == 1;
        if (a_plain && b_plain) {
            c.noalias() += map(args.a, args.m, args.k) * map(args.b, args.k, args.n);
        } else if (a_plain) {
            c.noalias() += map(args.a, args.m, args.k) * map_transposed(args.b, args.k, args.n);
        } else if (b_plain) {
            c.noalias() += map_transposed(args.a, args.m, args.k) * map(args.b, args.k, args.n);
        } else {
            c.noalias() += map_transposed(args.a, args.m, args.k) * map_transposed(args.b, args.k, args.n);
        }
        for (int row = 0; row < args.m; ++row) {
            float* values = args.c + static_cast<std::size_t>(row) * args.c_stride;
            const float* residual =
                args.residual == nullptr ? nullptr : args.residual + static_cast<std::size_t>(row) * args.c_stride;
            for (int column = 0; column < args.n; ++column) {
                float value = values[column];
                if (args.row_bias != nullptr) value += args.row_bias[row];
                if (args.column_bias != nullptr) value += args.column_bias[column];
                if (residual != nullptr) value += residual[column];
                values[column] = primsel::clamp(value, args.clamp.low, args.clamp.high);
            }
        }
    }

    template <class>
    [[nodiscard]] static Work work(int m, int n, int k) {
        const double bytes = 4.0 * (1.0 * m * k + 1.0 * k * n + 2.0 * m * n);
        return Work{}.add(
            {.rate = Rate::gemm, .operations = 2.0 * m * n * k, .bytes = bytes, .working_set = bytes, .blocks = 1});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
