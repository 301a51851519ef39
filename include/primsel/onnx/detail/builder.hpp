// The graph under construction, and the views of a tensor that its layers need.
//
// A layer sees images of c x h x w. A model's tensor has any number of axes, of which the first may or may not be that
// of the images. Either each image is one of the graph's batch, and that axis is left out (per image), or the graph has
// a batch of one and that axis is as any other (whole). In both, dims below are what is left: the extents of an image.
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/io/json.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/onnx/detail/constant.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// Thrown where the images of a batch do not stay apart.
struct MixesImages {
    std::string reason;
};

/// An operand of an operator: the result of a layer, or a constant.
struct Operand {
    Sizes dims;
    std::optional<std::size_t> node;
    /// Where there is no node.
    OnnxTensor constant;
    /// Whether training changes the constant.
    bool is_weight = false;
};

/// Axes first .. last of a tensor as one axis of a shape.
struct AxisView {
    Shape shape;
    Axis axis;
};

class Builder {
public:
    /// images: of the batch; 0: whole. trains: layers are those of a network that is to be trained.
    Builder(std::int64_t images, std::size_t constant_bytes, bool trains)
        : constants(constant_bytes),
          images_(images),
          trains_(trains),
          graph_(images == 0 ? 1 : bounded(images, 1, 1 << 24, "a batch")) {}

    /// Constants that are made and not in the file.
    Constants constants;
    /// Dividends and divisors of layers that multiply by a reciprocal, which is rounded.
    std::map<std::size_t, std::pair<Operand, Operand>> quotients;
    /// Results of layers between bounds.
    std::map<std::tuple<std::size_t, float, float>, std::size_t> between_bounds;

    [[nodiscard]] bool trains() const { return trains_; }
    [[nodiscard]] bool is_whole() const { return images_ == 0; }
    /// Axes that the dims of an image lack.
    [[nodiscard]] std::size_t hidden_axes() const { return is_whole() ? 0 : 1; }
    [[nodiscard]] Graph const& graph() const { return graph_; }

    /// The extents of one image. Throws MixesImages when the first is not that of the images.
    [[nodiscard]] Sizes image_dims(Sizes const& dims) const {
        if (is_whole()) return dims;
        if (dims.empty() || dims[0] != images_) {
            throw MixesImages{join("a tensor of ", to_string(dims), " has no leading axis of ", images_, " images")};
        }
        return {dims.begin() + 1, dims.end()};
    }
    [[nodiscard]] Sizes full_dims(Sizes dims) const {
        if (!is_whole()) dims.insert(dims.begin(), images_);
        return dims;
    }
    /// The axis of an image, given one of all of the tensor's. Throws MixesImages for that of the images.
    [[nodiscard]] std::size_t image_axis(std::int64_t axis, std::size_t rank) const {
        const std::size_t index = axis_index(axis, rank);
        if (is_whole()) return index;
        if (index == 0) throw MixesImages{"it works along the axis of the images"};
        return index - 1;
    }

    /// A constant as one of the images. Throws MixesImages when they differ.
    [[nodiscard]] OnnxTensor image_of(OnnxTensor const& tensor) {
        if (is_whole()) return tensor;
        Sizes dims = image_dims(tensor.dims);
        const std::size_t size = count_of(dims);
        const auto same = [&](auto values) {
            for (std::size_t i = size; i < values.size(); ++i) {
                if (values[i] != values[i - size]) return false;
            }
            return true;
        };
        if (!(tensor.is_float() ? same(tensor.floats) : same(tensor.integers))) {
            throw MixesImages{"a constant differs from image to image"};
        }
        return first_image(tensor, std::move(dims), size);
    }
    /// The same for an operand of an elementwise operation on tensors of the given rank.
    [[nodiscard]] OnnxTensor broadcast_image_of(OnnxTensor const& tensor, std::size_t rank) {
        if (is_whole() || tensor.dims.size() < rank || tensor.dims.empty()) return tensor;
        if (tensor.dims.size() == rank && tensor.dims[0] == 1) {
            return first_image(tensor, {tensor.dims.begin() + 1, tensor.dims.end()}, tensor.size());
        }
        return image_of(tensor);
    }

