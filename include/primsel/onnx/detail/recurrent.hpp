// LSTM, GRU and RNN: of each direction, a dense layer on the inputs of all steps and a layer of the steps.
#pragma once

#include <primsel/onnx/detail/gate_functions.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/reshape.hpp>
#include <primsel/onnx/detail/slice.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

[[nodiscard]] inline GateFunctionName const& gate_function(std::string_view name) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    for (GateFunctionName const& entry : gate_functions) {
        if (std::ranges::equal(entry.name, name, {}, lower, lower)) return entry;
    }
    fail("activation ", name, " is unknown");
}

/// The functions of all directions. alpha and beta are taken in order by those that have one.
inline void read_activations(Call const& call, std::span<RecurrentParams> directions) {
    const RecurrentKind kind = directions[0].kind;
    const std::size_t each = kind == RecurrentKind::lstm ? 3 : kind == RecurrentKind::gru ? 2 : 1;
    std::vector<std::string_view> names(call.texts("activations").begin(), call.texts("activations").end());
    if (names.empty()) {
        for (std::size_t i = 0; i < directions.size() * each; ++i)
            names.push_back(i % each == 0 && kind != RecurrentKind::rnn ? "Sigmoid" : "Tanh");
    }
    if (names.size() != directions.size() * each) {
        fail(names.size(), " activations; ", directions.size() == 1 ? "it has " : "both directions have ",
             directions.size() * each);
    }
    const std::span<const float> alphas = call.reals("activation_alpha"), betas = call.reals("activation_beta");
    std::size_t alpha = 0, beta = 0;
    const auto next = [](std::span<const float> given, std::size_t& at, std::optional<float> otherwise,
                         std::string_view name, std::string_view attribute) {
        if (at < given.size()) return given[at++];
        if (!otherwise) fail("its activation ", name, " needs a value in ", attribute, ", which has no default");
        return *otherwise;
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
        RecurrentParams& direction = directions[i / each];
        GateFunctionName const& entry = gate_function(names[i]);
        const std::size_t which = i % each;
        (which == 0 ? direction.f : which == 1 ? direction.g : direction.h) = entry.function;
        if (entry.parameters > 0)
            direction.alpha[which] = next(alphas, alpha, entry.alpha, entry.name, "activation_alpha");
        if (entry.parameters > 1) direction.beta[which] = next(betas, beta, entry.beta, entry.name, "activation_beta");
    }
}

inline void require_dims(Call const& call, std::size_t i, std::string_view role, Sizes const& wanted) {
    if (call.has(i) && call.dims(i) != wanted) {
        fail("its ", role, " is ", to_string(call.dims(i)), "; it should be ", to_string(wanted));
    }
}

/// The inputs of a node, by their places.
enum RecurrentInput : std::size_t { in_x, in_w, in_r, in_b, in_lengths, in_h, in_cell, in_peepholes };

/// A node whose dimensions are those of the standard.
class RecurrentCall {
public:
    explicit RecurrentCall(Call& call) : call_(call), build_(call.build) {
        params_.kind = call.op() == "LSTM"  ? RecurrentKind::lstm
                       : call.op() == "GRU" ? RecurrentKind::gru
                                            : RecurrentKind::rnn;
        const std::int64_t layout = call.integer("layout", 0);
        if (layout != 0 && layout != 1) fail("layout ", layout, " is unknown");
        images_first_ = layout == 1;
        const std::string_view direction = call.text("direction", "forward");
        if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
            fail("direction ", direction, " is unknown");
        directions_ = direction == "bidirectional" ? 2 : 1;
        params_.reverse = direction == "reverse";
        if (call.has_attribute("clip")) params_.clip = call.real("clip", 0.0F);
        if (!(params_.clip > 0.0F)) fail("a clip of ", params_.clip, "; it must be above 0");
        params_.couples_gates = is_lstm() && call.integer("input_forget", 0) != 0;
        params_.resets_product = params_.kind == RecurrentKind::gru && call.integer("linear_before_reset", 0) != 0;
        check_dims();
    }

