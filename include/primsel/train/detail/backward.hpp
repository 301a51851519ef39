#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/train/training_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace train::detail {

/// Appends the backward pass to the forward one.
class Backward {
public:
    Backward(Graph form, std::vector<std::string> trained)
        : form_(std::move(form)),
          trained_(std::move(trained)),
          at_(form_.size()),
          needs_(form_.size(), false),
          activation_(form_.size(), none),
          contributions_(form_.size()) {
        result_.graph = Graph(form_.batch());
    }

    [[nodiscard]] TrainingGraph run() {
        if (trained_.empty()) fail("train: no weight is trained");
        std::ranges::sort(trained_);
        find_needs();
        find_activations();
        for (std::size_t i = 0; i < form_.size(); ++i) forward(i);
        const std::size_t last = form_.size() - 1;
        if (!needs_[last]) fail("train: the result does not depend on a trained weight");
        result_.gradient = form_[last].name + "/gradient";
        outputs_.push_back(at_[last]);
        outputs_.insert(outputs_.end(), statistics_.begin(), statistics_.end());
        contributions_[last].push_back(add(result_.gradient, InputParams{form_[last].shape}, {}));
        for (std::size_t i = form_.size(); i-- > 0;) backward(i);
        find_owners();
        for (std::string const& weight : trained_) {
            if (owners_.contains(weight)) continue;
            if (std::ranges::find(result_.weights, weight, &WeightGradient::weight) == result_.weights.end()) {
                fail("train: nothing that leads to the result depends on weight ", weight,
                     "; steps, comparisons and positions pass no gradient: freeze it to train the others");
            }
        }
        result_.graph.set_outputs(outputs_);
        result_.graph.set_trainable({trained_.begin(), trained_.end()});
        return std::move(result_);
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    /// The weight is one of the node's own and is trained. A parameter may have the name that a weight of the node
    /// would have.
    [[nodiscard]] bool trains(Node const& node, std::string_view weight) const {
        const std::string name = network::weight_name(node.name, weight);
        if (!std::ranges::binary_search(trained_, name)) return false;
        const std::vector<WeightSpec> own = weight_specs(form_, node);
        return std::ranges::find(own, name, &WeightSpec::name) != own.end();
    }
    [[nodiscard]] bool trains(Node const& node) const {
        return trains(node, "weight") || trains(node, "bias") || trains(node, "");
    }
    void find_needs() {
        for (std::size_t i = 0; i < form_.size(); ++i) {
            needs_[i] = trains(form_[i]) ||
                        std::ranges::any_of(form_[i].inputs, [&](std::size_t input) { return needs_[input]; });
        }
    }
    /// The gradients of shared weights are those of their owners.
    void find_owners() {
        owners_ = weight_owners(form_);
        for (WeightGradient& gradient : result_.weights) {
            const auto owner = owners_.find(gradient.weight);
            if (owner == owners_.end()) continue;
            gradient.weight = owner->second.name;
            gradient.transposed = owner->second.transposed;
        }
    }
    /// The activation that alone reads a batch norm, and only cuts its result, becomes part of it.
    void find_activations() {
        std::vector<std::size_t> uses = form_.uses();
        for (std::size_t i = 0; i < form_.size(); ++i) {
            if (!std::holds_alternative<ActivationParams>(form_[i].layer) || !cut(i)) continue;
            const std::size_t input = form_[i].inputs[0];
            if (normalises(input) && uses[input] == 1) activation_[input] = i;
        }
    }
    /// Whether it becomes a normalisation by statistics that may be those of the batch: a batch norm, or a scale with
    /// weights.
    [[nodiscard]] bool normalises(std::size_t i) const {
        const auto* scale = std::get_if<ScaleParams>(&form_[i].layer);
        return needs_[i] &&
               (std::holds_alternative<BatchNormParams>(form_[i].layer) || (scale != nullptr && !scale->known));
    }
    [[nodiscard]] float epsilon_of(std::size_t i) const {
        const auto* norm = std::get_if<BatchNormParams>(&form_[i].layer);
        return norm == nullptr ? 0.0F : norm->epsilon;
    }
    /// Whether it normalises by the statistics of the batch, through which gradients pass then.
    [[nodiscard]] bool reads_batch(Node const& node) const {
        return std::holds_alternative<BatchNormParams>(node.layer) && trains(node);
    }
    /// The bounds of an activation that does nothing but clamp.
    [[nodiscard]] std::optional<Clamp> cut(std::size_t i) const {
        auto const& activation = std::get<ActivationParams>(form_[i].layer);
        if (activation.kind == ActivationKind::relu) return relu_clamp;
        if (activation.kind == ActivationKind::relu6) return relu6_clamp;
        if (activation.kind == ActivationKind::clip) return Clamp{activation.alpha, activation.beta};
        return std::nullopt;
    }

    std::size_t add(std::string name, AnyLayer layer, std::vector<std::size_t> inputs, Epilogue epilogue = {}) {
        return result_.graph.add(std::move(name), std::move(layer), std::move(inputs), std::move(epilogue));
    }
    [[nodiscard]] std::size_t parameter(std::string const& name, Shape shape) {
        const auto [found, fresh] = parameters_.try_emplace(name, none);
        if (fresh) found->second = add(name, ParameterParams{shape}, {});
        return found->second;
    }
    [[nodiscard]] std::vector<std::size_t> inputs_of(Node const& node) const {
        std::vector<std::size_t> inputs;
        for (const std::size_t input : node.inputs) inputs.push_back(at_[input]);
        return inputs;
    }

    void forward(std::size_t i) {
        Node const& node = form_[i];
        std::vector<std::size_t> inputs = inputs_of(node);
        if (normalises(i)) {
            const auto* const norm = std::get_if<BatchNormParams>(&node.layer);
            const Shape vector{.c = node.shape.c};
            const std::size_t values = static_cast<std::size_t>(form_.batch()) * node.shape.pixels();
            if (reads_batch(node) && values < 2) refuse_one_value(node);
            const std::size_t statistics =
                reads_batch(node) ? add(node.name + "/statistics", BatchStatisticsParams{}, {inputs[0]})
                                  : parameter(join(node.name, norm == nullptr ? identity_suffix : running_suffix),
                                              Shape{.c = 2 * node.shape.c});
            norms_[i] = {statistics, parameter(node.name + ".weight", vector), parameter(node.name + ".bias", vector)};
            Epilogue epilogue;
            if (activation_[i] != none) epilogue.clamp = *cut(activation_[i]);
            Norm const& of = norms_[i];
            at_[i] = add(node.name, NormalizeParams{epsilon_of(i)}, {inputs[0], statistics, of.weight, of.bias},
                         std::move(epilogue));
            if (!reads_batch(node)) return;
            result_.batch_norms.push_back(
                {node.name, 1 + result_.batch_norms.size(), values, 1 - static_cast<double>(norm->momentum)});
            statistics_.push_back(statistics);
        } else if (!node.inputs.empty() && activation_[node.inputs[0]] == i) {
            at_[i] = inputs[0];
        } else if (const auto* conv = std::get_if<ConvTransposeParams>(&node.layer); conv != nullptr && needs_[i]) {
            at_[i] = forward_conv_transpose(node, *conv, inputs[0]);
        } else if (const auto* recurrent = std::get_if<RecurrentParams>(&node.layer);
                   recurrent != nullptr && needs_[i]) {
            at_[i] = add(node.name, trained_form(*recurrent), inputs_of_recurrent(i, *recurrent));
        } else if (std::holds_alternative<ConstantParams>(node.layer) && needs_[i]) {
            at_[i] = shaped(node.name + "/shaped", node.shape, repeated(node.name, node.shape));
        } else if (std::holds_alternative<DropoutParams>(node.layer)) {
            result_.seed = "dropout/seed";
            at_[i] = add(node.name, dropout(i), {inputs[0], parameter(result_.seed, Shape{.c = 2})});
        } else {
            at_[i] = add(node.name, node.layer, std::move(inputs));
        }
    }
    /// A parameter, once for each image and as one vector.
    [[nodiscard]] std::size_t repeated(std::string const& name, Shape shape) {
        return add(name + "/repeated", RepeatParams{}, {parameter(name, Shape{.c = static_cast<int>(shape.size())})});
    }
    [[nodiscard]] std::size_t shaped(std::string name, Shape shape, std::size_t node) {
        return result_.graph[node].shape == shape ? node : add(std::move(name), ReshapeParams{shape}, {node});
    }
    /// The gradient of a node as one vector.
    [[nodiscard]] std::size_t flat(std::size_t i, std::size_t dy) {
        return shaped(form_[i].name + "/gradient flat", Shape{.c = static_cast<int>(form_[i].shape.size())}, dy);
    }
    /// The convolution of which a transposed one computes the gradient of the input, and the image that it reads.
    /// Extra rows and columns beyond its stride lie outside: the transposed one has its bias there.
    struct Transposed {
        ConvParams conv;
        Shape image;
    };
    [[nodiscard]] Transposed transposed(Node const& node, ConvTransposeParams const& of) const {
        const Shape in = form_[node.inputs[0]].shape;
        Transposed result{{.k = in.c,
                           .kernel = of.kernel,
                           .stride = of.stride,
                           .padding = of.padding,
                           .dilation = of.dilation,
                           .groups = of.groups,
                           .bias = false},
                          node.shape};
        const auto leave_out = [](int surplus, int& padding, int& extent) {
            const int cropped = std::clamp(surplus, 0, padding);
            padding -= cropped, extent -= std::max(surplus, 0) - cropped;
        };
        leave_out(of.extra_h - of.stride.h + 1, result.conv.padding.bottom, result.image.h);
        leave_out(of.extra_w - of.stride.w + 1, result.conv.padding.right, result.image.w);
        if (result.image.h < 1 || result.image.w < 1) refuse(node, "its kernel reaches no pixel of the result");
        return result;
    }
    std::size_t forward_conv_transpose(Node const& node, ConvTransposeParams const& of, std::size_t x) {
        const auto [conv, image] = transposed(node, of);
        const Shape in = result_.graph[x].shape;
        const Shape kernel{.c = in.c, .h = of.k / of.groups, .w = of.kernel.h * of.kernel.w};
        std::size_t result = add(node.name + "/transposed", ConvInputGradientParams{conv, image},
                                 {x, parameter(node.name + ".weight", kernel)});
        if (image != node.shape) {
            const Padding around{0, node.shape.h - image.h, 0, node.shape.w - image.w};
            result = add(node.name + "/whole", PadParams{.padding = around}, {result});
        }
        if (!of.bias) return result;
        return add(node.name + "/biased", BinaryParams{BinaryKind::add},
                   {result, repeated(node.name + ".bias", Shape{.c = of.k})});
    }
    [[nodiscard]] RandomDropoutParams dropout(std::size_t i) const {
        return {.rate = std::get<DropoutParams>(form_[i].layer).rate, .stream = static_cast<std::uint32_t>(i)};
    }

    /// The gradient of a node's result: the sum of what its readers contributed.
    [[nodiscard]] std::size_t gradient_of(std::size_t i) {
        std::vector<std::size_t>& parts = contributions_[i];
        if (parts.size() > 1) parts = {add(form_[i].name + "/gradient", AddParams{}, parts)};
        return parts[0];
    }
    void contribute(std::size_t to, std::size_t gradient) { contributions_[to].push_back(gradient); }
    [[nodiscard]] std::string gradient_name(std::size_t i, std::size_t place) const {
        Node const& node = form_[i];
        return join(form_[node.inputs[place]].name, "/gradient of ", node.name, place > 0 ? join(" ", place) : "");
    }

    void backward(std::size_t i) {
        Node const& node = form_[i];
        if (!needs_[i] || contributions_[i].empty()) return;
        const std::size_t dy = gradient_of(i);
        if (const auto* conv = std::get_if<ConvParams>(&node.layer)) return backward_conv(i, *conv, dy);
        if (norms_.contains(i)) return backward_norm(i, dy);
        if (!node.inputs.empty() && activation_[node.inputs[0]] == i) return contribute(node.inputs[0], dy);
        if (const auto* conv = std::get_if<ConvTransposeParams>(&node.layer)) {
            return backward_conv_transpose(i, *conv, dy);
        }
        if (std::holds_alternative<ConstantParams>(node.layer)) {
            return output_gradient(node.name, add(node.name + "/gradient sum", ChannelSumParams{}, {flat(i, dy)}));
        }
        if (const auto* recurrent = std::get_if<RecurrentParams>(&node.layer)) {
            return backward_recurrent(i, *recurrent, dy);
        }
        if (trains(node)) refuse(node, "its weights cannot be trained");
        for (std::size_t place = 0; place < node.inputs.size(); ++place) {
            if (!needs_[node.inputs[place]]) continue;
            const std::size_t gradient =
                core::visit([&](auto const& layer) { return gradient_of_input(i, place, layer, dy); }, node.layer);
            if (gradient != none) contribute(node.inputs[place], gradient);
        }
    }
    void output_gradient(std::string weight, std::size_t node, std::size_t offset = 0) {
        auto found = std::ranges::find(outputs_, node);
        if (found == outputs_.end()) found = outputs_.insert(outputs_.end(), node);
        result_.weights.push_back({std::move(weight), static_cast<std::size_t>(found - outputs_.begin()), offset});
    }

    void backward_conv(std::size_t i, ConvParams conv, std::size_t dy) {
        Node const& node = form_[i];
        const std::size_t x = at_[node.inputs[0]];
        const Shape in = form_[node.inputs[0]].shape;
        if (trains(node, "weight")) {
            output_gradient(node.name + ".weight",
                            add(node.name + ".weight/gradient", ConvWeightGradientParams{conv}, {x, dy}));
        }
        if (trains(node, "bias")) {
            output_gradient(node.name + ".bias", add(node.name + ".bias/gradient", ChannelSumParams{}, {dy}));
        }
        if (!needs_[node.inputs[0]]) return;
        const Shape kernel{.c = conv.k, .h = in.c / conv.groups, .w = conv.kernel.h * conv.kernel.w};
        contribute(node.inputs[0], add(gradient_name(i, 0), ConvInputGradientParams{conv, in},
                                       {dy, parameter(node.name + ".weight", kernel)}));
    }
    /// The gradient of the input is the convolution of which this one is the transpose. It has the layer's name, for
    /// its weight is the layer's.
    void backward_conv_transpose(std::size_t i, ConvTransposeParams const& of, std::size_t dy) {
        Node const& node = form_[i];
        const auto [conv, image] = transposed(node, of);
        std::size_t reached = dy;
        if (image.h != node.shape.h) {
            reached = add(node.name + "/rows of dy", SliceParams{0, image.h, Axis::h}, {reached});
        }
        if (image.w != node.shape.w) {
            reached = add(node.name + "/columns of dy", SliceParams{0, image.w, Axis::w}, {reached});
        }
        if (trains(node, "weight")) {
            output_gradient(node.name + ".weight", add(node.name + ".weight/gradient", ConvWeightGradientParams{conv},
                                                       {reached, at_[node.inputs[0]]}));
        }
        if (trains(node, "bias")) {
            output_gradient(node.name + ".bias", add(node.name + ".bias/gradient", ChannelSumParams{}, {dy}));
        }
        if (needs_[node.inputs[0]]) contribute(node.inputs[0], add(node.name, conv, {reached}));
    }
    /// The weights of recurrent layers change from step to step: they are inputs.
    [[nodiscard]] static RecurrentParams trained_form(RecurrentParams params) {
        params.reads_weights = true;
        return params;
    }
    [[nodiscard]] std::vector<std::size_t> inputs_of_recurrent(std::size_t i, RecurrentParams const& recurrent) {
        std::vector<std::size_t> inputs = inputs_of(form_[i]);
        const Shape x = shape_of_input(i, 0);
        inputs.push_back(parameter(form_[i].name + ".weight", Shape{.c = x.w * recurrent.hidden(x)}));
        if (recurrent.bias) inputs.push_back(parameter(form_[i].name + ".bias", Shape{.c = x.w}));
        return inputs;
    }
    void backward_recurrent(std::size_t i, RecurrentParams const& recurrent, std::size_t dy) {
        Node const& node = form_[i];
        const Shape x = shape_of_input(i, 0);
        const int n = recurrent.hidden(x);
        const bool is_gru = recurrent.kind == RecurrentKind::gru, resets_state = is_gru && !recurrent.resets_product;
        std::vector<std::size_t> inputs = inputs_of_recurrent(i, recurrent);
        inputs.push_back(dy);
        const std::size_t all =
            add(node.name + "/gradients", RecurrentGradientParams{trained_form(recurrent)}, std::move(inputs));
        const Shape rows = result_.graph[all].shape;
        // Columns of all steps as channels.
        const auto channels = [&](std::string const& name, int first, int count) {
            const AsStridedParams swapped{.dims = {count, x.c * x.h},
                                          .strides = {1, rows.w},
                                          .offset = first,
                                          .shape = {.c = count, .h = x.c, .w = x.h}};
            return add(node.name + name, swapped, {all});
        };
        if (trains(node)) {
            std::size_t gates = none, state = channels("/state", rows.w - n, n);
            if (is_gru && !resets_state) {
                gates = add(node.name + "/gates", ConcatParams{},
                            {channels("/gates_of_h", 0, 2 * n), channels("/gate_of_reset", x.w, n)});
            } else {
                gates = channels("/gates", 0, x.w);
            }
            if (resets_state) {
                state = add(node.name + "/states", ConcatParams{}, {state, state, channels("/reset state", x.w, n)});
            }
            // A 1x1 convolution of all steps would give what the gates get.
            const ConvParams product{.k = x.w, .kernel = 1, .groups = resets_state ? 3 : 1, .bias = false};
            if (trains(node, "weight")) {
                output_gradient(node.name + ".weight",
                                add(node.name + ".weight/gradient", ConvWeightGradientParams{product}, {state, gates}));
            }
            if (trains(node, "bias")) {
                output_gradient(node.name + ".bias", add(node.name + ".bias/gradient", ChannelSumParams{}, {gates}));
            }
        }
        const auto part = [&](std::string const& name, SliceParams steps, SliceParams columns) {
            columns.axis = Axis::w;
            return add(name, columns, {add(name + "/steps", steps, {all})});
        };
        const auto contribute_to = [&](std::size_t place, SliceParams steps, SliceParams columns, bool sums) {
            if (!needs_[node.inputs[place]]) return;
            const std::string name = gradient_name(i, place);
            std::size_t gradient = part(name + "/part", steps, columns);
            if (sums) gradient = add(name + "/sum", ReduceParams{ReduceKind::sum, Axis::h}, {gradient});
            contribute(node.inputs[place], shaped(name, shape_of_input(i, place), gradient));
        };
        const SliceParams last{x.c, x.c + 1};
        contribute_to(0, {0, x.c}, {0, x.w}, false);
        std::size_t place = 1;
        if (recurrent.starts_h) contribute_to(place++, last, {0, n}, false);
        if (recurrent.starts_cell) contribute_to(place++, last, {n, 2 * n}, false);
        if (recurrent.has_lengths) ++place;
        if (recurrent.has_peepholes) contribute_to(place, last, {2 * n, 5 * n}, true);
    }
    void backward_norm(std::size_t i, std::size_t dy) {
        Node const& node = form_[i];
        Norm const& norm = norms_.at(i);
        const float epsilon = epsilon_of(i);
        const std::optional<Clamp> clamp = activation_[i] == none ? std::nullopt : cut(activation_[i]);
        const Clamp bounds = clamp.value_or(Clamp{});
        const std::size_t x = at_[node.inputs[0]];
        std::size_t sums = none;
        if (trains(node)) {
            sums = add(node.name + "/sums", NormalizeSumsParams{epsilon, clamp.has_value(), bounds.low, bounds.high},
                       {x, norm.statistics, norm.weight, norm.bias, dy});
        }
        if (trains(node, "bias")) output_gradient(node.name + ".bias", sums);
        if (trains(node, "weight")) {
            output_gradient(node.name + ".weight", sums, static_cast<std::size_t>(node.shape.c));
        }
        if (!needs_[node.inputs[0]]) return;
        // Where the statistics are not those of the batch, nothing comes back through them.
        if (!reads_batch(node)) sums = parameter(join(node.name, zero_suffix), Shape{.c = 2 * node.shape.c});
        contribute(node.inputs[0], add(gradient_name(i, 0),
                                       NormalizeGradientParams{epsilon, clamp.has_value(), bounds.low, bounds.high},
                                       {x, norm.statistics, norm.weight, norm.bias, dy, sums}));
    }

    std::size_t pass(std::size_t i, std::size_t place, AnyLayer layer, std::vector<std::size_t> inputs) {
        return add(gradient_name(i, place), std::move(layer), std::move(inputs));
    }
    [[nodiscard]] Shape shape_of_input(std::size_t i, std::size_t place) const {
        return form_[form_[i].inputs[place]].shape;
    }
    [[nodiscard]] std::size_t input_at(std::size_t i, std::size_t place) const { return at_[form_[i].inputs[place]]; }

    std::size_t gradient_of_input(std::size_t i, std::size_t place, PoolParams const& pool, std::size_t dy) {
        const PoolGradientParams layer{pool, shape_of_input(i, place)};
        if (pool.kind == PoolKind::average) return pass(i, place, layer, {dy});
        return pass(i, place, layer, {input_at(i, place), at_[i], dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, GlobalPoolParams const& pool, std::size_t dy) {
        const GlobalPoolGradientParams layer{pool.kind, shape_of_input(i, place)};
        if (pool.kind == PoolKind::average) return pass(i, place, layer, {dy});
        return pass(i, place, layer, {input_at(i, place), at_[i], dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, ActivationParams const& activation,
                                  std::size_t dy) {
        if (!ActivationGradientParams::differentiable(activation.kind)) return none;
        const bool from_result = ActivationGradientParams::from_result(activation);
        return pass(i, place, ActivationGradientParams{activation}, {from_result ? at_[i] : input_at(i, place), dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, LrnParams const& lrn, std::size_t dy) {
        return pass(i, place, LrnGradientParams{lrn}, {input_at(i, place), at_[i], dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, SoftmaxParams const& softmax, std::size_t dy) {
        return pass(i, place, SoftmaxGradientParams{softmax}, {at_[i], dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, ScaleParams const& scale, std::size_t dy) {
        return pass(i, place, ScaleParams{.known = true, .factor = scale.factor}, {dy});
    }
    std::size_t gradient_of_input(std::size_t, std::size_t, AddParams const&, std::size_t dy) { return dy; }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, ConcatParams const& concat, std::size_t dy) {
        int first = 0;
        for (std::size_t before = 0; before < place; ++before) first += extent(shape_of_input(i, before), concat.axis);
        const int last = first + extent(shape_of_input(i, place), concat.axis);
        return pass(i, place, SliceParams{first, last, concat.axis}, {dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, SliceParams const& slice, std::size_t dy) {
        const int before = slice.first, after = extent(shape_of_input(i, place), slice.axis) - slice.last;
        PadParams pad;
        if (slice.axis == Axis::c) pad.front = before, pad.back = after;
        if (slice.axis == Axis::h) pad.padding.top = before, pad.padding.bottom = after;
        if (slice.axis == Axis::w) pad.padding.left = before, pad.padding.right = after;
        return pass(i, place, pad, {dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, PadParams const& pad, std::size_t dy) {
        const Shape in = shape_of_input(i, place);
        if (pad.mode != PadMode::constant) {
            const bool repeats = pad.mode == PadMode::edge;
            const std::size_t rows =
                fold_border(gradient_name(i, place) + "/columns", dy, Axis::w, pad.padding.left, in.w, repeats);
            return fold_border(gradient_name(i, place), rows, Axis::h, pad.padding.top, in.h, repeats);
        }
        const std::array<std::pair<Axis, int>, 3> before{
            {{Axis::c, pad.front}, {Axis::h, pad.padding.top}, {Axis::w, pad.padding.left}}};
        std::size_t gradient = dy;
        std::string name = gradient_name(i, place);
        for (auto const& [axis, first] : before) {
            if (extent(form_[i].shape, axis) == extent(in, axis)) continue;
            gradient = add(name, SliceParams{first, first + extent(in, axis), axis}, {gradient});
            name += "'";
        }
        return gradient;
    }
    /// The gradient along an axis of an image with a border that repeats its first and last element, or mirrors it
    /// there: what lies outside is added to the elements that it copies.
    std::size_t fold_border(std::string const& name, std::size_t dy, Axis axis, int before, int count, bool repeats) {
        const Shape whole = result_.graph[dy].shape;
        const int after = extent(whole, axis) - before - count;
        if (before == 0 && after == 0) return dy;
        std::vector<std::size_t> parts{add(name + "/inside", SliceParams{before, before + count, axis}, {dy})};
        // Adds `size` elements of dy, from `first` on, to the elements of the result from `to` on.
        const auto fold = [&](std::string const& side, int first, int size, int to) {
            if (size == 0) return;
            std::size_t part = none;
            if (repeats) {
                part = add(side + "/border", SliceParams{first, first + size, axis}, {dy});
                part = add(side + "/sum", ReduceParams{ReduceKind::sum, axis}, {part});
            } else {
                part = add(side + "/mirrored", mirrored(whole, axis, first, size), {dy});
            }
            const int width = repeats ? 1 : size, rest = count - to - width;
            if (to == 0 && rest == 0) return parts.push_back(part);
            const Padding around = axis == Axis::h ? Padding{to, rest, 0, 0} : Padding{0, 0, to, rest};
            parts.push_back(add(side, PadParams{.padding = around}, {part}));
        };
        fold(name + "/before", 0, before, repeats ? 0 : 1);
        fold(name + "/after", before + count, after, repeats ? count - 1 : count - 1 - after);
        return add(name, AddParams{}, parts);
    }
    /// Elements along an axis in reverse order.
    [[nodiscard]] static AsStridedParams mirrored(Shape whole, Axis axis, int first, int size) {
        AsStridedParams result{.dims = {}, .strides = {}, .offset = 0, .shape = whole};
        extent(result.shape, axis) = size;
        const std::array<std::pair<Axis, std::ptrdiff_t>, 3> strides{
            {{Axis::c, std::ptrdiff_t{whole.h} * whole.w}, {Axis::h, whole.w}, {Axis::w, 1}}};
        for (std::size_t at = 0; at < strides.size(); ++at) {
            auto const& [own, stride] = strides[at];
            result.dims.push_back(extent(result.shape, own));
            result.strides[at] = own == axis ? -stride : stride;
            if (own == axis) result.offset = stride * (first + size - 1);
        }
        return result;
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, ChannelShuffleParams const& shuffle,
                                  std::size_t dy) {
        return pass(i, place, ChannelShuffleParams{form_[i].shape.c / shuffle.groups}, {dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, FlattenParams const&, std::size_t dy) {
        return pass(i, place, ReshapeParams{shape_of_input(i, place)}, {dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, ReshapeParams const&, std::size_t dy) {
        return pass(i, place, ReshapeParams{shape_of_input(i, place)}, {dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, DropoutParams const&, std::size_t dy) {
        return pass(i, place, dropout(i), {dy, parameter(result_.seed, Shape{.c = 2})});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, BinaryParams const& binary, std::size_t dy) {
        std::size_t gradient = broadcast_gradient(i, place, binary.kind, dy);
        if (gradient == none) return none;
        std::string name = gradient_name(i, place);
        for (const Axis axis : {Axis::h, Axis::w, Axis::c}) {
            if (extent(shape_of_input(i, place), axis) == extent(form_[i].shape, axis)) continue;
            gradient = add(name, ReduceParams{ReduceKind::sum, axis}, {gradient});
            name += "'";
        }
        return gradient;
    }
    /// The gradient with respect to each element of the result's shape; none where the function has steps only.
    std::size_t broadcast_gradient(std::size_t i, std::size_t place, BinaryKind kind, std::size_t dy) {
        const std::string name = gradient_name(i, place);
        const std::size_t a = input_at(i, 0), b = input_at(i, 1), own = place == 0 ? a : b, other = place == 0 ? b : a;
        const auto binary = [&](std::string_view suffix, BinaryKind of, std::size_t left, std::size_t right) {
            return add(join(name, '/', suffix), BinaryParams{of}, {left, right});
        };
        const auto times = [&](std::string_view suffix, float factor, std::size_t of) {
            return add(join(name, '/', suffix), ScaleParams{.known = true, .factor = factor}, {of});
        };
        const auto apply = [&](std::string_view suffix, ActivationKind of, std::size_t to) {
            return add(join(name, '/', suffix), ActivationParams{of}, {to});
        };
        switch (kind) {
            case BinaryKind::add:
                return dy;
            case BinaryKind::subtract:
                return place == 0 ? dy : times("negative", -1, dy);
            case BinaryKind::multiply:
                return binary("product", BinaryKind::multiply, dy, other);
            case BinaryKind::divide:
                // d(a / b) = da / b - (a / b) * db / b
                if (place == 0) return binary("quotient", BinaryKind::divide, dy, b);
                return times(
                    "negative", -1,
                    binary("quotient", BinaryKind::divide, binary("product", BinaryKind::multiply, dy, at_[i]), b));
            case BinaryKind::prelu: {
                constexpr float infinity = std::numeric_limits<float>::infinity();
                if (place == 1) {
                    const ActivationParams negative{ActivationKind::clip, -infinity, 0};
                    return binary("product", BinaryKind::multiply, dy, add(name + "/below", negative, {a}));
                }
                const std::size_t above =
                    binary("above", BinaryKind::keep, apply("positive", ActivationKind::relu, a), dy);
                const std::size_t rest = binary("rest", BinaryKind::subtract, dy, above);
                return binary("sum", BinaryKind::add, above, binary("below", BinaryKind::multiply, rest, b));
            }
            case BinaryKind::power:
                // d(a^b) = b * a^(b - 1) * da + log(a) * a^b * db, the latter 0 where a is, as in PyTorch.
                if (place == 0) {
                    const std::size_t less = add(name + "/less", ScaleParams{.known = true, .shift = -1}, {b});
                    const std::size_t slope =
                        binary("slope", BinaryKind::multiply, b, binary("power", BinaryKind::power, a, less));
                    return binary("product", BinaryKind::multiply, dy, binary("kept", BinaryKind::keep, b, slope));
                } else {
                    const std::size_t slope =
                        binary("slope", BinaryKind::multiply, at_[i], apply("logarithm", ActivationKind::log, a));
                    return binary("product", BinaryKind::multiply, dy, binary("kept", BinaryKind::keep, a, slope));
                }
            case BinaryKind::minimum:
            case BinaryKind::maximum: {
                // To the one that it is; to either a half where they are equal, as in PyTorch.
                const bool larger = kind == BinaryKind::maximum;
                const std::size_t wins =
                    binary("wins", BinaryKind::greater, larger ? own : other, larger ? other : own);
                const std::size_t half = times("half", 0.5F, binary("equal", BinaryKind::equal, a, b));
                return binary("product", BinaryKind::multiply, dy, binary("share", BinaryKind::add, wins, half));
            }
            case BinaryKind::modulo:
            case BinaryKind::remainder: {
                if (place == 0) return dy;
                const std::size_t quotient = binary("quotient", BinaryKind::divide, a, b);
                const std::size_t times_taken = apply(
                    "times", kind == BinaryKind::modulo ? ActivationKind::floor : ActivationKind::truncate, quotient);
                return times("negative", -1, binary("product", BinaryKind::multiply, dy, times_taken));
            }
            case BinaryKind::keep:
                return place == 0 ? none : binary("kept", BinaryKind::keep, a, dy);
            case BinaryKind::equal:
            case BinaryKind::greater:
            case BinaryKind::greater_or_equal:
                return none;
        }
        return none;
    }
    /// d(a * b) = da * b + a * db, of matrices; those that all of the other's met are summed.
    std::size_t gradient_of_input(std::size_t i, std::size_t place, MatMulParams const&, std::size_t dy) {
        const std::string name = gradient_name(i, place);
        const std::size_t other = 1 - place;
        const Shape matrix = shape_of_input(i, other);
        const AsStridedParams turning{.dims = {matrix.c, matrix.w, matrix.h},
                                      .strides = {std::ptrdiff_t{matrix.h} * matrix.w, 1, matrix.w},
                                      .offset = 0,
                                      .shape = {.c = matrix.c, .h = matrix.w, .w = matrix.h}};
        const std::size_t rotated = add(name + "/transposed", turning, {input_at(i, other)});
        const bool sums = shape_of_input(i, place).c != form_[i].shape.c;
        const std::size_t product = add(sums ? name + "/products" : name, MatMulParams{},
                                        place == 0 ? std::vector{dy, rotated} : std::vector{rotated, dy});
        return sums ? add(name, ReduceParams{ReduceKind::sum, Axis::c}, {product}) : product;
    }
    /// That of a sum is repeated along the axis, that of a mean divided by the extent as well; that of a maximum is
    /// shared by the elements that equal it, as in PyTorch's amax.
    std::size_t gradient_of_input(std::size_t i, std::size_t place, ReduceParams const& reduce, std::size_t dy) {
        if (reduce.kind == ReduceKind::arg_max) return none;
        if (reduce.kind == ReduceKind::max) {
            const std::string name = gradient_name(i, place);
            const std::size_t equal =
                add(name + "/equal", BinaryParams{BinaryKind::equal}, {input_at(i, place), at_[i]});
            const std::size_t count = add(name + "/count", ReduceParams{ReduceKind::sum, reduce.axis}, {equal});
            const std::size_t share = add(name + "/share", BinaryParams{BinaryKind::divide}, {dy, count});
            return add(name, BinaryParams{BinaryKind::keep}, {equal, share});
        }
        const Shape in = shape_of_input(i, place), out = form_[i].shape;
        AsStridedParams repeated{.dims = {}, .strides = {}, .offset = 0, .shape = in};
        const std::array<std::pair<Axis, std::ptrdiff_t>, 3> strides{
            {{Axis::c, std::ptrdiff_t{out.h} * out.w}, {Axis::h, out.w}, {Axis::w, 1}}};
        for (std::size_t axis = 0; axis < strides.size(); ++axis) {
            repeated.dims.push_back(extent(in, strides[axis].first));
            repeated.strides[axis] = strides[axis].first == reduce.axis ? 0 : strides[axis].second;
        }
        if (reduce.kind == ReduceKind::sum) return pass(i, place, repeated, {dy});
        const float share = 1.0F / static_cast<float>(extent(in, reduce.axis));
        const std::size_t shared =
            add(gradient_name(i, place) + "/share", ScaleParams{.known = true, .factor = share}, {dy});
        return pass(i, place, repeated, {shared});
    }
    /// The sum over repeated elements, then the inverse of a permutation; of other orders, each element of dy goes to
    /// the one that it was read from.
    std::size_t gradient_of_input(std::size_t i, std::size_t place, AsStridedParams strided, std::size_t dy) {
        const Shape in = shape_of_input(i, place);
        const std::string name = gradient_name(i, place);
        std::size_t gradient = dy;
        for (std::size_t axis = strided.dims.rank(); axis-- > 0;) {
            const int count = strided.dims[axis];
            if (strided.strides[axis] != 0 || count == 1) continue;
            Shape view{.c = 1, .h = count, .w = 1};
            for (std::size_t at = 0; at < strided.dims.rank(); ++at) {
                if (at != axis) (at < axis ? view.c : view.w) *= strided.dims[at];
            }
            const std::string step = join(name, "/axis ", axis);
            gradient = add(step, ReduceParams{ReduceKind::sum, Axis::h}, {shaped(step + " view", view, gradient)});
            strided.dims[axis] = 1;
        }
        strided.shape = result_.graph[gradient].shape;
        const std::size_t rank = strided.dims.rank();
        std::array<std::ptrdiff_t, Dims::max_rank> after{};  // the strides of the result, row by row
        std::vector<std::size_t> axes;
        std::ptrdiff_t elements = 1;
        for (std::size_t axis = rank; axis-- > 0;) {
            after[axis] = elements;
            elements *= strided.dims[axis];
            if (strided.dims[axis] > 1) axes.push_back(axis);
        }
        std::ranges::sort(axes, [&](std::size_t a, std::size_t b) { return strided.strides[a] > strided.strides[b]; });
        std::ptrdiff_t dense = 1;
        bool permutes = strided.offset == 0 && static_cast<std::size_t>(elements) == in.size();
        for (std::size_t at = axes.size(); at-- > 0;) {
            permutes = permutes && strided.strides[axes[at]] == dense;
            dense *= strided.dims[axes[at]];
        }
        if (!permutes) return add(name, AsStridedGradientParams{strided, in}, {gradient});
        AsStridedParams inverse{.dims = {}, .strides = {}, .offset = 0, .shape = in};
        for (std::size_t at = 0; at < axes.size(); ++at) {
            inverse.dims.push_back(strided.dims[axes[at]]);
            inverse.strides[at] = after[axes[at]];
        }
        return add(name, inverse, {gradient});
    }
    /// Where each pixel is repeated a whole number of times, the sum over its copies.
    std::size_t gradient_of_input(std::size_t i, std::size_t place, ResizeParams const& resize, std::size_t dy) {
        const Shape in = shape_of_input(i, place);
        const Extent factor{resize.size.h / in.h, resize.size.w / in.w};
        const auto is_factor = [](float scale, int times) {
            return scale == 0.0F || scale == 1.0F / static_cast<float>(times);
        };
        const bool centred = resize.coordinates == ResizeCoordinates::half_pixel &&
                             (resize.rounding == ResizeRounding::round_prefer_floor ||
                              resize.rounding == ResizeRounding::round_prefer_ceil);
        const bool cornered =
            resize.coordinates == ResizeCoordinates::asymmetric && resize.rounding == ResizeRounding::floor;
        const bool repeats = resize.mode == ResizeMode::nearest && (centred || cornered) &&
                             factor.h * in.h == resize.size.h && factor.w * in.w == resize.size.w &&
                             is_factor(resize.scale_h, factor.h) && is_factor(resize.scale_w, factor.w);
        if (!repeats) return pass(i, place, ResizeGradientParams{resize, in}, {dy});
        const PoolParams mean{.kind = PoolKind::average, .window = factor, .stride = factor};
        const std::size_t means = add(gradient_name(i, place) + "/mean", mean, {dy});
        return pass(i, place, ScaleParams{.known = true, .factor = static_cast<float>(factor.h * factor.w)}, {means});
    }
    /// Row numbers have none.
    std::size_t gradient_of_input(std::size_t i, std::size_t place, GatherParams const& gather, std::size_t dy) {
        if (place == 1) return none;
        return pass(i, place, PlacedGradientParams{{gather}, shape_of_input(i, place)}, {input_at(i, 1), dy});
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, ScatterParams const& scatter, std::size_t dy) {
        return place == 1 ? none : placed_gradient(i, place, {scatter}, dy);
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t place, GridSampleParams const& sample, std::size_t dy) {
        return place == 1 && sample.mode == ResizeMode::nearest ? none : placed_gradient(i, place, {sample}, dy);
    }
    /// Boxes have none, as in torchvision.
    std::size_t gradient_of_input(std::size_t i, std::size_t place, RoiAlignParams const& align, std::size_t dy) {
        return place > 0 ? none : placed_gradient(i, place, {align}, dy);
    }
    std::size_t placed_gradient(std::size_t i, std::size_t place, PlacedLayer const& layer, std::size_t dy) {
        const PlacedGradientParams gradient{layer, shape_of_input(i, 0), static_cast<int>(place)};
        std::vector<std::size_t> inputs = inputs_of(form_[i]);
        if (!gradient.reads_image()) inputs.erase(inputs.begin());
        inputs.push_back(dy);
        return pass(i, place, gradient, std::move(inputs));
    }
    /// Each of the best elements gives its gradient to the place that it has in its row.
    std::size_t gradient_of_input(std::size_t i, std::size_t place, TopKParams const& top, std::size_t dy) {
        if (top.positions) return none;
        const std::string name = gradient_name(i, place);
        const Shape in = shape_of_input(i, place);
        // A row as a column.
        const Shape all{.c = in.c * in.h, .h = in.w, .w = 1}, best{.c = all.c, .h = top.k, .w = 1};
        TopKParams positions = top;
        positions.positions = true;
        const std::size_t at = add(name + "/positions", positions, {input_at(i, place)});
        const std::size_t columns =
            add(name + "/columns", PlacedGradientParams{{GatherParams{.from_end = false, .elements = true}}, all},
                {shaped(name + "/positions as columns", best, at), shaped(name + "/dy as columns", best, dy)});
        return shaped(name, in, columns);
    }
    /// Positions have none.
    std::size_t gradient_of_input(std::size_t, std::size_t, MaxPoolIndicesParams const&, std::size_t) { return none; }
    std::size_t gradient_of_input(std::size_t, std::size_t, NonMaxSuppressionParams const&, std::size_t) {
        return none;
    }
    std::size_t gradient_of_input(std::size_t i, std::size_t, OwnLayerParams const&, std::size_t) {
        refuse(form_[i], "a layer of your own has no gradient here");
    }
    /// Layers that have been handled, or that only the graph of a step has.
    template <class Params>
    std::size_t gradient_of_input(std::size_t i, std::size_t, Params const&, std::size_t) {
        refuse(form_[i], "this kind of layer has no gradient here");
    }
    /// The one value is its own mean: the variance would be 0, and the result the bias.
    [[noreturn]] static void refuse_one_value(Node const& node) {
        fail("train: layer ", node.name, " (batch_norm) sees one value a channel (", to_string(node.shape),
             ", one image at once); more than one is needed to train it: take more images at once, or freeze ",
             node.name, ".weight and ", node.name, ".bias");
    }
    [[noreturn]] static void refuse(Node const& node, std::string_view why) {
        fail("train: layer ", node.name, " (", layer_kind(node.layer),
             ") stands between a trained weight and the result: ", why);
    }

    struct Norm {
        std::size_t statistics = 0, weight = 0, bias = 0;
    };

    Graph form_;
    std::vector<std::string> trained_;
    std::map<std::string, WeightOwner, std::less<>> owners_;  // of shared weights
    std::vector<std::size_t> at_;                             // where each layer's result is in the step
    std::vector<bool> needs_;                                 // whether it depends on a trained weight
    std::vector<std::size_t> activation_;                     // of a batch norm: the activation that became part of it
    std::vector<std::vector<std::size_t>> contributions_;
    std::map<std::size_t, Norm> norms_;
    std::map<std::string, std::size_t> parameters_;
    std::vector<std::size_t> outputs_, statistics_;
    TrainingGraph result_;
};

}  // namespace train::detail

}  // namespace primsel::inline PRIMSEL_ABI
