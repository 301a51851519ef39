// The matrices with which Winograd's tiles are transformed, for filters of any stride.
#pragma once

#include <primsel/primitive/detail/cook_toom.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// The matrices of m outputs of an r-tap filter, `stride` inputs apart, in double: the outputs are
/// output * ((kernel * taps) elementwise (input * inputs)).
///
/// Tap t meets the inputs with the remainder t modulo the stride alone. So the filter is the sum of `stride` filters of
/// stride 1, its phases, and each matrix consists of theirs. A phase of one tap needs no transform. Interpolation
/// points other than the default ones are for stride 1.
template <int m, int r, int stride, class P = void>
struct TileMatrices {
    static_assert(1 <= stride && stride <= r);

    /// The inputs of a tile, which are also its products.
    static constexpr int size = stride * (m - 1) + r;

private:
    template <int phase>
    static constexpr int taps_of = (r - phase + stride - 1) / stride;
    template <int phase>
    static constexpr int inputs_of = m + taps_of<phase> - 1;

    template <int count>
    [[nodiscard]] static constexpr auto points() {
        if constexpr (stride == 1 && !std::is_void_v<P>)
            return P::values;
        else
            return DefaultPoints<m + count - 2>::values;
    }

    struct All {
        std::array<std::array<double, static_cast<std::size_t>(size)>, static_cast<std::size_t>(size)> input{};
        std::array<std::array<double, static_cast<std::size_t>(r)>, static_cast<std::size_t>(size)> kernel{};
        std::array<std::array<double, static_cast<std::size_t>(size)>, static_cast<std::size_t>(m)> output{};
        std::array<int, static_cast<std::size_t>(size)> positions{};
        std::array<int, static_cast<std::size_t>(r)> taps{};
        double operations = 0;
        std::size_t inputs_done = 0, taps_done = 0;

        template <int phase>
        constexpr void add() {
            constexpr int inputs = inputs_of<phase>, count = taps_of<phase>;
            for (int i = 0; i < inputs; ++i) positions[inputs_done + static_cast<std::size_t>(i)] = phase + i * stride;
            for (int i = 0; i < count; ++i) taps[taps_done + static_cast<std::size_t>(i)] = phase + i * stride;
            if constexpr (count == 1) {
                for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i) {
                    input[inputs_done + i][inputs_done + i] = 1;
                    kernel[inputs_done + i][taps_done] = 1;
                    output[i][inputs_done + i] = 1;
                }
            } else {
                constexpr CookToom<m, count> exact(points<count>());
                static_assert(exact.is_convolution(), "two interpolation points are the same");
                place(exact.input, input, inputs_done, inputs_done);
                place(exact.kernel, kernel, inputs_done, taps_done);
                place(exact.output, output, 0, inputs_done);
                operations += 1.0 * inputs * inputs / size;
            }
            inputs_done += static_cast<std::size_t>(inputs);
            taps_done += static_cast<std::size_t>(count);
        }

        template <class Of, class To>
        static constexpr void place(Of const& matrix, To& to, std::size_t row, std::size_t column) {
            for (std::size_t i = 0; i < matrix.size(); ++i) {
                for (std::size_t j = 0; j < matrix[i].size(); ++j) to[row + i][column + j] = matrix[i][j].value();
            }
        }
    };
    /// Phases with an even number of inputs come first: then columns of a phase that are even are so in the matrix, by
    /// which mirrored rows are found, for at most one phase with an odd number.
    static constexpr All all = []<int... phase>(std::integer_sequence<int, phase...>) {
        All result;
        const auto with = [&result]<int of>(std::integral_constant<int, of>, bool even) {
            if ((inputs_of<of> % 2 == 0) == even) result.template add<of>();
        };
        (with(std::integral_constant<int, phase>{}, true), ...);
        (with(std::integral_constant<int, phase>{}, false), ...);
        return result;
    }(std::make_integer_sequence<int, stride>{});

public:
    static constexpr auto input = all.input;
    static constexpr auto kernel = all.kernel;
    static constexpr auto output = all.output;
    /// The operations of a transform for each of a tile's inputs.
    static constexpr double operations = all.operations;

    /// Returns the place in the tile of the input that column i of `input` stands for.
    [[nodiscard]] static constexpr int position(int i) noexcept { return all.positions[static_cast<std::size_t>(i)]; }
    /// Returns the tap that column i of `kernel` stands for.
    [[nodiscard]] static constexpr int tap(int i) noexcept { return all.taps[static_cast<std::size_t>(i)]; }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
