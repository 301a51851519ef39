// A node of the model as the functions that translate operators see it.
#pragma once

#include <primsel/onnx/detail/builder.hpp>
#include <primsel/onnx/detail/model.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

struct Value;

/// How a tensor of integers, or one made from them, follows from real numbers: the tensor's layer computes those.
struct Quantised {
    enum class Role {
        integers,            ///< q, of scale * (q - zero_point)
        dynamic_integers,    ///< the same, where DynamicQuantizeLinear finds scale and zero point in `source`
        dynamic_scale,       ///< that scale, times `factor`; there are no real numbers
        dynamic_zero_point,  ///< that zero point; there are no real numbers
        dynamic_sum,         ///< sums of products of those integers: real numbers over that scale
    };
    Role role = Role::integers;
    float scale = 1.0F;
    std::int64_t zero_point = 0;
    /// The tensor that is quantised: the layer, and the extents of an image of it.
    std::size_t source = 0;
    Sizes source_dims{};
    std::optional<OnnxTensor> factor{};
    /// Appends the layer of the tensor itself.
    std::size_t (*emit)(Value const&, Builder&) = nullptr;
    /// That layer, once something reads it.
    std::optional<std::size_t> node{};
};

/// A tensor of the model: known when it is loaded, or computed at run time.
struct Value {
    std::string_view name;
    /// With the axis of the images.
    Sizes dims;
    OnnxType type = OnnxType::undefined;
    /// An initializer, or what folding made.
    std::optional<OnnxTensor> known{};
    /// An input of the graph that the caller knows: a constant only for those who need one.
    const OnnxTensor* given = nullptr;
    bool is_input = false;
    /// Its layer, once there is one.
    std::optional<std::size_t> node{};
    /// Set if the layer computes not this tensor but the real numbers behind it.
    std::optional<Quantised> quantised{};
    /// Set while a transpose waits (transposed.hpp): axis i is axis order[i] of what the layer computes.
    std::vector<std::size_t> order{};
    /// The name of that transpose.
    std::string transpose{};

    [[nodiscard]] bool plays(Quantised::Role role) const { return quantised && quantised->role == role; }
};

/// Where the elements of tensors are read from: the bytes of the model, and the files beside it.
struct Files {
    std::shared_ptr<const void> owner;
    ExternalData external;

    [[nodiscard]] OnnxTensor read(std::string_view tensor) {
        return read_tensor(read_tensor_proto(tensor), owner, external);
    }
    /// All elements of a sparse tensor.
    [[nodiscard]] OnnxTensor read_sparse(std::string_view tensor, Constants& constants) {
        OnnxTensor values, indices;
        Sizes dims;
        for (Message<SparseTensorField> message(tensor); message.next();) {
            if (message.field() == SparseTensorField::values)
                values = read(message.bytes());
            else if (message.field() == SparseTensorField::indices)
                indices = read(message.bytes());
            else if (message.field() == SparseTensorField::dims)
                message.append_integers(dims);
            else
                message.skip();
        }
        if (dims.size() > 64) fail("a sparse tensor of ", dims.size(), " dimensions");
        return with_zeros(values, indices, std::move(dims), constants);
    }
};

class Call {
public:
    /// inputs: null where the node leaves one out; outputs: null where nobody needs it.
    Call(Builder& builder, Files& model_files, NodeProto const& node, std::int64_t opset, std::vector<Value*> inputs,
         std::vector<Value*> outputs)
        : build(builder),
          files(model_files),
          node_(node),
          opset_(opset),
          inputs_(std::move(inputs)),
          outputs_(std::move(outputs)) {}

    Builder& build;
    Files& files;

    [[nodiscard]] std::string_view op() const { return node_.op; }
    [[nodiscard]] NodeProto const& node() const { return node_; }
    [[nodiscard]] std::int64_t opset() const { return opset_; }
    [[nodiscard]] std::string_view doc() const { return node_.doc; }
    /// The name that the node has for an input.
    [[nodiscard]] std::string_view input_name(std::size_t i) const { return node_.inputs[i]; }

    // --- inputs

