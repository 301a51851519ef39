// Traversal of several tensors together, each with strides of its own.
#pragma once

#include <primsel/op/detail/copy.hpp>

#include <array>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// The axes of a dense tensor, outermost first, with the stride of each axis in `tensors` other tensors. The last axis
/// is a row; there is always one, if only of one element.
template <std::size_t tensors, std::size_t max_rank>
class Walk {
public:
    using Offsets = std::array<std::ptrdiff_t, tensors>;

    /// Adds the next inner axis. An axis of one element is left out. An axis that continues the outer one without a gap
    /// is merged with it.
    void add(std::size_t extent, Offsets const& step) {
        if (extent == 1) return;
        if (rank_ > 0 && goes_on(extent, step)) {
            extents_[rank_ - 1] *= extent;
            steps_[rank_ - 1] = step;
            return;
        }
        extents_[rank_] = extent;
        steps_[rank_++] = step;
    }

    [[nodiscard]] std::size_t rank() const { return rank_; }
    [[nodiscard]] std::size_t extent(std::size_t axis) const { return extents_[axis]; }
    [[nodiscard]] Offsets const& step(std::size_t axis) const { return steps_[axis]; }
    [[nodiscard]] std::size_t row_floats() const { return rank_ == 0 ? 1 : extents_[rank_ - 1]; }
    /// Returns the offsets from one element of a row to the next.
    [[nodiscard]] Offsets row_step() const { return rank_ == 0 ? Offsets{} : steps_[rank_ - 1]; }
    [[nodiscard]] std::size_t rows() const {
        std::size_t rows = 1;
        for (std::size_t axis = 0; axis + 1 < rank_; ++axis) rows *= extents_[axis];
        return rows;
    }

    /// Calls f(row, offsets of its first element, part) for every part of every row. An element of a row stands for
    /// element_floats floats of work.
    template <class F>
    void for_each_row(ExecutorRef executor, F const& f, std::size_t element_floats = 1) const noexcept {
        const std::size_t floats = row_floats() * element_floats,
                          parts = (floats + op_block_floats - 1) / op_block_floats;
        for_ranges(executor, rows() * parts, floats / parts, [this, parts, &f](std::size_t first, std::size_t last) {
            std::array<std::size_t, max_rank> place{};
            Offsets at{};
            for (std::size_t rest = first / parts, axis = rank_ < 2 ? 0 : rank_ - 1; axis-- > 0;) {
                place[axis] = rest % extents_[axis];
                rest /= extents_[axis];
                move(at, axis, static_cast<std::ptrdiff_t>(place[axis]));
            }
            std::size_t row = first / parts, part = first % parts;
            for (std::size_t item = first; item < last; ++item) {
                f(row, at, Part{part, parts});
                if (++part < parts) continue;
                part = 0, ++row;
                for (std::size_t axis = rank_ < 2 ? 0 : rank_ - 1; axis-- > 0;) {
                    move(at, axis, 1);
                    if (++place[axis] < extents_[axis]) break;
                    move(at, axis, -static_cast<std::ptrdiff_t>(extents_[axis]));
                    place[axis] = 0;
                }
            }
        });
    }

private:
    [[nodiscard]] bool goes_on(std::size_t extent, Offsets const& step) const {
        for (std::size_t i = 0; i < tensors; ++i) {
            if (steps_[rank_ - 1][i] != step[i] * static_cast<std::ptrdiff_t>(extent)) return false;
        }
        return true;
    }
    void move(Offsets& at, std::size_t axis, std::ptrdiff_t count) const {
        for (std::size_t i = 0; i < tensors; ++i) at[i] += steps_[axis][i] * count;
    }

    std::size_t rank_ = 0;
    std::array<std::size_t, max_rank> extents_{};
    std::array<Offsets, max_rank> steps_{};
};

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
