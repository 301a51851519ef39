// Delays transposes that move channels last or back. Elementwise operators and reductions run on the tensor before the
// transpose, so that opposite transposes of a channels-last network, as Keras writes it, cancel.
#pragma once

#include <primsel/onnx/detail/call.hpp>
#include <primsel/onnx/detail/reshape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

using AxisOrder = std::vector<std::size_t>;

/// Operators that work element by element on all their inputs, which broadcast.
inline constexpr std::string_view elementwise_operators[] = {
    "Abs",         "Add",       "Cast",     "Ceil",      "Celu",  "Clip",  "Cos",
    "Div",         "Dropout",   "Elu",      "Erf",       "Exp",   "Floor", "Gelu",
    "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log",   "Max",   "Mean",
    "Min",         "Mish",      "Mul",      "Neg",       "PRelu", "Pow",   "Reciprocal",
    "Relu",        "Round",     "Selu",     "Sigmoid",   "Sign",  "Sin",   "Softplus",
    "Softsign",    "Sqrt",      "Sub",      "Sum",       "Swish", "Tanh",  "ThresholdedRelu"};
/// Operators that work along the axes that they state, on their first input.
inline constexpr std::string_view reducing_operators[] = {
    "LogSoftmax", "ReduceL1",  "ReduceL2",  "ReduceLogSum",    "ReduceLogSumExp", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceSum", "ReduceSumSquare", "Softmax",         "Split"};

/// Whether the order moves the second axis to the end, or the last one to the second place.
[[nodiscard]] inline bool may_wait(AxisOrder const& order) {
    const std::size_t rank = order.size();
    if (rank < 3 || order[0] != 0) return false;
    for (const bool to_end : {false, true}) {
        bool fits = true;
        for (std::size_t i = 1; i < rank; ++i) {
            fits = fits && order[i] == (to_end ? i % (rank - 1) + 1 : (i == 1 ? rank - 1 : i - 1));
        }
        if (fits) return true;
    }
    return false;
}
[[nodiscard]] inline bool is_in_order(AxisOrder const& order) { return std::ranges::is_sorted(order); }
/// dims[order[i]] for each axis i.
template <class T>
[[nodiscard]] std::vector<T> ordered(std::vector<T> const& dims, AxisOrder const& order) {
    std::vector<T> result;
    for (const std::size_t axis : order) result.push_back(dims[axis]);
    return result;
}
/// Returns the inverse of an order.
[[nodiscard]] inline AxisOrder back_from(AxisOrder const& order) {
    AxisOrder result(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = i;
    return result;
}

/// The node of a waiting value computes the tensor in its own order of axes from here on.
inline void settle(Value& value, Builder& build) {
    if (value.order.empty()) return;
    AxisOrder axes = std::exchange(value.order, {});
    const Operand src{build.image_dims(ordered(value.dims, back_from(axes))), *value.node, {}};
    if (!build.is_whole()) {
        axes.erase(axes.begin());
        for (std::size_t& axis : axes) --axis;
    }
    const std::string name = build.name();
    build.set_name(value.transpose);
    value.node = transposed(build, src, axes).node;
    build.set_name(name);
}

/// Delays a transpose by these axes, or cancels it against the one that its input waits for. Returns whether it did.
[[nodiscard]] inline bool wait(Call& call, AxisOrder const& axes) {
    Value& source = call.input(0);
    if (source.quantised || axes.size() != source.dims.size()) return false;
    AxisOrder order = axes;
    if (!source.order.empty()) order = ordered(source.order, axes);
    const bool meets = !source.order.empty() && is_in_order(order);
    if (!meets && !may_wait(order)) return false;
    Value result = source;
    result.node = layer_of(source, call.build);
    result.is_input = false;
    result.given = nullptr;  // it is in the order of the source
    result.dims = ordered(source.dims, axes);
    result.order = meets ? AxisOrder{} : std::move(order);
    result.transpose = call.build.name();
    call.give(std::move(result));
    return true;
}

/// A node whose inputs wait for one transpose, as it would be before that.
class BeforeTranspose {
public:
    /// Says whether the node can be computed before the transpose that its inputs wait for.
    [[nodiscard]] bool find(NodeProto const& node, std::int64_t opset, std::span<Value* const> inputs, Builder& build) {
        node_ = node;
        for (const Value* input : inputs) {
            if (input == nullptr || input->order.empty() || !order_.empty()) continue;
            order_ = input->order;
            transpose_ = input->transpose;
        }
        if (order_.empty()) return false;
        back_ = back_from(order_);
        const bool concat = node.op == "Concat";
        if (concat || std::ranges::binary_search(elementwise_operators, node.op))
            return opset >= 7 && take_all(inputs, build, concat) && (!concat || change_axis());
        const Value* const data = inputs[0];
        if (!std::ranges::binary_search(reducing_operators, node.op) || data == nullptr || data->order.empty() ||
            data->quantised)
            return false;
        take(*data).dims = ordered(data->dims, back_);
        for (std::size_t i = 1; i < inputs.size(); ++i) {
            if (inputs[i] != nullptr && !inputs[i]->known) return false;
            values_.push_back(inputs[i]);
        }
        if (!node.op.starts_with("Reduce")) return (opset >= 13 || node.op == "Split") && change_axis();
        return change_axes();
    }
    [[nodiscard]] NodeProto const& node() const { return node_; }
    [[nodiscard]] std::vector<Value*> inputs() const { return values_; }
    /// A result of that node waits for the transpose.
    void give(Value& output, Builder& build) const {
        if (output.dims.size() != results_.size()) fail("its result has ", output.dims.size(), " axes");
        if (output.node) {
            output.dims = ordered(output.dims, results_);
            output.order = is_in_order(results_) ? AxisOrder{} : results_;
            output.transpose = transpose_;
        } else if (output.known) {
            output.known = pick(*output.known, permutation(output.known->dims, results_), build.constants);
            output.dims = output.known->dims;
        }
    }

private:
    Value& take(Value const& value) {
        Value& copy = copies_.emplace_back(value);
        copy.order.clear();
        values_.push_back(&copy);
        return copy;
    }
    /// Whether an input of an elementwise operator has a form before the transpose.
    [[nodiscard]] bool fits(Value const& input, bool has_all_axes) const {
        const std::size_t rank = order_.size();
        if (input.quantised || input.given != nullptr || input.dims.size() > rank) return false;
        if (has_all_axes && input.dims.size() != rank) return false;
        if (input.known) return true;
        if (!input.order.empty()) return input.order == order_;
        return input.dims.size() == rank && !moves(input.dims, back_);
    }
    [[nodiscard]] bool take_all(std::span<Value* const> inputs, Builder& build, bool concat) {
        for (const Value* input : inputs) {
            if (input != nullptr && !fits(*input, concat)) return false;
        }
        results_ = order_;
        for (Value* input : inputs) {
            if (input == nullptr) {
                values_.push_back(nullptr);
                continue;
            }
            Value& copy = take(*input);
            if (input->known && count_of(input->dims) == 1 && !concat) continue;
            copy.dims.insert(copy.dims.begin(), order_.size() - copy.dims.size(), 1);
            Sizes dims = ordered(copy.dims, back_);
            if (input->known) {
                // Weights stay those of the file where none of their elements moves.
                const OnnxTensor same = with_dims(*input->known, copy.dims);
                copy.known = moves(copy.dims, back_) ? pick(same, permutation(copy.dims, back_), build.constants)
                                                     : with_dims(same, dims);
            } else if (input->order.empty()) {
                const Operand src{build.image_dims(copy.dims), layer_of(*input, build), {}};
                copy.node = build.reshape(src, build.image_dims(dims)).node;
                copy.is_input = false;
            }
            copy.dims = std::move(dims);
        }
        return true;
    }
    [[nodiscard]] AttributeProto* attribute(std::string_view name) {
        const auto found = std::ranges::find(node_.attributes, name, &AttributeProto::name);
        return found == node_.attributes.end() ? nullptr : &*found;
    }
    [[nodiscard]] std::int64_t before(std::int64_t axis) const {
        return static_cast<std::int64_t>(order_[axis_index(axis, order_.size())]);
    }
    [[nodiscard]] bool change_axis() {
        results_ = order_;
        AttributeProto* axis = attribute("axis");
        if (axis == nullptr) {
            if (node_.op == "Concat") return false;
            axis = &node_.attributes.emplace_back();
            axis->name = "axis";
            axis->type = AttributeType::i;
            axis->i = node_.op == "Split" ? 0 : -1;
        }
        axis->i = before(axis->i);
        return true;
    }
    [[nodiscard]] bool change_axes() {
        Sizes axes;
        AttributeProto* const attributes = attribute("axes");
        if (attributes != nullptr && values_.size() > 1) return false;
        if (attributes != nullptr) {
            for (std::int64_t& axis : attributes->ints) axes.push_back(axis = before(axis));
        } else if (values_.size() == 2 && values_[1] != nullptr && !values_[1]->known->is_float()) {
            for (const std::int64_t axis : values_[1]->known->integers) axes.push_back(before(axis));
            Value& copy = copies_.emplace_back(*values_[1]);
            copy.known = own_elements(values_[1]->dims, OnnxType::int64, std::vector<std::int64_t>(axes));
            values_[1] = &copy;
        }
        if (axes.empty()) return false;
        const AttributeProto* keeps = attribute("keepdims");
        results_ = order_;
        if (keeps != nullptr && keeps->i == 0) {
            const auto goes = [&](std::size_t axis) {
                return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
            };
            std::erase_if(results_, goes);
            AxisOrder sorted = results_;
            std::ranges::sort(sorted);
            for (std::size_t& axis : results_)
                axis = static_cast<std::size_t>(std::ranges::find(sorted, axis) - sorted.begin());
        }
        return is_in_order(results_) || may_wait(results_);
    }

    NodeProto node_;
    std::string transpose_;
    AxisOrder order_, back_;
    AxisOrder results_;  // of the results
    std::deque<Value> copies_;
    std::vector<Value*> values_;
};

}  // namespace detail

inline void translate_transpose(Call& call) {
    const std::size_t rank = call.rank(0);
    Sizes order = call.integers("perm", {});
    if (order.empty()) {
        for (std::size_t axis = rank; axis-- > 0;) order.push_back(static_cast<std::int64_t>(axis));
    }
    std::vector<std::size_t> axes;
    for (const std::int64_t axis : order) axes.push_back(axis_index(axis, rank));
    if (axis_indices(order, rank).size() != rank) fail("its perm has ", order.size(), " axes of ", rank);
    if (const OnnxTensor* known = call.known(0)) {
        // A weight that layers have both as it is and transposed is one.
        const bool is_transposed = axes == std::vector<std::size_t>{1, 0} && known->is_float();
        return call.give(is_transposed ? call.build.transposed(*known)
                                       : pick(*known, permutation(known->dims, axes), call.build.constants));
    }
    if (detail::wait(call, axes)) return;
    detail::settle(call.input(0), call.build);
    if (!call.build.is_whole()) {
        if (axes.empty() || axes[0] != 0) throw MixesImages{"it moves the axis of the images"};
        axes.erase(axes.begin());
        for (std::size_t& axis : axes) --axis;
    }
    call.give(transposed(call.build, call.operand(0), axes));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