    [[nodiscard]] std::size_t input_count() const { return inputs_.size(); }
    [[nodiscard]] bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
    [[nodiscard]] Value& input(std::size_t i) const {
        if (!has(i)) fail("input ", i, " is missing");
        return *inputs_[i];
    }
    [[nodiscard]] Sizes const& dims(std::size_t i) const { return input(i).dims; }
    [[nodiscard]] std::size_t rank(std::size_t i) const { return dims(i).size(); }
    /// Null when the input is computed at run time.
    [[nodiscard]] const OnnxTensor* known(std::size_t i) const {
        Value const& value = input(i);
        return value.known ? &*value.known : nullptr;
    }
    [[nodiscard]] bool all_known() const {
        for (const Value* value : inputs_) {
            if (value != nullptr && !value->known) return false;
        }
        return true;
    }
    /// An input that must be known when the model is loaded. Throws error, naming it.
    [[nodiscard]] OnnxTensor const& constant(std::size_t i, std::string_view role) const {
        Value const& value = input(i);
        if (value.known) return *value.known;
        if (value.given != nullptr) return *value.given;
        fail("its ", role, " (input ", value.name,
             ") must be known when the model is loaded: a constant, or given in OnnxOptions::values");
    }
    [[nodiscard]] OnnxTensor const& floats(std::size_t i, std::string_view role) const {
        OnnxTensor const& tensor = constant(i, role);
        if (!tensor.is_float()) fail("its ", role, " is of ", to_string(tensor.type));
        return tensor;
    }
    /// The integers of a list, or of a scalar.
    [[nodiscard]] Sizes integers(std::size_t i, std::string_view role) const {
        OnnxTensor const& tensor = constant(i, role);
        if (tensor.is_float()) fail("its ", role, " is of ", to_string(tensor.type));
        if (tensor.dims.size() > 1) fail("its ", role, " has ", tensor.dims.size(), " dimensions");
        if (tensor.size() > 64) fail("its ", role, " has ", tensor.size(), " elements");
        return {tensor.integers.begin(), tensor.integers.end()};
    }
    [[nodiscard]] float scalar(std::size_t i, std::string_view role) const {
        OnnxTensor const& tensor = constant(i, role);
        if (tensor.size() != 1) fail("its ", role, " has ", tensor.size(), " elements");
        return tensor.is_float() ? tensor.floats[0] : static_cast<float>(tensor.integers[0]);
    }

    /// An input as one image of it. Throws MixesImages.
    [[nodiscard]] Operand operand(std::size_t i) const { return operand_of(input(i)); }
    [[nodiscard]] Operand operand_of(Value& value) const {
        if (value.known) {
            OnnxTensor constant = build.image_of(*value.known);
            (void)elements(constant.dims);
            return {constant.dims, std::nullopt, std::move(constant)};
        }
        const std::size_t node = node_of(value);
        return {build.image_dims(value.dims), node, {}};
    }
    /// The same for an elementwise operation whose result has the given rank.
    [[nodiscard]] Operand broadcast_operand(std::size_t i, std::size_t rank) const {
        Value& value = input(i);
        if (value.known) {
            OnnxTensor constant = build.broadcast_image_of(*value.known, rank);
            (void)elements(constant.dims);
            return {constant.dims, std::nullopt, std::move(constant)};
        }
        // The axis of the images would meet another.
        if (!build.is_whole() && value.dims.size() != rank) {
            throw MixesImages{"tensors of different rank are combined"};
        }
        return operand(i);
    }

    // --- attributes

