#pragma once

#include <primsel/layer/all.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// An affine layer that simplify has folded into the convolution or dense layer before it: its weights are multiplied
/// in when the weights are prepared.
struct Folded {
    std::string name;
    std::variant<BatchNormParams, ScaleParams> layer;
    friend bool operator==(Folded const&, Folded const&) = default;
};

/// Operations on a layer's result before it is stored, in the order of the members. simplify fuses it from the layers
/// that follow; epilogue_parts tells which layers may have which part.
struct Epilogue {
    /// In the order in which they apply.
    std::vector<Folded> folded{};
    /// The layer's last input is added to the result.
    bool residual = false;
    Clamp clamp{};
    friend bool operator==(Epilogue const&, Epilogue const&) = default;
};

/// Which parts of an epilogue a kind of layer may have: convolutions all, dense layers all but a residual, sums and
/// normalisations a clamp.
struct EpilogueParts {
    bool folded = false, residual = false, clamp = false;
};
[[nodiscard]] constexpr EpilogueParts epilogue_parts(AnyLayer const& layer) {
    const bool conv = std::holds_alternative<ConvParams>(layer), dense = std::holds_alternative<DenseParams>(layer);
    const bool clamped = std::holds_alternative<AddParams>(layer) || std::holds_alternative<NormalizeParams>(layer);
    return {.folded = conv || dense, .residual = conv, .clamp = conv || dense || clamped};
}

namespace network::detail {

/// The first part of the epilogue that the layer may not have, in words; empty when there is none.
[[nodiscard]] inline std::string_view excess(Epilogue const& epilogue, EpilogueParts may) {
    if (epilogue.residual && !may.residual) return "a residual";
    if (epilogue.clamp.bounded() && !may.clamp) return "a clamp";
    return epilogue.folded.empty() || may.folded ? "" : "folded layers";
}

}  // namespace network::detail

}  // namespace primsel::inline PRIMSEL_ABI
