#pragma once

#include <primsel/network/prepare.hpp>
#include <primsel/onnx/detail/strided.hpp>
#include <primsel/onnx/detail/writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

struct OnnxExportOptions {
    /// Of ONNX's operators: 13 to 21.
    int opset = 17;
    /// The file runs any number of images at once; else the graph's batch.
    bool open_batch = true;
    std::string producer = "primsel";
};

namespace onnx {

inline constexpr int min_export_opset = 13, max_export_opset = 21;

/// Writes a graph as a model. Images are batch x c x h x w; what comes out of a dense layer or a flatten, and of
/// elementwise layers after those, is batch x c. Every layer's result has the layer's name.
class Exporter {
    using Ints = std::vector<std::int64_t>;
    using Names = std::vector<std::string>;
    using Attributes = std::vector<NewAttribute>;

public:
    Exporter(Graph const& graph, Weights const& weights, OnnxExportOptions const& options)
        : graph_(graph),
          weights_(weights),
          options_(options),
          model_(options.opset, options.producer, PRIMSEL_VERSION, bytes_of(weights)) {
        batch_ = options.open_batch && !graph.inputs().empty() ? open_dimension : graph.batch();
    }

    [[nodiscard]] std::string run() {
        // All results first: no initializer may take a layer's name.
        for (Node const& node : graph_.nodes()) values_.push_back({.name = model_.unique(node.name)});
        for (at_ = 0; at_ < graph_.size(); ++at_) {
            Node const& node = graph_[at_];
            for (const std::size_t input : node.inputs) values_[at_].varies |= values_[input].varies;
            std::visit([this](auto const& params) { add(params); }, node.layer);
            flush();
        }
        add_outputs();
        return model_.finish();
    }

private:
    /// The tensor that a layer gives.
    struct Value {
        std::string name;
        /// batch x c, not batch x c x h x w.
        bool flat = false;
        /// Whether there is one for each image; if not, one for all.
        bool varies = false;
        bool written = false;
        /// The name of the same as batch x c x h x w, where that was needed.
        std::string unflattened = {};
        /// The name of the same as floats, of integers.
        std::string floats = {};
    };
    struct Step {
        std::string_view op;
        Names inputs, outputs;
        Attributes attributes;
    };

    /// About the model's size. Throws error when that is too large, before anything is copied.
    static std::size_t bytes_of(Weights const& weights) {
        std::size_t bytes = 0;
        for (auto const& [name, tensor] : weights) bytes += tensor.values.size_bytes();
        if (bytes > largest_model) {
            fail("ONNX export: the weights take ", bytes, " bytes; a model may have ", largest_model);
        }
        return bytes + 4096 * (weights.size() + 1);
    }
    [[nodiscard]] Node const& node() const { return graph_[at_]; }
    [[nodiscard]] Shape in_shape(std::size_t i = 0) const { return graph_[node().inputs[i]].shape; }
    [[nodiscard]] Value& in(std::size_t i = 0) { return values_[node().inputs[i]]; }
    template <class... Parts>
    [[noreturn]] void refuse(Parts const&... parts) const {
        fail("ONNX export: layer ", node().name, " (", kind(node().layer), "): ", parts...);
    }

    // Steps of one layer. The last takes the layer's name.

    std::string step(std::string_view op, Names inputs, Attributes attributes = {}) {
        steps_.push_back({op, std::move(inputs), {model_.unique(join(node().name, '/', op))}, std::move(attributes)});
        return steps_.back().outputs[0];
    }
    void flush() {
        if (!steps_.empty() && !values_[at_].written) steps_.back().outputs[0] = values_[at_].name;
        for (Step const& step : steps_)
            model_.node(step.outputs[0], step.op, step.inputs, step.outputs, step.attributes);
        values_[at_].written = true;
        steps_.clear();
    }
    std::string floats(std::string_view suffix, Ints const& dims, std::span<const float> values) {
        std::string name = model_.unique(join(node().name, '.', suffix));
        model_.initializer(name, dims, values);
        return name;
    }
    std::string ints(std::string_view suffix, Ints const& values) {
        std::string name = model_.unique(join(node().name, '.', suffix));
        model_.initializer(name, Ints{static_cast<std::int64_t>(values.size())}, std::span(values));
        return name;
    }
    std::string scalar(std::string_view suffix, float value) { return floats(suffix, {}, std::span(&value, 1)); }