    [[nodiscard]] const AttributeProto* attribute(std::string_view name, AttributeType type) const {
        for (AttributeProto const& attribute : node_.attributes) {
            if (attribute.name != name) continue;
            if (attribute.type != type) fail("its attribute ", name, " is of another type than the standard's");
            return &attribute;
        }
        return nullptr;
    }
    [[nodiscard]] bool has_attribute(std::string_view name) const {
        for (AttributeProto const& attribute : node_.attributes) {
            if (attribute.name == name) return true;
        }
        return false;
    }
    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
        const auto* found = attribute(name, AttributeType::i);
        return found == nullptr ? otherwise : found->i;
    }
    [[nodiscard]] float real(std::string_view name, float otherwise) const {
        const auto* found = attribute(name, AttributeType::f);
        return found == nullptr ? otherwise : found->f;
    }
    [[nodiscard]] std::string_view text(std::string_view name, std::string_view otherwise) const {
        const auto* found = attribute(name, AttributeType::s);
        return found == nullptr ? otherwise : found->s;
    }
    [[nodiscard]] Sizes integers(std::string_view name, Sizes otherwise) const {
        const auto* found = attribute(name, AttributeType::ints);
        return found == nullptr ? otherwise : found->ints;
    }

    [[nodiscard]] std::span<const std::string_view> texts(std::string_view name) const {
        const auto* found = attribute(name, AttributeType::strings);
        return found == nullptr ? std::span<const std::string_view>() : std::span(found->strings);
    }
    [[nodiscard]] std::span<const float> reals(std::string_view name) const {
        const auto* found = attribute(name, AttributeType::floats);
        return found == nullptr ? std::span<const float>() : std::span<const float>(found->floats);
    }

    // --- outputs

    [[nodiscard]] std::size_t output_count() const { return outputs_.size(); }
    [[nodiscard]] bool wants(std::size_t i) const { return i < outputs_.size() && outputs_[i] != nullptr; }
    void give(OnnxTensor tensor, std::size_t i = 0) const {
        if (!wants(i)) return;
        Value& value = *outputs_[i];
        value.dims = tensor.dims;
        value.type = tensor.type;
        value.known = std::move(tensor);
    }
    /// Gives a result, by default of the first input's type.
    void give(Operand operand, std::size_t i = 0, OnnxType type = OnnxType::undefined) const {
        if (!wants(i)) return;
        if (type == OnnxType::undefined && has(0)) type = input(0).type;
        if (type == OnnxType::undefined) type = OnnxType::float32;
        Value& value = *outputs_[i];
        // A constant here is the same for all images.
        value.node = operand.node ? *operand.node : build.view(operand);
        value.dims = build.full_dims(std::move(operand.dims));
        value.type = type;
    }
    /// Gives what was computed by itself.
    void give(Value value, std::size_t i = 0) const {
        if (!wants(i)) return;
        value.name = outputs_[i]->name;
        *outputs_[i] = std::move(value);
    }
    /// An output is the same as an input.
    void pass(std::size_t from = 0, std::size_t to = 0) const {
        if (!wants(to)) return;
        Value& source = input(from);
        if (!source.known && !source.quantised) (void)node_of(source);
        const std::string_view name = outputs_[to]->name;
        *outputs_[to] = source;
        outputs_[to]->name = name;
        outputs_[to]->is_input = false;
    }

    /// The same node in another graph.
    [[nodiscard]] Call in(Builder& builder, std::vector<Value*> outputs) const {
        return {builder, files, node_, opset_, inputs_, std::move(outputs)};
    }
    /// The same node with other inputs and one output.
    [[nodiscard]] Call with(std::vector<Value*> inputs, Value& output) const {
        return {build, files, node_, opset_, std::move(inputs), {&output}};
    }

private:
    /// An input of the graph becomes a layer when something reads it.
    [[nodiscard]] std::size_t node_of(Value& value) const;

    NodeProto const& node_;
    std::int64_t opset_;
    std::vector<Value*> inputs_, outputs_;
};

/// Whether an input of that type is one at run time although its value is known.
[[nodiscard]] constexpr bool runs(OnnxType type) {
    return is_float(type) || type == OnnxType::uint8 || type == OnnxType::int8;
}
/// Whether a tensor of that type can be given at run time, as floats: whole numbers are exact up to 2^24.
[[nodiscard]] constexpr bool may_run(OnnxType type) {
    switch (type) {
        case OnnxType::uint16:
        case OnnxType::int16:
        case OnnxType::int32:
        case OnnxType::int64:
        case OnnxType::boolean:
        case OnnxType::uint32:
        case OnnxType::uint64:
            return true;
        default:
            return runs(type);
    }
}
/// The layer of a tensor that is not a constant. Throws error for an input of the graph that cannot be one at run time.
[[nodiscard]] inline std::size_t layer_of(Value& value, Builder& build) {
    if (value.quantised) {
        if (!value.quantised->node) value.quantised->node = value.quantised->emit(value, build);
        return *value.quantised->node;
    }
    if (value.node) return *value.node;
    if (!may_run(value.type)) {
        fail("it reads ", value.name, ", an input of ", to_string(value.type),
             ": only floats, integers and booleans can be given at run time; give its value in OnnxOptions::values");
    }
    value.node = build.emit_as(value.name, InputParams{build.shape_of(build.image_dims(value.dims))}, {});
    if (runs(value.type) && !is_float(value.type))
        build.set_range(*value.node, {1.0F, value.type == OnnxType::int8 ? 128 : 0});
    return *value.node;
}
inline std::size_t Call::node_of(Value& value) const { return layer_of(value, build); }

}  // namespace primsel::inline PRIMSEL_ABI::onnx
