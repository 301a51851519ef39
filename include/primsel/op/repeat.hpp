#pragma once

#include <primsel/layer/training.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/op.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<RepeatParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(RepeatParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(0, inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(RepeatParams const&, OpArgs const& args) noexcept {
        const std::size_t floats = args.dst_shape.size();
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch), floats,
                               [=, src = args.src[0], dst = args.dst](std::size_t first, std::size_t last) {
                                   for (std::size_t image = first; image < last; ++image) {
                                       op::detail::copy_floats<Arch>(src, dst + image * floats, floats);
                                   }
                               });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