    /// An input as batch x c x h x w.
    std::string image(std::size_t i = 0) {
        Value& value = in(i);
        if (!value.flat) return read(i);
        if (value.unflattened.empty()) value.unflattened = reshape(read(i), in_shape(i));
        return value.unflattened;
    }
    /// An input as it is, in floats.
    std::string read(std::size_t i = 0) {
        Value& value = in(i);
        if (!std::holds_alternative<MaxPoolIndicesParams>(graph_[node().inputs[i]].layer)) return value.name;
        if (value.floats.empty()) {
            value.floats = step("Cast", {value.name}, {{"to", static_cast<std::int64_t>(DataType::float32)}});
        }
        return value.floats;
    }
    /// All inputs alike: flat if all are, else images.
    Names alike() {
        bool& flat = values_[at_].flat;
        flat = true;
        for (const std::size_t input : node().inputs) flat = flat && values_[input].flat;
        Names names;
        for (std::size_t i = 0; i < node().inputs.size(); ++i) names.push_back(flat ? read(i) : image(i));
        return names;
    }
    std::string reshape(std::string const& input, Ints dims) {
        dims.insert(dims.begin(), 0);  // as many images as the input has
        return step("Reshape", {input, ints("shape", dims)});
    }
    std::string reshape(std::string const& input, Shape shape) {
        return reshape(input, Ints{shape.c, shape.h, shape.w});
    }
    std::string clamp(std::string const& input, Clamp clamp) {
        if (clamp == Clamp{}) return input;
        if (clamp == relu_clamp) return step("Relu", {input});
        Names inputs{input, ""};
        if (std::isfinite(clamp.low)) inputs[1] = scalar("min", clamp.low);
        if (std::isfinite(clamp.high)) inputs.push_back(scalar("max", clamp.high));
        if (inputs.back().empty()) inputs.pop_back();
        return step("Clip", std::move(inputs));
    }
    /// As the layer's epilogue has it.
    void clamp(std::string const& input) { clamp(input, node().epilogue.clamp); }
    /// The same for every image of the batch.
    std::string for_each_image(std::string const& input, bool flat) {
        Ints ones(flat ? 2 : 4, 1);
        if (batch_ == 1) return input;
        if (batch_ != open_dimension) {
            ones[0] = batch_;
            return step("Expand", {input, ints("batch", ones)});
        }
        ones.pop_back();
        const std::string shape = step("Shape", {values_[graph_.inputs()[0]].name});
        const std::string batch = step("Slice", {shape, ints("first", {0}), ints("last", {1})});
        return step("Expand", {input, step("Concat", {batch, ints("ones", ones)}, {{"axis", std::int64_t{0}}})});
    }

    static NewAttribute pair(std::string_view name, Extent extent) { return {name, Ints{extent.h, extent.w}}; }
    static NewAttribute pads(Padding p) { return {"pads", Ints{p.top, p.left, p.bottom, p.right}}; }
    static NewAttribute whole(std::string_view name, std::int64_t value) { return {name, value}; }
    static std::int64_t cast_to(DataType type) { return static_cast<std::int64_t>(type); }
    static NewAttribute axis_of(Axis axis) { return {"axis", 1 + static_cast<std::int64_t>(axis)}; }

    // One function a kind of layer.