    void translate() {
        const Sizes y = images_first_ ? Sizes{sequences_, steps_, directions_, hidden_}
                                      : Sizes{steps_, directions_, sequences_, hidden_};
        const Sizes state = states();
        if (sequences_ == 0 || directions_ * hidden_ == 0) {
            for (std::size_t i = 0; i < 3; ++i) call_.give(empty_tensor(i == 0 ? y : state, OnnxType::float32), i);
            return;
        }
        params_.gives_all = call_.wants(0), params_.gives_last = call_.wants(1);
        params_.gives_cell = is_lstm() && call_.wants(2);
        std::vector<RecurrentParams> directions(static_cast<std::size_t>(directions_), params_);
        read_activations(call_, directions);
        if (directions_ == 2) directions[1].reverse = true;
        if (!build_.is_whole() && !images_first_) throw MixesImages{"its steps come before its images"};

        const std::size_t rows = inputs_of_steps();
        std::vector<std::size_t> nodes;
        for (std::size_t d = 0; d < directions.size(); ++d) nodes.push_back(emit(directions[d], d, rows));
        const int all = params_.gives_all ? static_cast<int>(steps_) : 0;
        const auto give = [&](std::size_t output, int first, int last, Sizes dims, std::vector<std::size_t> order) {
            if (!call_.wants(output)) return;
            Operand result = build_.operand(joined(nodes, first, last), std::move(dims));
            if (images_first_ && build_.is_whole()) result = transposed(build_, result, order);
            call_.give(std::move(result), output);
        };
        give(0, 0, all, with_sequences({steps_, directions_}), {2, 0, 1, 3});
        give(1, all, all + 1, with_sequences({directions_}), {1, 0, 2});
        const int before_cell = all + (params_.gives_last ? 1 : 0);
        give(2, before_cell, before_cell + 1, with_sequences({directions_}), {1, 0, 2});
    }

private:
    [[nodiscard]] bool is_lstm() const { return params_.kind == RecurrentKind::lstm; }
    /// The states of all directions.
    [[nodiscard]] Sizes states() const {
        return images_first_ ? Sizes{sequences_, directions_, hidden_} : Sizes{directions_, sequences_, hidden_};
    }
    /// The extents of an image of results, steps first.
    [[nodiscard]] Sizes with_sequences(Sizes dims) const {
        if (build_.is_whole()) dims.push_back(sequences_);
        dims.push_back(hidden_);
        return dims;
    }

    void check_dims() {
        Sizes const &x = call_.dims(in_x), &r = call_.dims(in_r);
        if (x.size() != 3) fail("on a tensor of ", x.size(), " dimensions; it has steps, images and inputs");
        if (r.size() != 3) fail("its R is ", to_string(r), "; it should have 3 dimensions");
        steps_ = x[images_first_ ? 1 : 0], sequences_ = x[images_first_ ? 0 : 1], hidden_ = r[2];
        const std::int64_t stated = call_.integer("hidden_size", hidden_), gates = params_.gates();
        if (stated != hidden_) fail("its R is ", to_string(r), ", but hidden_size is ", stated);
        (void)bounded(hidden_, 0, largest_tensor / gates / 2, "a hidden size");
        (void)bounded(x[2], 0, largest_tensor, "a number of inputs");
        width_ = gates * hidden_;
        require_dims(call_, in_w, "W", {directions_, width_, x[2]});
        require_dims(call_, in_r, "R", {directions_, width_, hidden_});
        require_dims(call_, in_b, "B", {directions_, 2 * width_});
        require_dims(call_, in_lengths, "sequence_lens", {sequences_});
        require_dims(call_, in_h, "initial_h", states());
        if (!is_lstm()) return;
        require_dims(call_, in_cell, "initial_c", states());
        require_dims(call_, in_peepholes, "P", {directions_, 3 * hidden_});
    }

