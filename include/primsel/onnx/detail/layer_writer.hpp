// Writes the nodes of a layer: its inputs as ONNX has them, its nodes, its names.
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weight_specs.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/onnx/detail/range_alone.hpp>
#include <primsel/onnx/detail/signature.hpp>
#include <primsel/onnx/detail/writer.hpp>
#include <primsel/onnx/own_operator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

struct OnnxExportOptions {
    /// The opset of ONNX's operators: 13 to 21.
    int opset = 17;
    /// The file runs any number of images at once; else the graph's batch.
    bool open_batch = true;
    /// Further sizes that the signature calls open stay open in the file. That is right only where the graph of the
    /// network for other sizes gives the same file.
    bool open_sizes = false;
    std::string producer = "primsel";
    /// The names, types and dimensions that the file shall have outside, as an OnnxModel has them; if it is empty,
    /// those of the graph. The batch is open then where both say so.
    OnnxSignature signature{};
    /// As which operators layers of the user's own are written: the first that has attributes for the layer.
    std::vector<OnnxOwnOperator> own_operators{};
    /// Tensors with a range, and the weights of convolutions and dense layers that read them, are written as integers:
    /// those by pairs of QuantizeLinear and DequantizeLinear in uint8, weights in int8 with a scale for each output,
    /// biases in int32. The graph is simplified before; results stay floats.
    bool quantised = false;
    /// Layers of the simplified graph whose weights stay floats all the same. A tensor that only they read and write
    /// does, too.
    std::vector<std::string> float_layers{};
};

namespace onnx {

using Ints = std::vector<std::int64_t>;
using Names = std::vector<std::string>;
using Attributes = std::vector<NewAttribute>;

[[nodiscard]] inline NewAttribute pair(std::string_view name, Extent extent) {
    return {name, Ints{extent.h, extent.w}};
}
[[nodiscard]] inline NewAttribute pads(Padding p) { return {"pads", Ints{p.top, p.left, p.bottom, p.right}}; }
[[nodiscard]] inline NewAttribute whole(std::string_view name, std::int64_t value) { return {name, value}; }
[[nodiscard]] inline std::int64_t cast_to(DataType type) { return static_cast<std::int64_t>(type); }
[[nodiscard]] inline NewAttribute axis_of(Axis axis) { return {"axis", 1 + static_cast<std::int64_t>(axis)}; }

/// Writes the layers of a graph, one after another. Images are batch x c x h x w; what comes out of a dense layer or a
/// flatten, and of elementwise layers after those, is batch x c. Every layer's result has the layer's name.
class LayerWriter {
public:
    /// The tensor that a layer gives.
    struct Value {
        std::string name;
        /// batch x c, not batch x c x h x w.
        bool flat = false;
        /// Whether there is one for each image; if not, one for all.
        bool varies = false;
        bool written = false;
        /// Whether its elements are int64, not float.
        bool integers = false;
        /// Whether no node gives it, but those of its reader compute it.
        bool is_part = false;
        /// The name of the same as batch x c x h x w, where that was needed.
        std::string unflattened = {};
        /// The name of the same as floats, of integers.
        std::string floats = {};
        /// The name of what its bytes stand for, where the file has these.
        std::string rounded = {};
    };

    /// original: the graph before it was simplified. Throws error when the weights are too large for a model.
    LayerWriter(Graph const& graph, Graph const& original, Weights const& weights, OnnxExportOptions const& options)
        : graph_(graph),
          original_(original),
          weights_(weights),
          options_(options),
          signature_(options.signature),
          model_(options.opset, options.producer, PRIMSEL_VERSION, bytes_of(weights)) {
        check_signature();
        batch_ = options.open_batch && !graph.inputs().empty() && may_open_batch() ? open_dimension : graph.batch();
        // All results first: no initializer may take a layer's name, and no layer one of the file's.
        for (auto const* infos : {&signature_.inputs, &signature_.outputs, &signature_.unread}) {
            for (OnnxValueInfo const& info : *infos) (void)model_.unique(info.name);
        }
        for (OnnxValueInfo const& info : signature_.unread) declare(GraphField::input, info);
        for (Node const& node : graph_.nodes()) values_.push_back({.name = model_.unique(node.name)});
    }

