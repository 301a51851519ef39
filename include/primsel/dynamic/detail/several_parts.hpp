#pragma once

#include <primsel/network/graph.hpp>

#include <variant>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// Makes a layer with `parts` shares of the channels from a layer with one share. A parameter that is equal in the
/// share and in the whole layer was not divided, and stays.
struct SeveralParts {
    AnyLayer const& whole;
    int parts;

    AnyLayer operator()(ConvParams conv) const {
        if (conv.groups != std::get<ConvParams>(whole).groups) conv.groups *= parts;
        conv.k *= parts;
        return conv;
    }
    AnyLayer operator()(ConvTransposeParams conv) const {
        conv.k *= parts;
        return conv;
    }
    AnyLayer operator()(DenseParams dense) const {
        dense.k *= parts;
        return dense;
    }
    AnyLayer operator()(ConstantParams constant) const {
        if (constant != std::get<ConstantParams>(whole)) constant.shape.c *= parts;
        return constant;
    }
    AnyLayer operator()(ReshapeParams reshape) const {
        if (reshape != std::get<ReshapeParams>(whole)) reshape.shape.c *= parts;
        return reshape;
    }
    AnyLayer operator()(PadParams pad) const {
        if (pad != std::get<PadParams>(whole)) pad.front *= parts, pad.back *= parts;
        return pad;
    }
    AnyLayer operator()(SliceParams slice) const {
        if (slice != std::get<SliceParams>(whole)) slice.first *= parts, slice.last *= parts;
        return slice;
    }
    template <class Params>
    AnyLayer operator()(Params const& params) const {
        return params;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