    void add(InputParams const& p) {
        Value& value = values_[at_];
        value.varies = true;
        model_.value(GraphField::input, value.name, DataType::float32, Ints{batch_, p.shape.c, p.shape.h, p.shape.w});
    }
    void add(ConstantParams const& p) {
        const PreparedWeights prepared = prepare_weights(node(), weights_);
        model_.initializer(values_[at_].name, Ints{1, p.shape.c, p.shape.h, p.shape.w}, prepared.kernel);
    }
    void add(ConvParams const& p) {
        const std::int64_t depth = in_shape().c / p.groups;
        const std::string sum = step("Conv", weighted(image(), {p.k, depth, p.kernel.h, p.kernel.w}),
                                     {pair("kernel_shape", p.kernel), pair("strides", p.stride), pads(p.padding),
                                      pair("dilations", p.dilation), whole("group", p.groups)});
        clamp(node().epilogue.residual ? step("Add", {sum, image(1)}) : sum);
    }
    void add(ConvTransposeParams const& p) {
        // Rows that are taken away need not be added before.
        const auto spare = [](int extra, int padding, int stride, int dilation) {
            return extra < std::max(stride, dilation) ? 0 : std::min(extra, padding);
        };
        const int spare_h = spare(p.extra_h, p.padding.bottom, p.stride.h, p.dilation.h);
        const int spare_w = spare(p.extra_w, p.padding.right, p.stride.w, p.dilation.w);
        Padding padding = p.padding;
        padding.bottom -= spare_h, padding.right -= spare_w;
        const Extent extra(p.extra_h - spare_h, p.extra_w - spare_w);
        if (extra.h >= std::max(p.stride.h, p.dilation.h) || extra.w >= std::max(p.stride.w, p.dilation.w)) {
            refuse("its extra rows or columns are not fewer than its stride or dilation");
        }
        step("ConvTranspose", weighted(image(), {in_shape().c, p.k / p.groups, p.kernel.h, p.kernel.w}),
             {pair("kernel_shape", p.kernel), pair("strides", p.stride), pads(padding), pair("dilations", p.dilation),
              whole("group", p.groups), pair("output_padding", extra)});
    }
    void add(DenseParams const& p) {
        const std::string input = in().flat ? read() : step("Flatten", {read()}, {whole("axis", 1)});
        clamp(step("Gemm", weighted(input, {p.k, static_cast<std::int64_t>(in_shape().size())}), {whole("transB", 1)}));
        values_[at_].flat = true;
    }
    /// The input, the weight and, where there is one, the bias of a layer.
    Names weighted(std::string const& input, Ints const& dims) {
        const PreparedWeights prepared = prepare_weights(node(), weights_);
        Names inputs{input, floats("weight", dims, prepared.kernel)};
        if (!prepared.bias.empty()) {
            inputs.push_back(floats("bias", {static_cast<std::int64_t>(prepared.bias.size())}, prepared.bias));
        }
        return inputs;
    }

    void add(PoolParams const& p) {
        if (values_[at_].written) return;  // with its indices
        if (p.kind == PoolKind::max) return add_max_pool(p);
        if (p.dilation != Extent{1} && options_.opset < 19) refuse("dilated average pooling needs opset 19");
        const PoolParams pool = without_doubt(p);
        std::string input = image();
        PoolParams counted = pool;
        if (p.count_include_pad && pool != p) {
            // Of the padding, count_include_pad counts all or nothing: what counts becomes part of the image.
            const Padding zeros{p.padding.top, std::min(p.padding.bottom, pool.padding.bottom), p.padding.left,
                                std::min(p.padding.right, pool.padding.right)};
            if (zeros != Padding{}) {
                input =
                    step("Pad", {input, ints("pads", {0, 0, zeros.top, zeros.left, 0, 0, zeros.bottom, zeros.right}),
                                 scalar("value", 0.0F)});
            }
            counted.padding = {0, pool.padding.bottom - zeros.bottom, 0, pool.padding.right - zeros.right};
            counted.count_include_pad = false;
        }
        Attributes attributes = window(counted);
        attributes.push_back(whole("count_include_pad", counted.count_include_pad));
        if (p.dilation == Extent{1}) std::erase_if(attributes, [](auto const& a) { return a.name == "dilations"; });
        step("AveragePool", {input}, std::move(attributes));
    }
    void add(MaxPoolIndicesParams const& p) {
        if (!values_[at_].written) add_max_pool(p.pool);
    }
    static Attributes window(PoolParams const& p) {
        return {pair("kernel_shape", p.window), pair("strides", p.stride), pads(p.padding),
                pair("dilations", p.dilation), whole("ceil_mode", p.ceil_mode)};
    }
    /// With ceil_mode, a last window that would start behind the image is left out; not all who read ONNX do that.
    /// Where there would be one, the same windows as padding: as much as they reach beyond the image.
    [[nodiscard]] PoolParams without_doubt(PoolParams const& p) const {
        const Shape from = in_shape(), to = node().shape;
        const auto starts_behind = [](int in, int out, int step, int before, int after, int span) {
            return out * step >= in + before && in + before + after - span > (out - 1) * step;
        };
        const int span_h = (p.window.h - 1) * p.dilation.h + 1, span_w = (p.window.w - 1) * p.dilation.w + 1;
        if (!p.ceil_mode || (!starts_behind(from.h, to.h, p.stride.h, p.padding.top, p.padding.bottom, span_h) &&
                             !starts_behind(from.w, to.w, p.stride.w, p.padding.left, p.padding.right, span_w))) {
            return p;
        }
        PoolParams result = p;
        result.ceil_mode = false;
        result.padding.bottom = std::max(0, (to.h - 1) * p.stride.h + span_h - from.h - p.padding.top);
        result.padding.right = std::max(0, (to.w - 1) * p.stride.w + span_w - from.w - p.padding.left);
        // More padding than a window's own pixels, which dilation allows, is refused by some.
        return result.padding.bottom < p.window.h && result.padding.right < p.window.w ? result : p;
    }
    /// One node for the maxima and the indices, where the graph has both.
    void add_max_pool(PoolParams const& p) {
        std::optional<std::size_t> maxima, indices;
        for (std::size_t i = at_; i < graph_.size(); ++i) {
            if (graph_[i].inputs != node().inputs) continue;
            const auto* pool = std::get_if<PoolParams>(&graph_[i].layer);
            const auto* where = std::get_if<MaxPoolIndicesParams>(&graph_[i].layer);
            if (!maxima && pool != nullptr && *pool == p) maxima = i;
            if (!indices && where != nullptr && where->pool == p) indices = i;
        }
        step("MaxPool", {image()}, window(without_doubt(p)));
        Names& outputs = steps_.back().outputs;
        if (maxima) outputs[0] = values_[*maxima].name;
        if (indices) outputs.push_back(values_[*indices].name);
        for (auto const& result : {maxima, indices}) {
            if (result) values_[*result].written = true;
        }
    }
    void add(GlobalPoolParams const& p) {
        step(p.kind == PoolKind::max ? "GlobalMaxPool" : "GlobalAveragePool", {image()});
    }