    /// Whether training changes a constant of the file that a layer multiplies by or adds: no number, and no constant
    /// of one value that is not an initializer, as exporters write the scale that a normalisation is to have.
    [[nodiscard]] bool is_weight(OnnxTensor const& tensor) const {
        if (!trains_ || !tensor.is_float() || tensor.size() < 2) return false;
        const std::span<const float> values(tensor.floats);
        if (!std::ranges::all_of(values, [](float value) { return is_finite(value); })) return false;
        return !tensor.name.empty() || std::ranges::count(values, values[0]) != std::ranges::ssize(values);
    }
    /// The operand, which training changes where it is a weight.
    [[nodiscard]] Operand trained(Operand operand) const {
        operand.is_weight = !operand.node && is_weight(operand.constant);
        return operand;
    }

    // --- names and layers

    /// The name of the layers that follow.
    void set_name(std::string_view name) { name_ = std::string(name); }
    [[nodiscard]] std::string const& name() const { return name_; }
    /// Appends a layer; its name is that of set_name, and a suffix for those that come with it.
    std::size_t emit(AnyLayer layer, std::vector<std::size_t> inputs, std::string_view suffix = "") {
        return emit_as(suffix.empty() ? name_ : name_ + '.' + std::string(suffix), std::move(layer), std::move(inputs));
    }
    std::size_t emit_as(std::string_view name, AnyLayer layer, std::vector<std::size_t> inputs) {
        std::vector<Shape> shapes;
        for (const std::size_t input : inputs) shapes.push_back(graph_[input].shape);
        if (const Fault fault = check(layer, shapes); fault != Fault::none) {
            std::string list;
            for (Shape const& shape : shapes) list += (list.empty() ? "" : ", ") + to_string(shape);
            fail(layer_kind(layer), " on ", list.empty() ? "nothing" : list, ": ", message(layer, fault, shapes));
        }
        const Shape shape = output(layer, shapes);
        (void)elements({shape.c, shape.h, shape.w});
        weights_.emplace_back();
        return graph_.add(unique(printable(name)), std::move(layer), std::move(inputs));
    }
    void set_range(std::size_t node, TensorRange range) { graph_.set_range(node, range); }
    void add_weight(std::size_t node, std::string_view suffix, Sizes dims, OnnxTensor const& tensor) {
        weights_[node].emplace_back(suffix, WeightTensor{std::move(dims), tensor.floats, tensor.owner});
    }
    void add_weight(std::size_t node, std::string_view suffix, Sizes dims, std::vector<float> values) {
        add_weight(node, suffix, dims, own_elements(dims, OnnxType::float32, std::move(values)));
    }
    /// A constant matrix, transposed. All who ask for the same one share it; of a transposed one, that is the first.
    [[nodiscard]] OnnxTensor transposed(OnnxTensor const& matrix) {
        const Sizes dims{matrix.dims[1], matrix.dims[0]};
        const auto original = originals_.find(matrix.floats.place());
        if (original != originals_.end() && original->second.dims == dims) return original->second;
        const auto [found, is_new] = transposed_.try_emplace(matrix.floats.place());
        if (is_new) {
            found->second = pick(matrix, permutation(matrix.dims, {1, 0}), constants);
            originals_.emplace(found->second.floats.place(), matrix);
        }
        if (found->second.dims == dims) return found->second;
        return pick(matrix, permutation(matrix.dims, {1, 0}), constants);  // another view of the same elements
    }
    /// Where the elements of weights lie of which there are transposed ones: by where those lie.
    [[nodiscard]] std::map<StoredFloats::Place, StoredFloats::Place> origins() const {
        std::map<StoredFloats::Place, StoredFloats::Place> origins;
        for (auto const& [origin, rotated] : transposed_) origins.emplace(rotated.floats.place(), origin);
        return origins;
    }
    /// By their suffixes.
    [[nodiscard]] std::vector<std::pair<std::string, WeightTensor>> const& weights(std::size_t node) const {
        return weights_[node];
    }

    // --- tensors and shapes