    /// The inputs of all steps, steps x sequences x inputs.
    [[nodiscard]] std::size_t inputs_of_steps() {
        Operand x = call_.operand(in_x);
        if (images_first_ && build_.is_whole()) x = transposed(build_, x, {1, 0, 2});
        (void)elements(x.dims);
        return build_.view(x, {.c = static_cast<int>(steps_),
                               .h = build_.is_whole() ? static_cast<int>(sequences_) : 1,
                               .w = static_cast<int>(x.dims.back())});
    }
    /// A direction's part of a weight, from `first` on.
    [[nodiscard]] OnnxTensor part(std::size_t i, std::size_t d, std::string_view role, Sizes dims,
                                  std::int64_t first = 0) {
        OnnxTensor const& all = call_.floats(i, role);
        const auto size = static_cast<std::int64_t>(count_of(dims)),
                   each = static_cast<std::int64_t>(all.size()) / directions_;
        if (size == static_cast<std::int64_t>(all.size())) return with_dims(all, std::move(dims));
        const Sizes strides = row_major(dims);
        return pick(all, {std::move(dims), strides, static_cast<std::int64_t>(d) * each + first}, build_.constants);
    }
    [[nodiscard]] static bool has_only(OnnxTensor const* known, double value) {
        if (known == nullptr) return false;
        const auto is_same = [value](auto x) { return static_cast<double>(x) == value; };
        return known->is_float() ? std::ranges::all_of(known->floats, is_same)
                                 : std::ranges::all_of(known->integers, is_same);
    }
    /// A direction's part of a state, or of peepholes, which have no sequences; nothing where all are 0.
    [[nodiscard]] std::optional<std::size_t> tensor_of(std::size_t i, std::size_t d, bool is_state) {
        if (!call_.has(i) || has_only(call_.known(i), 0.0)) return std::nullopt;
        Operand all = is_state ? call_.operand(i) : Operand{call_.dims(i), std::nullopt, call_.floats(i, "P")};
        const std::size_t axis = is_state && images_first_ && build_.is_whole() ? 1 : 0;
        std::vector<Range> ranges;
        for (const std::int64_t dim : all.dims) ranges.push_back({0, dim, 1});
        ranges[axis] = {static_cast<std::int64_t>(d), 1, 1};
        const bool is_some = directions_ > 1;
        const Operand one = is_some ? emit_slice(build_, std::move(all), ranges) : std::move(all);
        if (!is_state) return build_.view(one, {.c = 1, .h = 1, .w = static_cast<int>(3 * hidden_)});
        return build_.view(
            one, {.c = 1, .h = build_.is_whole() ? static_cast<int>(sequences_) : 1, .w = static_cast<int>(hidden_)});
    }

    [[nodiscard]] std::size_t emit(RecurrentParams params, std::size_t d, std::size_t rows) {
        const std::string_view side = directions_ == 1 ? "" : d == 0 ? "forward" : "backward";
        const std::int64_t inputs = call_.dims(in_w)[2];
        const bool has_bias = call_.has(in_b);
        const DenseRowsParams dense{.k = static_cast<int>(width_), .bias = has_bias};
        const std::size_t products = build_.emit(dense, {rows}, join(side, side.empty() ? "" : ".", "input"));
        build_.add_weight(products, ".weight", {inputs, width_},
                          build_.transposed(part(in_w, d, "W", {width_, inputs})));
        if (has_bias) build_.add_weight(products, ".bias", {width_}, part(in_b, d, "B", {width_}));

        std::vector<std::size_t> sources{products};
        const auto add = [&](std::optional<std::size_t> source) {
            if (source) sources.push_back(*source);
            return source.has_value();
        };
        params.bias = has_bias;
        params.starts_h = add(tensor_of(in_h, d, true));
        params.starts_cell = is_lstm() && add(tensor_of(in_cell, d, true));
        if (call_.has(in_lengths) && !has_only(call_.known(in_lengths), static_cast<double>(steps_))) {
            const Operand lengths = call_.operand(in_lengths);
            params.has_lengths = add(build_.view(lengths, build_.shape_of(lengths.dims)));
        }
        params.has_peepholes = is_lstm() && add(tensor_of(in_peepholes, d, false));
        const std::size_t node = build_.emit(params, std::move(sources), side);
        build_.add_weight(node, ".weight", {width_, hidden_}, part(in_r, d, "R", {width_, hidden_}));
        if (has_bias) build_.add_weight(node, ".bias", {width_}, part(in_b, d, "B", {width_}, width_));
        return node;
    }
    /// Channels of the results of all directions: steps x (directions * sequences), or directions x sequences.
    [[nodiscard]] std::size_t joined(std::vector<std::size_t> const& nodes, int first, int last) {
        std::vector<std::size_t> sources;
        for (const std::size_t node : nodes) {
            const bool is_all = build_.graph()[node].shape.c == last - first;
            sources.push_back(is_all ? node : build_.emit(SliceParams{first, last, Axis::c}, {node}, "result"));
        }
        if (sources.size() == 1) return sources[0];
        return build_.emit(ConcatParams{first == 0 && params_.gives_all ? Axis::h : Axis::c}, std::move(sources),
                           "both");
    }

