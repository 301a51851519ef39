// Primitives of a user's own, in layouts of a user's own.
#pragma once

#include "../tensor/chw8c.hpp"
#include "../tensor/orders.hpp"

#include <primsel/primitive/primitive.hpp>

/// The least that a primitive must have but for its id: one output element after the other, from a layout to another.
template <class In, class Out>
struct OwnConvolution {
    static constexpr primsel::Family family = primsel::Family::other;
    using in_layout = In;
    using out_layout = Out;

    [[nodiscard]] static primsel::Support supports(primsel::ConvShape const& s) {
        return s.groups == 1 ? primsel::Support::yes() : primsel::Support::no("needs one group");
    }

    template <class Arch>
    static void run(primsel::ConvShape const& s, primsel::ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.k), [&](std::size_t block, std::size_t) {
            const int k = static_cast<int>(block);
            for (int oh = 0; oh < s.out_h(); ++oh) {
                for (int ow = 0; ow < s.out_w(); ++ow) {
                    args.dst[out_layout::offset(s.out_shape(), {k, oh, ow})] = element(s, args, k, oh, ow);
                }
            }
        });
    }

private:
    static float element(primsel::ConvShape const& s, primsel::ConvArgs const& args, int k, int oh, int ow) noexcept {
        const float* weight = args.weights + static_cast<std::size_t>(k) * static_cast<std::size_t>(s.depth());
        float sum = 0;
        for (int c = 0; c < s.c; ++c) {
            for (int fh = 0; fh < s.fh; ++fh) {
                for (int fw = 0; fw < s.fw; ++fw, ++weight) {
                    const int h = oh * s.stride_h + fh * s.dilation_h - s.pad_top;
                    const int w = ow * s.stride_w + fw * s.dilation_w - s.pad_left;
                    if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
                    sum += *weight * args.src[in_layout::offset(s.in_shape(), {c, h, w})];
                }
            }
        }
        return sum;
    }
};

/// From the blocked layout to chw.
struct Own : OwnConvolution<chw8c, primsel::chw> {
    static constexpr std::string_view id = "own";
};
/// In the blocked layout, which is not strided.
struct OwnBlocked : OwnConvolution<chw8c, chw8c> {
    static constexpr std::string_view id = "own-blocked";
};
/// In a strided one.
struct OwnColumns : OwnConvolution<wch, wch> {
    static constexpr std::string_view id = "own-columns";
};