    /// The shape in which a tensor lies: [n, c, d..., w] as (n * c) x (d * ...) x w. Rows of the image stay rows, and a
    /// signal [n, c, l] is an image of one row: kernels run along rows.
    [[nodiscard]] Shape shape_of(Sizes const& dims) const {
        (void)elements(dims);
        const std::size_t first = 2 - hidden_axes(), rank = dims.size();
        if (rank <= first) return {.c = product(dims, 0, rank), .h = 1, .w = 1};
        return {.c = product(dims, 0, first), .h = product(dims, first, rank - 1), .w = product(dims, rank - 1, rank)};
    }
    /// The axis of that shape in which an axis of the tensor lies.
    [[nodiscard]] Axis axis_of(std::size_t axis, std::size_t rank) const {
        const std::size_t first = 2 - hidden_axes();
        return axis < first ? Axis::c : axis + 1 == rank ? Axis::w : Axis::h;
    }
    /// Axes first .. last - 1 as one of a shape: of the tensor's own where no other axis shares it, else as the middle.
    [[nodiscard]] AxisView view_along(Sizes const& dims, std::size_t first, std::size_t last) const {
        (void)elements(dims);
        const std::size_t rank = dims.size();
        bool is_own = true;
        for (std::size_t axis = 0; axis < rank; ++axis) {
            const bool is_inside = axis >= first && axis < last;
            const bool shares = axis_of(axis, rank) == axis_of(first, rank);
            is_own = is_own && (dims[axis] == 1 || is_inside == shares);
        }
        if (is_own) return {shape_of(dims), axis_of(first, rank)};
        return {{.c = product(dims, 0, first), .h = product(dims, first, last), .w = product(dims, last, rank)},
                Axis::h};
    }
    [[nodiscard]] AxisView view_along(Sizes const& dims, std::size_t axis) const {
        return view_along(dims, axis, axis + 1);
    }

    /// The operand under a shape of as many elements: its layer, followed by a reshape where that is needed.
    std::size_t view(Operand const& operand, Shape shape, std::string_view suffix = "view") {
        if (!operand.node)
            return operand.is_weight ? parameter(operand.constant, shape) : constant(operand.constant, shape);
        std::size_t node = *operand.node;
        if (graph_[node].shape == shape) return node;
        // The input of a reshape may have the shape already.
        while (std::holds_alternative<ReshapeParams>(graph_[node].layer) ||
               std::holds_alternative<FlattenParams>(graph_[node].layer)) {
            node = graph_[node].inputs[0];
            if (graph_[node].shape == shape) return node;
        }
        if (shape.pixels() == 1) return emit(FlattenParams{}, {node}, suffix);
        return emit(ReshapeParams{shape}, {node}, suffix);
    }
    std::size_t view(Operand const& operand) { return view(operand, shape_of(operand.dims)); }

    /// The result of a layer as a tensor of the given extents.
    [[nodiscard]] Operand operand(std::size_t node, Sizes dims) {
        const Shape shape = shape_of(dims);
        Operand result{std::move(dims), node, {}};
        if (graph_[node].shape != shape) result.node = view(result, shape);
        return result;
    }
    /// A layer on one operand under the shape in which it lies, and its result under given extents.
    Operand apply(AnyLayer layer, Operand const& src, Sizes dims) {
        const std::size_t input = view(src);
        return operand(emit(std::move(layer), {input}), std::move(dims));
    }

    /// The same elements under other extents.
    Operand reshape(Operand const& src, Sizes dims) {
        if (!src.node) return {dims, std::nullopt, with_dims(src.constant, dims), src.is_weight};
        const std::size_t node = view(src, shape_of(dims), "");
        return {std::move(dims), node, {}};
    }
    /// Elements of a tensor in another order.
    Operand strided(Operand const& src, Strided const& places) { return strided(src, places, places.dims); }
    /// The same under other extents.
    Operand strided(Operand const& src, Strided const& places, Sizes dims) {
        if (!src.node && !src.is_weight) {
            return {dims, std::nullopt, with_dims(pick(src.constant, places, constants), dims)};
        }
        (void)elements(places.dims);
        const Shape shape = shape_of(dims);
        AsStridedParams params{
            .dims = {}, .strides = {}, .offset = static_cast<std::ptrdiff_t>(places.offset), .shape = shape};
        for (std::size_t axis = 0; axis < places.dims.size(); ++axis) {
            params.strides[axis] = places.strides[axis];
            params.dims.push_back(static_cast<int>(places.dims[axis]));
        }
        return operand(emit(params, {view(src)}), std::move(dims));
    }
    Operand expand(Operand const& src, Sizes const& dims) {
        (void)elements(dims);
        return src.dims == dims ? src : strided(src, expansion(src.dims, dims));
    }