    Call& call_;
    Builder& build_;
    RecurrentParams params_;
    bool images_first_ = false;
    std::int64_t directions_ = 1, steps_ = 0, sequences_ = 0, hidden_ = 0, width_ = 0;
};

}  // namespace detail

inline void translate_recurrent(Call& call) { detail::RecurrentCall(call).translate(); }

namespace detail {
/// The real numbers of a quantised weight of an LSTM, directions x inputs x gates, with the inputs last. A scale and a
/// zero point are those of a direction, or of a gate's unit.
[[nodiscard]] inline OnnxTensor dequantised_gates(Call const& call, std::size_t weight, std::size_t scale) {
    OnnxTensor const &bytes = call.constant(weight, "weights"), &scales = call.floats(scale, "scale"),
                     &zeros = call.constant(scale + 1, "zero point");
    const bool is_bytes = bytes.type == OnnxType::int8 || bytes.type == OnnxType::uint8;
    if (!is_bytes || zeros.type != bytes.type) {
        fail("weights of ", to_string(bytes.type), " with a zero point of ", to_string(zeros.type));
    }
    const bool fits = bytes.dims.size() == 3 && zeros.dims == scales.dims &&
                      (scales.dims == Sizes{bytes.dims[0]} || scales.dims == Sizes{bytes.dims[0], bytes.dims[2]});
    if (!fits) fail("weights of ", to_string(bytes.dims), " with scales of ", to_string(scales.dims));
    const auto inputs = static_cast<std::size_t>(bytes.dims[1]), gates = static_cast<std::size_t>(bytes.dims[2]);
    std::vector<float> values = call.build.constants.make<float>(bytes.size());
    for (std::size_t from = 0; from < values.size(); ++from) {
        const std::size_t gate = from % gates, input = from / gates % inputs, direction = from / gates / inputs,
                          step = scales.dims.size() == 1 ? direction : direction * gates + gate;
        const std::int64_t whole = bytes.integers[from] - zeros.integers[step];
        values[(direction * gates + gate) * inputs + input] = static_cast<float>(whole) * scales.floats[step];
    }
    return own_elements(Sizes{bytes.dims[0], bytes.dims[2], bytes.dims[1]}, OnnxType::float32, std::move(values));
}
}  // namespace detail

/// com.microsoft's LSTM whose weights are bytes: it computes with the real numbers that they stand for.
inline void translate_dynamic_quantize_lstm(Call& call) {
    NodeProto node = call.node();
    node.op = "LSTM";
    std::array<Value, 2> weights;
    std::vector<Value*> inputs;
    for (std::size_t i = 0; i < 8; ++i) inputs.push_back(call.has(i) ? &call.input(i) : nullptr);
    for (std::size_t i = 0; i < 2; ++i) {
        OnnxTensor real = detail::dequantised_gates(call, 1 + i, 8 + 2 * i);
        weights[i].dims = real.dims, weights[i].type = OnnxType::float32, weights[i].known = std::move(real);
        inputs[1 + i] = &weights[i];
    }
    std::array<Value, 3> results;
    std::vector<Value*> outputs;
    for (std::size_t i = 0; i < 3; ++i) outputs.push_back(call.wants(i) ? &results[i] : nullptr);
    Call inner(call.build, call.files, node, call.opset(), std::move(inputs), std::move(outputs));
    translate_recurrent(inner);
    for (std::size_t i = 0; i < 3; ++i) {
        if (call.wants(i)) call.give(std::move(results[i]), i);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
