// Bulk copies for the ops that only move elements.
#pragma once

#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/vectors.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// Part `index` of `count` equal parts.
struct Part {
    std::size_t index, count;

    struct Range {
        std::size_t first, last;
    };
    /// Returns the part's range of so many elements.
    [[nodiscard]] Range of(std::size_t elements) const {
        if (count == 1) return {0, elements};
        return {elements * index / count, elements * (index + 1) / count};
    }
};

/// Copies floats. Rows are often too short for a call of memcpy to pay.
template <class Arch>
PRIMSEL_INLINE void copy_floats(const float* src, float* dst, std::size_t floats) {
    for (std::size_t i = 0; i < floats; i += lanes<Arch>) {
        store_up_to<Arch>(dst + i, load_up_to<Arch>(src + i, floats - i), floats - i);
    }
}

/// Copies contiguous rows to rows that begin `step` floats apart.
template <class Arch>
PRIMSEL_INLINE void copy_rows(const float* src, std::size_t floats, float* dst, std::size_t step, std::size_t rows) {
    if (floats <= lanes<Arch>) {
        for (std::size_t row = 0; row < rows; ++row) {
            store_up_to<Arch>(dst + row * step, load_up_to<Arch>(src + row * floats, floats), floats);
        }
        return;
    }
    for (std::size_t row = 0; row < rows; ++row) copy_floats<Arch>(src + row * floats, dst + row * step, floats);
}

/// Copies the part of src[0, floats).
template <class Arch>
PRIMSEL_INLINE void copy_part(const float* src, float* dst, std::size_t floats, Part part) {
    const auto [first, last] = part.of(floats);
    copy_floats<Arch>(src + first, dst + first, last - first);
}

/// Calls f(row, part) for each row of the given floats and each of its parts. A row has one part, unless it is too long
/// for a block.
template <class F>
void for_row_parts(ExecutorRef executor, std::size_t rows, std::size_t row_floats, F const& f) noexcept {
    const std::size_t parts = (row_floats + op_block_floats - 1) / op_block_floats;
    for_ranges(executor, rows * parts, row_floats / parts, [&f, parts](std::size_t first, std::size_t last) {
        std::size_t row = first / parts, part = first % parts;
        for (std::size_t item = first; item < last; ++item) {
            f(row, Part{part, parts});
            if (++part == parts) part = 0, ++row;
        }
    });
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