    /// x * factor + shift, for the whole tensor.
    Operand scale(Operand const& src, float factor, float shift) {
        const std::size_t input = view(src);
        const ScaleParams known{.known = true, .factor = factor, .shift = shift};
        if (is_finite(factor) && is_finite(shift)) return {src.dims, emit(known, {input}, "scale"), {}};
        ScaleParams constant;
        constant.trains_weight = constant.trains_bias = false;
        const std::size_t node = emit(constant, {input}, "scale");
        const std::int64_t c = graph_[node].shape.c;
        add_weight(node, ".weight", {c}, constants.splat({c}, OnnxType::float32, factor));
        add_weight(node, ".bias", {c}, constants.splat({c}, OnnxType::float32, shift));
        return {src.dims, node, {}};
    }

private:
    [[nodiscard]] static OnnxTensor first_image(OnnxTensor tensor, Sizes dims, std::size_t size) {
        if (tensor.is_float())
            tensor.floats = tensor.floats.first(size);
        else
            tensor.integers = tensor.integers.first(size);
        tensor.dims = std::move(dims);
        return tensor;
    }
    /// Constants become layers where one reads them.
    std::size_t constant(OnnxTensor const& tensor, Shape shape) {
        const OnnxTensor floats = to_floats(tensor, constants);
        const std::size_t node = tensor.name.empty() ? emit(ConstantParams{shape}, {}, "constant")
                                                     : emit_as(tensor.name, ConstantParams{shape}, {});
        add_weight(node, ".value", {shape.c, shape.h, shape.w}, floats);
        return node;
    }
    /// So do weights that are no layer's, under the shape in which it reads them.
    std::size_t parameter(OnnxTensor const& tensor, Shape shape) {
        const ConstantParams params{.shape = shape, .parameter = true};
        const std::size_t node = emit_as(parameter_name(tensor.name), params, {});
        add_weight(node, "", {shape.c, shape.h, shape.w}, tensor);
        return node;
    }
    /// That of the tensor, unless a weight of some other layer may be called so.
    [[nodiscard]] std::string parameter_name(std::string const& tensor) const {
        if (tensor.empty()) return name_ + ".weight";
        const std::size_t dot = tensor.rfind('.');
        if (dot == std::string::npos || std::string_view(tensor).substr(0, dot) == name_) return tensor;
        const std::string suffix = tensor.substr(dot);
        for (const std::string_view own : {".weight", ".bias", ".running_mean", ".running_var", ".value"}) {
            if (suffix == own) return name_ + suffix;
        }
        return tensor;
    }
    /// Names are UTF-8 from here on, whatever the file has.
    [[nodiscard]] static std::string printable(std::string_view name) {
        std::string result(name);
        for (std::size_t i = primsel::io::utf8_prefix(name); i < result.size(); ++i) {
            if (static_cast<unsigned char>(result[i]) >= 0x80) result[i] = '?';
        }
        return result;
    }
    [[nodiscard]] std::string unique(std::string name) {
        if (name.empty()) name = "layer";
        std::size_t& uses = uses_[name];
        if (uses++ == 0) return name;
        for (;; ++uses) {
            std::string numbered = name + '_' + std::to_string(uses - 1);
            if (uses_.emplace(numbered, 1).second) return numbered;
        }
    }

    std::int64_t images_;
    bool trains_;
    Graph graph_;
    std::string name_;
    std::vector<std::vector<std::pair<std::string, WeightTensor>>> weights_;  // of each node
    std::unordered_map<std::string, std::size_t> uses_;
    std::map<StoredFloats::Place, OnnxTensor> transposed_;  // by where the elements lie of what was transposed
    std::map<StoredFloats::Place, OnnxTensor>
        originals_;  // what was transposed, by where the elements of the result lie
};

}  // namespace primsel::inline PRIMSEL_ABI::onnx