    void add(ActivationParams const& p) {
        const std::string x = alike()[0];
        switch (p.kind) {
            case ActivationKind::relu:
                step("Relu", {x});
                return;
            case ActivationKind::relu6:
                clamp(x, relu6_clamp);
                return;
            case ActivationKind::leaky_relu:
                step("LeakyRelu", {x}, {{"alpha", p.alpha}});
                return;
            case ActivationKind::sigmoid:
                step("Sigmoid", {x});
                return;
            case ActivationKind::hard_swish:
                if (options_.opset >= 14) {
                    step("HardSwish", {x});
                } else {
                    step("Mul", {x, step("HardSigmoid", {x}, {{"alpha", 1.0F / 6.0F}, {"beta", 0.5F}})});
                }
                return;
            case ActivationKind::elu:
                step("Elu", {x}, {{"alpha", p.alpha}});
                return;
            case ActivationKind::hard_sigmoid:
                step("HardSigmoid", {x}, {{"alpha", p.alpha}, {"beta", p.beta}});
                return;
            case ActivationKind::tanh:
                step("Tanh", {x});
                return;
            case ActivationKind::clip:
                if (clamp(x, {p.alpha, p.beta}) == x) step("Identity", {x});
                return;
            case ActivationKind::truncate:
                step("Mul", {step("Sign", {x}), step("Floor", {step("Abs", {x})})});
                return;
            case ActivationKind::power:
                step("Pow", {x, scalar("exponent", p.alpha)});
                return;
            default: {
                constexpr std::string_view names[] = {
                    "Sqrt", "Exp", "Log", "Abs",  "Sign", "Floor", "Ceil", "Round", "",      "Erf",   "Softplus", "",
                    "Sin",  "Cos", "Tan", "Asin", "Acos", "Atan",  "Sinh", "Cosh",  "Asinh", "Acosh", "Atanh"};
                step(names[static_cast<std::size_t>(p.kind) - static_cast<std::size_t>(ActivationKind::sqrt)], {x});
            }
        }
    }

