// Activations that exporters write as several operators: most are products of a tensor with a function of itself.
#pragma once

#include <primsel/network/graph_editor.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::network::detail {

/// Finds the activation that a few layers compute: x * sigmoid(x), x * hard_sigmoid(x), x * relu6(x + 3) / 6, x *
/// tanh(softplus(x)), x / 2 * (1 + erf(x / sqrt(2))) and its approximation by a tanh, with constant factors wherever
/// they stand; x * sigmoid(alpha * x), x / (1 + |x|), log(sigmoid(x)) and -softplus(-x). Only where no other layer
/// reads what lies between.
class Gates {
public:
    struct Found {
        ActivationParams activation;
        std::size_t source = 0;
    };
    explicit Gates(GraphEditor const& edit) : edit_(edit) {}

    /// The activation whose result is that of the layer, and what it reads.
    [[nodiscard]] std::optional<Found> find(std::size_t layer) const {
        if (const std::optional<Found> other = find_other(layer)) return other;
        Product product;
        if (!flatten(layer, true, product) || product.factors.size() != 2) return std::nullopt;
        for (const bool swapped : {false, true}) {
            const std::size_t x = product.factors[swapped ? 1 : 0], gate = product.factors[swapped ? 0 : 1];
            if (const std::optional<ActivationKind> kind = gated(x, gate, product.constant)) return Found{{*kind}, x};
            if (!close(product.constant, 1) || !is(gate, ActivationKind::sigmoid)) continue;
            const std::size_t inner = input(gate);
            ScaleParams const* step = as<ScaleParams>(inner);
            if (step != nullptr && is_linear(inner, static_cast<double>(step->factor), 0) && input(inner) == x)
                return Found{{ActivationKind::swish, step->factor}, x};
        }
        return std::nullopt;
    }

private:
    /// constant * the product of the factors.
    struct Product {
        double constant = 1;
        std::vector<std::size_t> factors;
    };

    /// The same for activations that are no products.
    [[nodiscard]] std::optional<Found> find_other(std::size_t i) const {
        if (ActivationParams const* log = as<ActivationParams>(i)) {
            const std::size_t inner = input(i);
            if (log->kind != ActivationKind::log || !is(inner, ActivationKind::sigmoid)) return std::nullopt;
            return Found{{ActivationKind::log_sigmoid}, input(inner)};
        }
        if (BinaryParams const* binary = as<BinaryParams>(i)) {
            const std::size_t x = edit_[i].inputs[0], sum = edit_[i].inputs[1];
            if (binary->kind != BinaryKind::divide || !is_linear(sum, 1, 1)) return std::nullopt;
            if (!is(input(sum), ActivationKind::abs) || input(input(sum)) != x) return std::nullopt;
            return Found{{ActivationKind::softsign}, x};
        }
        ScaleParams const* scale = as<ScaleParams>(i);
        if (scale == nullptr || !scale->known || scale->factor != -1.0F || scale->shift != 0.0F) return std::nullopt;
        const std::size_t inner = input(i);
        if (!is(inner, ActivationKind::softplus) || !is_linear(input(inner), -1, 0)) return std::nullopt;
        return Found{{ActivationKind::log_sigmoid}, input(input(inner))};
    }

    template <class Params>
    [[nodiscard]] Params const* as(std::size_t i) const {
        Node const& node = edit_[i];
        return node.epilogue.clamp.bounded() ? nullptr : std::get_if<Params>(&node.layer);
    }
    [[nodiscard]] std::size_t input(std::size_t i) const { return edit_[i].inputs[0]; }
    [[nodiscard]] bool is(std::size_t i, ActivationKind kind) const {
        ActivationParams const* activation = as<ActivationParams>(i);
        return activation != nullptr && activation->kind == kind && edit_.uses(i) == 1;
    }
    [[nodiscard]] static bool close(double value, double wanted) {
        return std::abs(value - wanted) <= 1e-5 * std::abs(wanted);
    }