    /// Begins a layer, the first or the one after the last.
    void begin(std::size_t position) {
        at_ = position;
        for (const std::size_t input : node().inputs) value().varies |= values_[input].varies;
    }
    /// Writes the layer's steps. The last takes the layer's name.
    void end() {
        if (!steps_.empty() && !value().written) {
            if (const OnnxValueInfo* info = own_result()) {
                value().name = info->name;
                steps_.back().name = node().name;
            }
            steps_.back().outputs[0] = value().name;
        }
        flush();
        value().written = true;
        if (value().is_part || !has_bytes()) return;
        value().rounded = in_bytes(value().name, node().range);
        flush();
    }
    /// The model's bytes, with the graph's outputs. Nothing can be written after.
    [[nodiscard]] std::string finish() {
        add_outputs();
        return model_.finish(signature_.metadata);
    }

    [[nodiscard]] Graph const& graph() const { return graph_; }
    [[nodiscard]] Weights const& weights() const { return weights_; }
    [[nodiscard]] std::vector<OnnxOwnOperator> const& own_operators() const { return options_.own_operators; }
    [[nodiscard]] int opset() const { return options_.opset; }
    /// open_dimension where it is open.
    [[nodiscard]] std::int64_t batch() const { return batch_; }

    [[nodiscard]] std::size_t position() const { return at_; }
    [[nodiscard]] Node const& node() const { return graph_[at_]; }
    [[nodiscard]] Shape in_shape(std::size_t i = 0) const { return graph_[node().inputs[i]].shape; }
    [[nodiscard]] Value& in(std::size_t i = 0) { return values_[node().inputs[i]]; }
    [[nodiscard]] Value& value() { return values_[at_]; }
    [[nodiscard]] Value& value(std::size_t position) { return values_[position]; }

    template <class... Parts>
    [[noreturn]] void refuse(Parts const&... parts) const {
        fail("ONNX export: layer ", node().name, " (", layer_kind(node().layer), "): ", parts...);
    }

    /// An input of the model.
    void input(Shape shape) {
        value().varies = true;
        if (!has_signature()) {
            model_.value(GraphField::input, value().name, DataType::float32, dims_of(value(), shape));
            return;
        }
        OnnxValueInfo const& info = *info_of(graph_.inputs(), signature_.inputs);
        declare(GraphField::input, info);
        value().flat = shape.pixels() == 1 && info.dims.size() == 2;
        std::string name = cast(info.name, info.type, DataType::float32);
        name = reshape_to(name, written_dims(info), dims_of(value(), shape));
        if (steps_.empty()) value().name = name;
    }
    /// A result that the file has.
    void constant(Shape shape, std::span<const float> values) {
        const Ints dims{1, shape.c, shape.h, shape.w};
        const auto shared = graph_.shared().find(constant_weight(node()));
        if (shared != graph_.shared().end() && !shared->second.transposed) {
            const auto [name, is_new] = shared_.try_emplace({shared->second.group, dims}, value().name);
            if (!is_new) {
                value().name = name->second;
                return;
            }
        }
        model_.initializer(value().name, dims, values);
    }

    /// A node; gives the name of its result.
    std::string step(std::string_view op, Names inputs, Attributes attributes = {}, std::string_view domain = {}) {
        steps_.push_back({op, std::move(inputs), {unique(join('/', op))}, std::move(attributes), {}, domain, {}});
        return steps_.back().outputs[0];
    }
    /// The names of all that the last step gives.
    [[nodiscard]] Names& last_outputs() { return steps_.back().outputs; }
    /// A name that begins with the layer's.
    [[nodiscard]] std::string unique(std::string_view suffix) { return model_.unique(join(node().name, suffix)); }