    void add(LrnParams const& p) {
        const std::string x = image();
        if (p.size % 2 != 0) {
            step("LRN", {x}, {{"alpha", p.alpha}, {"beta", p.beta}, {"bias", p.k}, {"size", std::int64_t{p.size}}});
            return;
        }
        // ONNX's window of an even size reaches further ahead, this one further back: sums by a convolution.
        const int c = in_shape().c, back = p.size / 2, ahead = (p.size - 1) / 2;
        std::vector<float> band(static_cast<std::size_t>(c) * static_cast<std::size_t>(c));
        for (int to = 0; to < c; ++to) {
            for (int from = std::max(0, to - back); from <= std::min(c - 1, to + ahead); ++from) {
                band[static_cast<std::size_t>(to) * static_cast<std::size_t>(c) + static_cast<std::size_t>(from)] =
                    p.alpha / static_cast<float>(p.size);
            }
        }
        const std::vector<float> k(static_cast<std::size_t>(c), p.k);
        const std::string base =
            step("Conv", {step("Mul", {x, x}), floats("window", {c, c, 1, 1}, band), floats("k", {c}, k)});
        step("Div", {x, step("Pow", {base, scalar("beta", p.beta)})});
    }
    void add(BatchNormParams const& p) {
        const Ints dims{in_shape().c};
        Names inputs = alike();
        for (const std::string_view suffix : {"weight", "bias", "running_mean", "running_var"}) {
            inputs.push_back(floats(suffix, dims, weights_.at(join(node().name, '.', suffix)).values));
        }
        step("BatchNormalization", std::move(inputs), {{"epsilon", p.epsilon}});
    }
    /// Batch normalisation of mean 0 and variance 1, which others know how to fold.
    void add(ScaleParams const& p) {
        const Ints dims{in_shape().c};
        const std::vector<float> zeros(static_cast<std::size_t>(in_shape().c), 0.0F), ones(zeros.size(), 1.0F);
        Names inputs = alike();
        const auto number = [&](std::string_view suffix, float value) {
            inputs.push_back(floats(suffix, dims, std::vector<float>(zeros.size(), value)));
        };
        if (p.known) {
            number("weight", p.factor), number("bias", p.shift);
        } else {
            for (const std::string_view suffix : {"weight", "bias"}) {
                inputs.push_back(floats(suffix, dims, weights_.at(join(node().name, '.', suffix)).values));
            }
        }
        inputs.push_back(floats("mean", dims, zeros));
        inputs.push_back(floats("var", dims, ones));
        step("BatchNormalization", std::move(inputs), {{"epsilon", 0.0F}});
    }
    void add(SoftmaxParams const& p) { step("Softmax", {p.axis == Axis::c ? alike()[0] : image()}, {axis_of(p.axis)}); }

    void add(AddParams const&) {
        Names inputs = alike();
        const std::string_view op = inputs.size() == 2 ? "Add" : "Sum";
        clamp(step(op, std::move(inputs)));
    }
    void add(ConcatParams const& p) {
        Names inputs;
        if (p.axis == Axis::c) {
            inputs = alike();
        } else {
            for (std::size_t i = 0; i < node().inputs.size(); ++i) inputs.push_back(image(i));
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (values_[at_].varies && !in(i).varies) inputs[i] = for_each_image(inputs[i], values_[at_].flat);
        }
        step("Concat", std::move(inputs), {axis_of(p.axis)});
    }
    void add(BinaryParams const& p) {
        Names inputs = alike();
        if (p.kind == BinaryKind::modulo) {
            const std::string times = step("Floor", {step("Div", inputs)});
            step("Sub", {inputs[0], step("Mul", {inputs[1], times})});
            return;
        }
        if (p.kind == BinaryKind::keep) {
            const std::string is_kept = step("Cast", {inputs[0]}, {whole("to", cast_to(DataType::boolean))});
            step("Where", {is_kept, inputs[1], scalar("zero", 0.0F)});
            return;
        }
        if (p.kind != BinaryKind::prelu) {
            constexpr std::string_view ops[] = {"Add", "Sub", "Mul", "Div",   "",        "Pow",           "Min",
                                                "Max", "",    "Mod", "Equal", "Greater", "GreaterOrEqual"};
            Attributes attributes;
            if (p.kind == BinaryKind::remainder) attributes.push_back(whole("fmod", 1));
            const std::string result =
                step(ops[static_cast<std::size_t>(p.kind)], std::move(inputs), std::move(attributes));
            if (p.kind >= BinaryKind::equal) step("Cast", {result}, {whole("to", cast_to(DataType::float32))});
            return;
        }
        // Only the slopes are stretched by ONNX.
        const Shape out = node().shape;
        if (in_shape(0) != out) {
            const Ints dims = values_[at_].flat ? Ints{1, out.c} : Ints{1, out.c, out.h, out.w};
            inputs[0] = step("Expand", {inputs[0], ints("stretched", dims)});
        }
        if (in(1).varies && !in(0).varies) inputs[0] = for_each_image(inputs[0], values_[at_].flat);
        step("PRelu", std::move(inputs));
    }
    void add(MatMulParams const&) { step("MatMul", {image(0), image(1)}); }
    void add(ReduceParams const& p) {
        const std::int64_t axis = 1 + static_cast<std::int64_t>(p.axis);
        if (p.kind == ReduceKind::arg_max) {
            const std::string position = step("ArgMax", {image()}, {axis_of(p.axis), whole("keepdims", 1)});
            step("Cast", {position}, {whole("to", cast_to(DataType::float32))});
            return;
        }
        const std::string_view op = p.kind == ReduceKind::mean  ? "ReduceMean"
                                    : p.kind == ReduceKind::sum ? "ReduceSum"
                                                                : "ReduceMax";
        // The axes became an input: ReduceSum's first.
        if (options_.opset >= 18 || p.kind == ReduceKind::sum) {
            step(op, {image(), ints("axes", {axis})}, {whole("keepdims", 1)});
        } else {
            step(op, {image()}, {{"axes", Ints{axis}}, whole("keepdims", 1)});
        }
    }

