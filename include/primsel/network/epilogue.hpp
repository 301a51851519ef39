#pragma once

#include <primsel/layer/all.hpp>
#include <primsel/tensor/range.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// An affine layer that simplify has folded into the layer before it: its weights are multiplied in when the weights
/// are prepared.
struct Folded {
    std::string name;
    std::variant<BatchNormParams, ScaleParams> layer;
    /// The number of neighbouring channels that have a value of each weight in common: those of a group.
    int repeat = 1;
    friend bool operator==(Folded const&, Folded const&) = default;
};

/// The part of a weight's kernel that a convolution computes, where simplify has left out taps that only ever meet
/// padding.
struct KernelPart {
    /// The size of the weight's kernel, or 0 if the layer computes all of it.
    Extent whole{0};
    /// The row and column of the weight's kernel at which the part begins.
    Extent first{0};
    friend bool operator==(KernelPart const&, KernelPart const&) = default;
};

/// The changes that simplify made to a layer beyond its parameters: operations on its result before it is stored, in
/// the order of the members, fused from the layers that follow, and the part of its kernel that it computes.
/// epilogue_parts tells which layers may have which part.
struct Epilogue {
    /// In the order in which they apply.
    std::vector<Folded> folded{};
    /// The layer's last input is added to the result.
    bool residual = false;
    /// If it is known, the result is brought within its bounds before that: a file has bytes there.
    TensorRange summand{};
    Clamp clamp{};
    KernelPart kernel{};
    /// Whether there are operations on the result.
    [[nodiscard]] bool changes_result() const { return !folded.empty() || residual || clamp != Clamp{}; }
    friend bool operator==(Epilogue const&, Epilogue const&) = default;
};

/// Which parts of an epilogue a kind of layer may have: convolutions all, dense layers and standardisations folded
/// layers and a clamp, sums, normalisations and dense layers on rows a clamp.
struct EpilogueParts {
    bool folded = false, residual = false, clamp = false, kernel = false;
};
[[nodiscard]] constexpr EpilogueParts epilogue_parts(AnyLayer const& layer) {
    const bool conv = std::holds_alternative<ConvParams>(layer),
               scaled = std::holds_alternative<DenseParams>(layer) || std::holds_alternative<StandardizeParams>(layer);
    const bool clamped = std::holds_alternative<AddParams>(layer) || std::holds_alternative<NormalizeParams>(layer) ||
                         std::holds_alternative<DenseRowsParams>(layer);
    return {.folded = conv || scaled, .residual = conv, .clamp = conv || scaled || clamped, .kernel = conv};
}

namespace network::detail {

/// The first part of the epilogue that the layer may not have, in words; empty when there is none.
[[nodiscard]] inline std::string_view excess(Epilogue const& epilogue, EpilogueParts may) {
    if (epilogue.residual && !may.residual) return "a residual";
    if (epilogue.summand.known() && !epilogue.residual) return "the range of a summand without a sum";
    if (epilogue.clamp.bounded() && !may.clamp) return "a clamp";
    if (epilogue.kernel != KernelPart{} && !may.kernel) return "a part of a kernel";
    return epilogue.folded.empty() || may.folded ? "" : "folded layers";
}

}  // namespace network::detail

}  // namespace primsel::inline PRIMSEL_ABI