    /// A weight of the layer; gives its name. One that layers share is written once, but where another layer is folded
    /// into one of them or taps are left out.
    std::string weight(std::string_view suffix, Ints const& dims, std::span<const float> values) {
        const SharedWeight* shared = shared_weight(suffix);
        if (shared == nullptr) return floats(suffix, dims, values);
        const auto [name, is_new] = shared_.try_emplace({shared->group, dims}, std::string());
        if (is_new) name->second = floats(suffix, dims, values);
        return name->second;
    }
    /// The same for what `write` writes of a weight in integers; gives the name of what these stand for.
    template <class F>
    std::string weight_in_integers(std::string_view suffix, Ints const& dims, F const& write) {
        const SharedWeight* shared = shared_weight(suffix);
        if (shared == nullptr || shared->transposed) return write();
        const auto [name, is_new] = shared_.try_emplace({join(shared->group, " in integers"), dims}, std::string());
        if (is_new) name->second = write();
        return name->second;
    }
    /// The same for a matrix; gives whether the file has it transposed, as others of the group have it.
    std::pair<std::string, bool> matrix(std::string_view suffix, Ints const& dims, std::span<const float> values) {
        const SharedWeight* shared = shared_weight(suffix);
        if (shared == nullptr || !shared->transposed) return {weight(suffix, dims, values), false};
        std::vector<float> rotated(values.size());
        primsel::network::transpose_into(values.data(), static_cast<std::size_t>(dims[0]),
                                         static_cast<std::size_t>(dims[1]), rotated.data());
        return {weight(suffix, {dims[1], dims[0]}, rotated), true};
    }
    /// Constants of the file; gives their names.
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
    template <class T>
    std::string numbers(std::string_view suffix, DataType type, Ints const& dims, std::span<const T> values) {
        std::string name = model_.unique(join(node().name, '.', suffix));
        model_.initializer(name, type, dims, std::as_bytes(values));
        return name;
    }
    std::string scalar(std::string_view suffix, float value) { return floats(suffix, {}, std::span(&value, 1)); }

    /// An input as batch x c x h x w.
    std::string image(std::size_t i = 0) { return image_of(node().inputs[i]); }
    /// The same of any layer before.
    std::string image_of(std::size_t position) {
        Value& value = values_[position];
        if (!value.flat) return read_of(position);
        if (value.unflattened.empty()) value.unflattened = reshape(read_of(position), graph_[position].shape);
        return value.unflattened;
    }
    /// An input as it is, in floats.
    std::string read(std::size_t i = 0) { return read_of(node().inputs[i]); }
    std::string read_of(std::size_t position) {
        Value& value = values_[position];
        if (!value.rounded.empty()) return value.rounded;
        if (!value.integers) return value.name;
        if (value.floats.empty()) value.floats = cast(value.name, DataType::int64, DataType::float32);
        return value.floats;
    }
    /// All inputs alike: flat if all are, else images.
    Names alike() {
        bool& flat = value().flat;
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
        if (is_finite(clamp.low)) inputs[1] = scalar("min", clamp.low);
        if (is_finite(clamp.high)) inputs.push_back(scalar("max", clamp.high));
        if (inputs.back().empty()) inputs.pop_back();
        return step("Clip", std::move(inputs));
    }
    /// As the layer's epilogue has it.
    void clamp(std::string const& input) { clamp(input, node().epilogue.clamp); }
    /// Whether the layer multiplies integers: the bytes of its first input by its weights.
    [[nodiscard]] bool multiplies_integers() const {
        return is_narrow(at_) && !values_[node().inputs[0]].rounded.empty();
    }
    /// The range of a convolution's result before something is added to it.
    [[nodiscard]] TensorRange range_before_sum() const {
        std::vector<Folded> const& folded = node().epilogue.folded;
        const auto before =
            std::ranges::find(original_.nodes(), folded.empty() ? node().name : folded.back().name, &Node::name);
        return before == original_.nodes().end() ? TensorRange{} : before->range;
    }
    [[nodiscard]] TensorRange in_range() const { return graph_[node().inputs[0]].range; }
    /// The tensor as its bytes have it.
    std::string in_bytes(std::string const& tensor, TensorRange const& range) {
        const std::string scale = model_.unique(join(tensor, "_scale")),
                          zero_point = model_.unique(join(tensor, "_zero_point"));
        const auto zero = static_cast<std::uint8_t>(range.zero_point);
        model_.initializer(scale, Ints{}, std::span(&range.scale, 1));
        model_.initializer(zero_point, DataType::uint8, Ints{}, std::as_bytes(std::span(&zero, 1)));
        const std::string bytes = step("QuantizeLinear", {tensor, scale, zero_point});
        steps_.back().doc = range_alone(tensor);
        return step("DequantizeLinear", {bytes, scale, zero_point});
    }

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

private:
    struct Step {
        std::string_view op;
        Names inputs, outputs;
        Attributes attributes;
        /// Empty: that of its first result.
        std::string name;
        std::string_view domain = {};
        std::string doc = {};
    };