    void add(TopKParams const& p) {
        const std::string k = ints("k", {p.k});
        const std::string values =
            step("TopK", {image(), k}, {axis_of(Axis::w), whole("largest", p.largest), whole("sorted", 1)});
        if (!p.positions) return;
        const std::string positions = model_.unique(join(node().name, "/positions"));
        steps_.back().outputs = {values, positions};
        step("Cast", {positions}, {whole("to", cast_to(DataType::float32))});
    }

    void add(NonMaxSuppressionParams const&) { refuse("its rows are padded, which ONNX does not do"); }
    void add(GatherParams const&) { refuse("it gives zeros for what is outside, which ONNX does not do"); }

    void add(FlattenParams const&) {
        step("Flatten", {read()}, {whole("axis", 1)});
        values_[at_].flat = true;
    }
    void add(DropoutParams const&) { step("Dropout", alike()); }
    void add(ReshapeParams const& p) { reshape(read(), p.shape); }
    void add(PadParams const& p) {
        Names inputs{image(), ints("pads", {0, p.front, p.padding.top, p.padding.left,  //
                                            0, p.back, p.padding.bottom, p.padding.right})};
        if (p.mode == PadMode::constant) inputs.push_back(scalar("value", p.value));
        constexpr std::string_view modes[] = {"constant", "reflect", "edge"};
        step("Pad", std::move(inputs), {{"mode", modes[static_cast<std::size_t>(p.mode)]}});
    }
    void add(ChannelShuffleParams const& p) {
        const Shape shape = node().shape;
        const std::string grouped = reshape(read(), Ints{p.groups, shape.c / p.groups, shape.h, shape.w});
        reshape(step("Transpose", {grouped}, {{"perm", Ints{0, 2, 1, 3, 4}}}), shape);
    }
    void add(SliceParams const& p) {
        const std::string x = p.axis == Axis::c ? alike()[0] : image();
        step("Slice", {x, ints("first", {p.first}), ints("last", {p.last}),
                       ints("axes", {1 + static_cast<std::int64_t>(p.axis)})});
    }
    void add(AsStridedParams const& p) {
        const auto box = strided_box(p, static_cast<std::int64_t>(in_shape().size()));
        std::string x = reshape(read(), box ? box->view : Ints{static_cast<std::int64_t>(in_shape().size())});
        if (!box) {
            x = step("Gather", {x, ints("indices", strided_indices(p))}, {whole("axis", 1)});
        } else {
            if (!box->slices.empty()) {
                Ints starts, ends, axes, steps;
                for (auto const& slice : box->slices) {
                    starts.push_back(slice.start), ends.push_back(slice.end);
                    axes.push_back(slice.axis + 1), steps.push_back(slice.step);
                }
                x = step("Slice",
                         {x, ints("starts", starts), ints("ends", ends), ints("axes", axes), ints("steps", steps)});
            }
            if (!std::ranges::is_sorted(box->order)) {
                Ints perm{0};
                for (const std::int64_t axis : box->order) perm.push_back(axis + 1);
                x = step("Transpose", {x}, {{"perm", perm}});
            }
            if (!box->repeats.empty()) {
                x = reshape(x, box->single);
                Ints dims = box->repeats;
                dims.insert(dims.begin(), 1);
                x = step("Expand", {x, ints("repeats", dims)});
            }
        }
        reshape(x, p.shape);
    }