    /// Adds the layer's factors to the product. False where that is none of tensors of one shape.
    [[nodiscard]] bool flatten(std::size_t i, bool root, Product& product) const {
        BinaryParams const* binary = as<BinaryParams>(i);
        ScaleParams const* scale = as<ScaleParams>(i);
        if (root || edit_.uses(i) == 1) {
            if (binary != nullptr && binary->kind == BinaryKind::multiply) {
                std::vector<std::size_t> const& inputs = edit_[i].inputs;
                return edit_[inputs[0]].shape == edit_[inputs[1]].shape && flatten(inputs[0], false, product) &&
                       flatten(inputs[1], false, product);
            }
            if (scale != nullptr && scale->known && scale->shift == 0.0F) {
                product.constant *= static_cast<double>(scale->factor);
                return flatten(input(i), false, product);
            }
        }
        product.factors.push_back(i);
        return product.factors.size() <= 2;
    }

    /// Which activation of x is constant * x * gate.
    [[nodiscard]] std::optional<ActivationKind> gated(std::size_t x, std::size_t gate, double constant) const {
        if (close(constant, 1)) {
            if (is(gate, ActivationKind::sigmoid) && input(gate) == x) return ActivationKind::silu;
            if (is_hard_sigmoid(gate) && input(gate) == x) return ActivationKind::hard_swish;
            if (is(gate, ActivationKind::tanh) && is(input(gate), ActivationKind::softplus) && input(input(gate)) == x)
                return ActivationKind::mish;
        }
        if (close(constant, 1.0 / 6) && is(gate, ActivationKind::relu6) && is_linear(input(gate), 1, 3) &&
            input(input(gate)) == x)
            return ActivationKind::hard_swish;
        ScaleParams const* step = as<ScaleParams>(gate);
        if (step == nullptr || !step->known || edit_.uses(gate) != 1 || step->factor != step->shift)
            return std::nullopt;
        if (!close(constant * static_cast<double>(step->factor), 0.5)) return std::nullopt;
        const std::size_t inner = input(gate);
        if (is(inner, ActivationKind::erf) && is_linear(input(inner), std::sqrt(0.5), 0) && input(input(inner)) == x)
            return ActivationKind::gelu;
        if (is(inner, ActivationKind::tanh) && is_cubic(input(inner), x)) return ActivationKind::gelu_tanh;
        return std::nullopt;
    }
    [[nodiscard]] bool is_hard_sigmoid(std::size_t i) const {
        ActivationParams const* activation = as<ActivationParams>(i);
        return is(i, ActivationKind::hard_sigmoid) && close(static_cast<double>(activation->alpha), 1.0 / 6) &&
               activation->beta == 0.5F;
    }
    /// Whether the layer is factor * its input + shift.
    [[nodiscard]] bool is_linear(std::size_t i, double factor, float shift) const {
        ScaleParams const* scale = as<ScaleParams>(i);
        return scale != nullptr && scale->known && close(static_cast<double>(scale->factor), factor) &&
               scale->shift == shift && edit_.uses(i) == 1;
    }
    /// Whether the layer is sqrt(2 / pi) * (x + 0.044715 * x^3).
    [[nodiscard]] bool is_cubic(std::size_t i, std::size_t x) const {
        if (!is_linear(i, 0.7978845608, 0)) return false;
        const std::size_t sum = input(i);
        BinaryParams const* binary = as<BinaryParams>(sum);
        const bool adds = as<AddParams>(sum) != nullptr || (binary != nullptr && binary->kind == BinaryKind::add);
        std::vector<std::size_t> const& terms = edit_[sum].inputs;
        if (!adds || edit_.uses(sum) != 1 || terms.size() != 2 || (terms[0] != x && terms[1] != x)) return false;
        const std::size_t cubed = terms[0] == x ? terms[1] : terms[0];
        if (!is_linear(cubed, 0.044715, 0)) return false;
        const std::size_t power = input(cubed);
        return is(power, ActivationKind::power) && as<ActivationParams>(power)->alpha == 3.0F && input(power) == x;
    }

    GraphEditor const& edit_;
};

}  // namespace primsel::inline PRIMSEL_ABI::network::detail
