#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/layer/layer.hpp>

#include <array>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

enum class RecurrentKind { lstm, gru, rnn };

/// The functions that gates of recurrent layers may have, as ONNX has them. With alpha and beta: affine is alpha * x +
/// beta; leaky_relu alpha * x below zero; thresholded_relu x from alpha on, else 0; scaled_tanh alpha * tanh(beta * x);
/// hard_sigmoid alpha * x + beta, clamped to [0, 1]; elu alpha * (exp(x) - 1) below zero. The others ignore them.
enum class GateFunction {
    sigmoid,
    tanh,
    relu,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus,
};

/// One direction of a recurrent layer with n hidden units. Its first input has the products of each step's input and
/// the input weights, with their bias: steps x sequences x (gates * n), as a dense layer on rows gives it. An image has
/// one or more sequences. Weights: `<name>.weight`, of (gates * n) x n, and `<name>.bias`, of gates * n, for the
/// products of h, the hidden state of the step before. With x and s the gate's rows of both products:
/// - lstm, gates i, o, f, c (Hochreiter and Schmidhuber 1997; Gers, Schmidhuber and Cummins 2000): i = F(x + s), the
///   same for o and f, new cell = f * cell + i * G(x + s), h = o * H(new cell);
/// - gru, gates z, r, h (Cho et al. 2014): z = F(x + s), the same for r, h = (1 - z) * G(x + s) + z * h, where s is the
///   product of the gated state, r times h, or, if `resets_product`, r times the product of h;
/// - rnn, one gate (Elman 1990): h = F(x + s).
/// Further inputs, those that the flags name, in their order. Output: n columns, a row for each sequence; its channels
/// are the results that the flags name, in their order.
struct RecurrentParams {
    RecurrentKind kind = RecurrentKind::lstm;
    /// F of the gates that open and close, G of what enters, H of the cell.
    GateFunction f = GateFunction::sigmoid, g = GateFunction::tanh, h = GateFunction::tanh;
    /// Those of F, G and H.
    std::array<float, 3> alpha{}, beta{};
    /// The bound of what F and G get: it is clamped to [-clip, clip].
    float clip = std::numeric_limits<float>::infinity();
    /// Begins at the last step of each sequence.
    bool reverse = false;
    bool bias = true;
    /// lstm: f = 1 - i; the weights of f are not read.
    bool couples_gates = false;
    /// gru: see above. PyTorch's.
    bool resets_product = false;
    /// h and, of an lstm, the cell before the first step, sequences x n each; they are 0 if there is no such input.
    bool starts_h = false, starts_cell = false;
    /// How many steps each sequence has. Its results of later steps are 0, and all of those of a sequence of no steps.
    bool has_lengths = false;
    /// lstm: peepholes of i, o and f, n each, by which the cell is added to what these gates get; o's sees the new
    /// cell.
    bool has_peepholes = false;
    /// Whether weight and bias are the last inputs, one for all images, as in a training step.
    bool reads_weights = false;
    /// The results: h of every step, h of the last step, the cell of the last step.
    bool gives_all = true, gives_last = false, gives_cell = false;

    [[nodiscard]] constexpr std::string_view name() const {
        return kind == RecurrentKind::lstm ? "lstm" : kind == RecurrentKind::gru ? "gru" : "rnn";
    }
    constexpr void each_field(auto const& visit) const {
        visit("kind", kind), visit("f", f), visit("g", g), visit("h", h), visit("alpha", alpha), visit("beta", beta),
            visit("clip", clip), visit("reverse", reverse), visit("bias", bias), visit("couples_gates", couples_gates),
            visit("resets_product", resets_product), visit("starts_h", starts_h), visit("starts_cell", starts_cell),
            visit("has_lengths", has_lengths), visit("has_peepholes", has_peepholes),
            visit("reads_weights", reads_weights), visit("gives_all", gives_all), visit("gives_last", gives_last),
            visit("gives_cell", gives_cell);
    }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        if (reads_weights) return;
        visit("weight", WeightDims{input.w, hidden(input)}, WeightValues::finite);
        if (bias) visit("bias", WeightDims{input.w}, WeightValues::finite);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != input_count()) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        const Shape in = inputs[0];
        if (in.w % gates() != 0) return Fault::groups_do_not_divide;
        const std::int64_t n = hidden(in), state = in.h * n;
        if (bounded_product({in.c + std::int64_t{2}, in.h, in.w}) > max_extent) return Fault::too_large;
        if (bounded_product({in.w, n}) > max_floats) return Fault::too_large;
        std::size_t at = 1;
        const auto fits = [&](bool is_there, std::int64_t size) {
            return !is_there || static_cast<std::int64_t>(inputs[at++].size()) == size;
        };
        const bool fit = fits(starts_h, state) && fits(starts_cell, state) && fits(has_lengths, in.h) &&
                         fits(has_peepholes, 3 * n) && fits(reads_weights, in.w * n) &&
                         fits(reads_weights && bias, in.w);
        return fit ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        const bool is_lstm = kind == RecurrentKind::lstm;
        if (!is_lstm && (couples_gates || starts_cell || has_peepholes || gives_cell))
            return "only an lstm has a cell, peepholes and gates that may be coupled";
        if (resets_product && kind != RecurrentKind::gru) return "only a gru resets a product";
        if (!(clip > 0.0F)) return "the clip must be above 0";
        for (const float value : {alpha[0], alpha[1], alpha[2], beta[0], beta[1], beta[2]}) {
            if (!is_finite(value)) return "alpha and beta must be finite";
        }
        return gives_all || gives_last || gives_cell ? "" : "there must be a result";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = (gives_all ? inputs[0].c : 0) + (gives_last ? 1 : 0) + (gives_cell ? 1 : 0),
                .h = inputs[0].h,
                .w = hidden(inputs[0])};
    }
    [[nodiscard]] constexpr int gates() const {
        return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1;
    }
    /// The hidden units, given the shape of the first input.
    [[nodiscard]] constexpr int hidden(Shape const& input) const { return input.w / gates(); }
    [[nodiscard]] constexpr std::size_t input_count() const {
        return std::size_t{1} + (starts_h ? 1 : 0) + (starts_cell ? 1 : 0) + (has_lengths ? 1 : 0) +
               (has_peepholes ? 1 : 0) + (reads_weights ? bias ? 2 : 1 : 0);
    }
    friend constexpr bool operator==(RecurrentParams const&, RecurrentParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