    void add(ResizeParams const& p) {
        constexpr std::string_view modes[] = {"nearest", "linear"};
        constexpr std::string_view coordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"};
        constexpr std::string_view roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
        Attributes attributes{{"mode", modes[static_cast<std::size_t>(p.mode)]},
                              {"coordinate_transformation_mode", coordinates[static_cast<std::size_t>(p.coordinates)]},
                              {"nearest_mode", roundings[static_cast<std::size_t>(p.rounding)]}};
        const std::string x = image();
        const Shape from = in_shape();
        if (p.scale_h > 0.0F || p.scale_w > 0.0F) {
            const float factors[] = {1.0F, 1.0F, factor(p.scale_h, from.h, p.size.h),
                                     factor(p.scale_w, from.w, p.size.w)};
            step("Resize", {x, "", floats("scales", {4}, factors)}, std::move(attributes));
        } else if (options_.opset >= 18) {
            attributes.push_back({"axes", Ints{2, 3}});
            step("Resize", {x, "", "", ints("sizes", {p.size.h, p.size.w})}, std::move(attributes));
        } else if (batch_ != open_dimension || !in().varies) {
            const std::int64_t images = in().varies ? batch_ : 1;
            step("Resize", {x, "", "", ints("sizes", {images, from.c, p.size.h, p.size.w})}, std::move(attributes));
        } else {
            const std::string kept = step("Slice", {step("Shape", {x}), ints("first", {0}), ints("last", {2})});
            const std::string sizes =
                step("Concat", {kept, ints("sizes", {p.size.h, p.size.w})}, {{"axis", std::int64_t{0}}});
            step("Resize", {x, "", "", sizes}, std::move(attributes));
        }
    }
    /// Result size / input size, as a number whose inverse is the scale and that leads to the size, whether whoever
    /// reads it multiplies floats or, as the standard's shape inference, doubles.
    [[nodiscard]] float factor(float scale, int in, int out) const {
        const float quotient = scale > 0.0F ? 1.0F / scale : static_cast<float>(out) / static_cast<float>(in);
        std::optional<float> fits;
        for (const float f : {quotient, std::nextafter(quotient, 0.0F), std::nextafter(quotient, HUGE_VALF)}) {
            if (static_cast<int>(static_cast<float>(in) * f) != out) continue;
            if (static_cast<int>(static_cast<double>(in) * static_cast<double>(f)) != out) continue;
            if (scale == 0.0F || 1.0F / f == scale) return f;
            if (!fits) fits = f;
        }
        if (!fits) refuse("its scale does not lead from ", in, " to ", out);
        return *fits;
    }

    void add_outputs() {
        std::vector<std::size_t> written;
        for (const std::size_t position : graph_.outputs()) {
            at_ = position;
            Value const& value = values_[position];
            const Shape shape = node().shape;
            const bool indices = std::holds_alternative<MaxPoolIndicesParams>(node().layer);
            std::string name = value.name;
            if (!value.varies) name = for_each_image(name, value.flat);
            const bool own = !std::holds_alternative<InputParams>(node().layer) &&
                             !std::holds_alternative<ConstantParams>(node().layer) &&
                             std::ranges::find(written, position) == written.end();
            if (name == value.name && !own) name = step("Identity", {name});
            if (!steps_.empty()) {
                name = steps_.back().outputs[0] = model_.unique(value.name + "_output");
                for (Step const& step : steps_) {
                    model_.node(step.outputs[0], step.op, step.inputs, step.outputs, step.attributes);
                }
                steps_.clear();
            }
            written.push_back(position);
            model_.value(GraphField::output, name, indices ? DataType::int64 : DataType::float32,
                         value.flat ? Ints{batch_, shape.c} : Ints{batch_, shape.c, shape.h, shape.w});
        }
    }

    Graph const& graph_;
    Weights const& weights_;
    OnnxExportOptions const& options_;
    ModelWriter model_;
    std::int64_t batch_;
    std::size_t at_ = 0;
    std::vector<Value> values_;
    std::vector<Step> steps_;
};

}  // namespace onnx

}  // namespace primsel::inline PRIMSEL_ABI