    /// Whether the layer may be less precise than floats.
    [[nodiscard]] bool is_narrow(std::size_t position) const {
        return options_.quantised &&
               std::ranges::find(options_.float_layers, graph_[position].name) == options_.float_layers.end();
    }
    /// Whether the layer's result is read as bytes. Those that only floats meet need none.
    [[nodiscard]] bool has_bytes() const {
        if (!options_.quantised || !node().range.known() || values_[at_].integers) return false;
        bool is_read = false, any_narrow = !node().inputs.empty() && is_narrow(at_);
        for (std::size_t i = at_ + 1; i < graph_.size(); ++i) {
            if (std::ranges::find(graph_[i].inputs, at_) == graph_[i].inputs.end()) continue;
            is_read = true, any_narrow = any_narrow || is_narrow(i);
        }
        return is_read && any_narrow;
    }

    /// How the layer shares the weight; null where it has it alone.
    [[nodiscard]] const SharedWeight* shared_weight(std::string_view suffix) const {
        const auto shared = graph_.shared().find(join(node().name, '.', suffix));
        const Epilogue& own = node().epilogue;
        const bool differs = !own.folded.empty() || own.kernel != KernelPart{};
        return shared == graph_.shared().end() || differs ? nullptr : &shared->second;
    }
    /// About the model's size. Throws error when that is too large, before anything is copied.
    static std::size_t bytes_of(Weights const& weights) {
        std::size_t bytes = 0;
        std::set<StoredFloats::Place> known;  // shared weights are written once
        for (auto const& [name, tensor] : weights) {
            if (known.insert(tensor.values.place()).second) bytes += tensor.values.size_bytes();
        }
        if (bytes > largest_model) {
            fail("ONNX export: the weights take ", bytes, " bytes; a model may have ", largest_model);
        }
        return bytes + 4096 * (weights.size() + 1);
    }
    void flush() {
        for (Step const& step : steps_) {
            model_.node(step.name.empty() ? step.outputs[0] : step.name, step.op, step.inputs, step.outputs,
                        step.attributes, step.domain, step.doc);
        }
        steps_.clear();
    }

    // --- the signature

