#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/engine/step.hpp>
#include <primsel/engine/strips.hpp>
#include <primsel/plan/strips.hpp>
#include <primsel/primitive/rows_of.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::engine::detail {

/// Returns at most most_strip_layers convolutions as strips of so many rows, without their weights and residuals.
[[nodiscard]] inline Strips make_strips(std::span<const ScheduledConv> convs, int rows) {
    Strips result{.count = convs.size(), .rows_each = rows};
    std::vector<ConvShape> chain;
    for (std::size_t i = 0; i < convs.size(); ++i) {
        chain.push_back(convs[i].shape);
        result.parts[i] = {.kernel = convs[i].primitive->run, .shape = convs[i].shape, .clamp = convs[i].clamp};
    }
    const std::vector<int> held = strip_rows(chain, rows);
    std::size_t scratch = 0;
    for (std::size_t i = 0; i < convs.size(); ++i) {
        result.rows_at[i] = result.worker_floats;
        if (i + 1 < convs.size()) {
            result.worker_floats += round_up_floats(static_cast<std::size_t>(held[i]) * result.row_floats(i));
        }
        // The most that any rows take, at the border of the image or not.
        ConvShape const& s = chain[i];
        for (int count = 1; count <= held[i]; ++count) {
            const int last = s.out_h() - count, inside = std::min((s.pad_top + s.stride_h - 1) / s.stride_h, last);
            for (const int first : {0, inside, last}) {
                const ConvShape part = rows_of(s, {first, first + count});
                scratch = std::max(scratch, convs[i].primitive->scratch_bytes(part, 1, 1));
            }
        }
    }
    result.scratch_at = result.worker_floats;
    result.worker_floats += floats_for_bytes(scratch);
    return result;
}
/// The most rows of the image that they read at once.
[[nodiscard]] inline int image_rows(Strips const& strips) {
    std::vector<ConvShape> chain;
    for (std::size_t i = 0; i < strips.count; ++i) chain.push_back(strips.parts[i].shape);
    ConvShape const& first = chain.front();
    return std::min(first.h, (strip_rows(chain, strips.rows_each).front() - 1) * first.stride_h + first.span_h());
}

}  // namespace primsel::inline PRIMSEL_ABI::engine::detail
