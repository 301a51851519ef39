// Instance, group, layer and RMS normalisations that are written out as reductions and arithmetic.
#pragma once

#include <primsel/network/graph_editor.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::network::detail {

/// Finds (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), with x or a centred x in place of x - mean(x), and with
/// a product by the inverse in place of the quotient. Only where no other layer reads what lies between.
class Normalizations {
public:
    struct Found {
        StandardizeParams params;
        std::size_t source = 0;
    };
    explicit Normalizations(GraphEditor const& edit) : edit_(edit) {}

    /// The normalisation whose result is that of the layer, and what it reads.
    [[nodiscard]] std::optional<Found> find(std::size_t layer) const {
        BinaryParams const* binary = as<BinaryParams>(layer);
        if (binary == nullptr) return std::nullopt;
        std::vector<std::size_t> const& inputs = edit_[layer].inputs;
        if (binary->kind == BinaryKind::divide) return quotient(layer, inputs[0], inputs[1], 0.5F);
        if (binary->kind != BinaryKind::multiply) return std::nullopt;
        for (const bool swapped : {false, true}) {
            const std::size_t x = inputs[swapped ? 1 : 0], inverse = inputs[swapped ? 0 : 1];
            if (auto found = quotient(layer, x, inverse, -0.5F)) return found;
            if (is_power(inverse, -1.0F)) {
                if (auto found = quotient(layer, x, input(inverse), 0.5F)) return found;
            }
        }
        return std::nullopt;
    }

private:
    /// The axes along which elements have a mean in common.
    struct Along {
        bool c = false, h = false, w = false;
        friend bool operator==(Along const&, Along const&) = default;
    };

    template <class Params>
    [[nodiscard]] Params const* as(std::size_t i) const {
        Node const& node = edit_[i];
        return node.epilogue.changes_result() ? nullptr : std::get_if<Params>(&node.layer);
    }
    [[nodiscard]] std::size_t input(std::size_t i) const { return edit_[i].inputs[0]; }
    [[nodiscard]] bool is_power(std::size_t i, float exponent) const {
        ActivationParams const* activation = as<ActivationParams>(i);
        if (activation == nullptr || edit_.uses(i) != 1) return false;
        if (activation->kind == ActivationKind::sqrt) return exponent == 0.5F;
        return activation->kind == ActivationKind::power && activation->alpha == exponent;
    }

    /// The mean of x, read `uses` times: along the axes of reductions, or of the whole image, in whatever shape.
    [[nodiscard]] std::optional<Along> mean_of(std::size_t layer, std::size_t x, std::size_t uses) const {
        Along along;
        bool reshaped = false, reduced = false;
        for (std::size_t i = layer; i != x; i = input(i)) {
            if (edit_.uses(i) != (i == layer ? uses : 1)) return std::nullopt;
            if (auto* pool = as<GlobalPoolParams>(i); pool != nullptr && pool->kind == PoolKind::average) {
                along.h = along.w = reduced = true;
            } else if (auto* reduce = as<ReduceParams>(i); reduce != nullptr && reduce->kind == ReduceKind::mean) {
                (reduce->axis == Axis::c ? along.c : reduce->axis == Axis::h ? along.h : along.w) = true;
                reduced = true;
            } else if (as<ReshapeParams>(i) != nullptr || as<FlattenParams>(i) != nullptr) {
                reshaped = true;
            } else {
                return std::nullopt;
            }
        }
        if (!reduced) return std::nullopt;
        if (!reshaped) return along;
        if (edit_[layer].shape.size() != 1) return std::nullopt;
        return Along{true, true, true};
    }
    /// Where the layer is x - mean(x), read `uses` times: x, and the axes of the mean.
    [[nodiscard]] std::optional<std::pair<std::size_t, Along>> centred(std::size_t layer, std::size_t uses) const {
        BinaryParams const* binary = as<BinaryParams>(layer);
        if (binary == nullptr || binary->kind != BinaryKind::subtract || edit_.uses(layer) != uses) return std::nullopt;
        const std::size_t x = input(layer);
        const std::optional<Along> along = mean_of(edit_[layer].inputs[1], x, 1);
        if (!along) return std::nullopt;
        return std::pair(x, *along);
    }
    /// x * (mean square of x + epsilon)^-0.5, where the root is a layer with that exponent or one that is divided by.
    [[nodiscard]] std::optional<Found> quotient(std::size_t layer, std::size_t x, std::size_t root,
                                                float exponent) const {
        if (!is_power(root, exponent) || edit_[x].shape != edit_[layer].shape) return std::nullopt;
        Found found;
        found.params.epsilon = 0;
        std::size_t mean = input(root);
        if (auto* scale = as<ScaleParams>(mean)) {
            if (!scale->known || scale->factor != 1.0F || !(scale->shift >= 0.0F) || edit_.uses(mean) != 1)
                return std::nullopt;
            found.params.epsilon = scale->shift;
            mean = input(mean);
        }
        const std::optional<std::pair<std::size_t, Along>> variance = mean_square(mean, x);
        if (!variance) return std::nullopt;
        const Along along = variance->second;
        found.params.along_c = along.c, found.params.along_h = along.h, found.params.along_w = along.w;
        found.source = x;
        found.params.centres = false;
        // The quotient reads x, and so does its square, once or twice. A centred x may be centred once more.
        for (std::size_t uses = 1 + variance->first;; uses = 2) {
            const auto difference = centred(found.source, uses);
            if (!difference || difference->second != along) break;
            found.source = difference->first;
            found.params.centres = true;
        }
        return found;
    }
    /// Where the layer is the mean of x^2: how often the square reads x, and the axes.
    [[nodiscard]] std::optional<std::pair<std::size_t, Along>> mean_square(std::size_t layer, std::size_t x) const {
        std::size_t square = layer;
        while (as<GlobalPoolParams>(square) != nullptr || as<ReduceParams>(square) != nullptr ||
               as<ReshapeParams>(square) != nullptr || as<FlattenParams>(square) != nullptr) {
            square = input(square);
        }
        if (square == layer || edit_.uses(square) != 1) return std::nullopt;
        const std::optional<Along> along = mean_of(layer, square, 1);
        if (!along) return std::nullopt;
        if (is_power(square, 2.0F) && input(square) == x) return std::pair(std::size_t{1}, *along);
        BinaryParams const* binary = as<BinaryParams>(square);
        const bool is_product = binary != nullptr && binary->kind == BinaryKind::multiply && input(square) == x &&
                                edit_[square].inputs[1] == x;
        if (!is_product) return std::nullopt;
        return std::pair(std::size_t{2}, *along);
    }

    GraphEditor const& edit_;
};

}  // namespace primsel::inline PRIMSEL_ABI::network::detail