    [[nodiscard]] bool has_signature() const { return !signature_.inputs.empty() || !signature_.outputs.empty(); }
    void check_signature() const {
        if (!has_signature()) return;
        const auto check = [&](auto const& infos, std::vector<std::size_t> const& nodes, std::string_view what) {
            if (infos.size() != nodes.size()) {
                fail("ONNX export: the signature has ", infos.size(), ' ', what, ", the graph ", nodes.size());
            }
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                const std::size_t count = count_of(infos[i].dims),
                                  own = graph_[nodes[i]].shape.size() * static_cast<std::size_t>(graph_.batch());
                if (count != own && count != 0) {
                    fail("ONNX export: layer ", graph_[nodes[i]].name, " has ", graph_.batch(), " x ",
                         graph_[nodes[i]].shape, ", which is not ", to_string(infos[i].dims), " of ", infos[i].name);
                }
            }
        };
        check(signature_.inputs, graph_.inputs(), "inputs");
        check(signature_.outputs, graph_.outputs(), "outputs");
    }
    [[nodiscard]] bool may_open_batch() const {
        const auto is_open = [&](OnnxValueInfo const& info) {
            return info.open_batch && !info.dims.empty() && info.dims[0] == graph_.batch();
        };
        // The numbers of a scatter are those of one image.
        const auto mixes = [](Node const& node) { return std::holds_alternative<ScatterParams>(node.layer); };
        return std::ranges::none_of(graph_.nodes(), mixes) && std::ranges::all_of(signature_.inputs, is_open) &&
               std::ranges::all_of(signature_.outputs, is_open);
    }
    [[nodiscard]] Ints written_dims(OnnxValueInfo const& info) const {
        Ints dims = info.dims;
        if (batch_ == open_dimension && info.open_batch) dims[0] = open_dimension;
        return dims;
    }
    void declare(GraphField input_or_output, OnnxValueInfo const& info) {
        Ints dims = written_dims(info);
        Names names(dims.size());
        if (!names.empty()) names[0] = info.open_batch.value_or("");
        for (auto const& [axis, name] : info.open_sizes) {
            names.at(axis) = name;
            if (options_.open_sizes) dims[axis] = open_dimension;
        }
        model_.value(input_or_output, info.name, info.type, dims, names);
    }
    /// The dimensions of the tensor that a layer gives.
    [[nodiscard]] Ints dims_of(Value const& value, Shape shape) const {
        return value.flat ? Ints{batch_, shape.c} : Ints{batch_, shape.c, shape.h, shape.w};
    }
    /// Null for a layer that is none of the nodes, and without a signature.
    [[nodiscard]] const OnnxValueInfo* info_of(std::vector<std::size_t> const& nodes,
                                               std::vector<OnnxValueInfo> const& infos) const {
        for (std::size_t i = 0; i < infos.size(); ++i) {
            if (nodes[i] == at_) return &infos[i];
        }
        return nullptr;
    }
    /// The result of the file that the layer's last step can be, in no other dimensions and of no other type.
    [[nodiscard]] const OnnxValueInfo* own_result() const {
        Value const& value = values_[at_];
        const OnnxValueInfo* info = info_of(graph_.outputs(), signature_.outputs);
        if (info == nullptr || !value.varies || std::holds_alternative<InputParams>(node().layer)) return nullptr;
        const bool is_own = info->type == type_of(value) && written_dims(*info) == dims_of(value, node().shape);
        return is_own ? info : nullptr;
    }
    [[nodiscard]] static DataType type_of(Value const& value) {
        return value.integers ? DataType::int64 : DataType::float32;
    }
    std::string cast(std::string const& input, DataType from, DataType to) {
        return from == to ? input : step("Cast", {input}, {{"to", cast_to(to)}});
    }
    std::string reshape_to(std::string const& input, Ints const& from, Ints to) {
        if (from == to) return input;
        if (!to.empty() && to[0] == open_dimension) to[0] = 0;  // as many as the input has
        return step("Reshape", {input, ints("shape", to)});
    }
    /// The same value under the name, the dimensions and the type that the file had.
    void add_output(OnnxValueInfo const& info) {
        Value const& value = values_[at_];
        std::string name = value.name;
        const OnnxValueInfo* input = info_of(graph_.inputs(), signature_.inputs);
        if (input != nullptr && input->name == info.name) {
            name = info.name;
        } else if (count_of(info.dims) == 0) {
            name = model_.unique(info.name + ".nothing");
            model_.empty_initializer(name, info.type, info.dims);
        } else {
            if (!value.varies) name = for_each_image(name, value.flat);
            name = reshape_to(name, dims_of(value, node().shape), written_dims(info));
            name = cast(name, type_of(value), info.type);
        }
        if (name != info.name) {
            if (steps_.empty()) (void)step("Identity", {name});
            steps_.back().outputs[0] = info.name;
            flush();
        }
        declare(GraphField::output, info);
    }

    void add_outputs() {
        std::vector<std::size_t> written;
        for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
            const std::size_t position = at_ = graph_.outputs()[i];
            if (has_signature()) {
                add_output(signature_.outputs[i]);
                continue;
            }
            Value const& value = values_[position];
            std::string name = value.name;
            if (!value.varies) name = for_each_image(name, value.flat);
            const bool own = !std::holds_alternative<InputParams>(node().layer) &&
                             !std::holds_alternative<ConstantParams>(node().layer) &&
                             std::ranges::find(written, position) == written.end();
            if (name == value.name && !own) name = step("Identity", {name});
            if (!steps_.empty()) {
                name = steps_.back().outputs[0] = model_.unique(value.name + "_output");
                flush();
            }
            written.push_back(position);
            model_.value(GraphField::output, name, type_of(value), dims_of(value, node().shape));
        }
    }

    Graph const &graph_, &original_;
    Weights const& weights_;
    OnnxExportOptions const& options_;
    OnnxSignature const& signature_;
    ModelWriter model_;
    std::int64_t batch_;
    std::size_t at_ = 0;
    std::vector<Value> values_;
    std::vector<Step> steps_;
    std::map<std::pair<std::string, Ints>, std::string> shared_;  // names of weights, by group and extents
};

}  // namespace onnx

}  // namespace primsel::inline PRIMSEL_ABI
