// From a model file to a graph: its inputs, its nodes one by one, its outputs.
#pragma once

#include <primsel/network/graph_editor.hpp>
#include <primsel/network/with_batch.hpp>
#include <primsel/onnx/detail/fold_layers.hpp>
#include <primsel/onnx/detail/operators.hpp>
#include <primsel/onnx/detail/order.hpp>
#include <primsel/onnx/detail/own_operator.hpp>
#include <primsel/onnx/detail/shared_weights.hpp>
#include <primsel/onnx/detail/signature.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Sizes that a model leaves open, fixed when it is loaded.
struct OnnxOptions {
    /// Images that run together, where a model leaves that open, or can compute each of them as it does its own; 0: as
    /// the model says, or else one.
    int batch = 0;
    /// Height and width, where a model leaves them open; 0: they are not.
    Extent image{0, 0};
    /// All sizes of an input by its name, the batch included: also in place of those in the file.
    std::map<std::string, std::vector<std::int64_t>, std::less<>> dims{};
    /// Inputs of the model that are known now, by their names. One of floats is a constant only for those layers that
    /// need one, as a convolution its weight; if others read it too, it stays an input.
    std::map<std::string, OnnxTensor, std::less<>> values{};
    /// Constants that are not in the file but follow from it may take so much memory.
    std::size_t max_constant_bytes = std::size_t{1} << 30;
    /// Whether the network is to be trained. Nodes in training mode are then the ordinary layers, whose training is the
    /// trainer's; otherwise a BatchNormalization normalises by the batch at hand, and a Dropout is refused.
    bool trains = false;
    /// Operators of the user's own, which come before the library's of the same name.
    std::vector<OnnxOwnOperator> own_operators{};
};

/// Which tensor of the file a weight is.
struct OnnxOrigin {
    /// The name of an initializer, or of the result of a Constant.
    std::string tensor;
    /// Whether the weight is that matrix transposed.
    bool transposed = false;

    friend bool operator==(OnnxOrigin const&, OnnxOrigin const&) = default;
};

/// A model that was read. Its inputs and outputs are in the order of graph.inputs() and graph.outputs().
struct OnnxModel : OnnxSignature {
    Graph graph;
    Weights weights;
    /// By the names of the weights; of one that was computed, there is none.
    std::map<std::string, OnnxOrigin, std::less<>> origins;
};

namespace onnx {

/// The newest opset whose changes to operators are known.
inline constexpr std::int64_t newest_opset = 28;

/// Null where there is none.
[[nodiscard]] inline const Operator* operator_of(NodeProto const& node) {
    return is_own_domain(node.domain) ? find_operator(node.op) : find_operator(join(node.domain, '.', node.op));
}
/// The function of the file that the node calls; null where there is none.
[[nodiscard]] inline const FunctionProto* function_of(std::span<const FunctionProto> functions, NodeProto const& node) {
    for (FunctionProto const& function : functions) {
        const bool is_same_domain =
            function.domain == node.domain || (is_own_domain(function.domain) && is_own_domain(node.domain));
        if (is_same_domain && function.name == node.op && function.overload == node.overload) return &function;
    }
    return nullptr;
}
/// Throws error, naming each operator that is not supported, how many nodes have it and the first of them.
inline void require_operators(std::vector<NodeProto> const& nodes, Order const& order,
                              std::span<const OnnxOwnOperator> own_operators,
                              std::span<const FunctionProto> functions) {
    std::map<std::string, std::vector<const NodeProto*>> unknown;
    for (const std::size_t i : order.nodes) {
        NodeProto const& node = nodes[i];
        const bool is_own = is_own_domain(node.domain);
        if (find_own(own_operators, node) != nullptr || operator_of(node) != nullptr || (is_own && node.op == "If") ||
            function_of(functions, node) != nullptr)
            continue;
        unknown[is_own ? std::string(node.op) : join(node.domain, '.', node.op)].push_back(&node);
    }
    if (unknown.empty()) return;
    std::string list;
    for (auto const& [name, nodes] : unknown) {
        const std::string count = nodes.size() == 1 ? "node " : join(nodes.size(), " nodes, the first is ");
        list += join(list.empty() ? "" : ", ", name, " (", count, name_of(*nodes[0]), ')');
    }
    const bool is_nchwc = unknown.lower_bound("com.microsoft.nchwc.") != unknown.lower_bound("com.microsoft.nchwc/");
    fail("unsupported operators: ", list,
         is_nchwc
             ? "; ONNX Runtime has optimised the file for one kind of processor: let it save the model at the level "
               "\"extended\" or below"
             : "");
}

/// Translates a model in one of the two ways: per image, or whole.
class Import {
public:
    /// images: of the batch; 0: whole.
    Import(ModelProto const& model, Order const& order, Files& files, OnnxOptions const& options, std::int64_t images)
        : model_(model),
          order_(order),
          files_(files),
          options_(options),
          build_(images, options.max_constant_bytes, options.trains) {
        require_operators(model.nodes, order, options.own_operators, model.functions);
        enter(model.initializers, {.order = &order, .opset = model.opset});
        read_inputs();
    }

    /// The inputs that are needed, in the order of the file.
    [[nodiscard]] std::vector<const Value*> const& inputs() const { return inputs_; }

    [[nodiscard]] OnnxModel run() {
        for (const std::size_t i : order_.nodes) translate(model_.nodes[i]);
        std::vector<std::size_t> results;
        std::vector<OnnxValueInfo> infos;
        for (ValueInfoProto const& output : model_.outputs) {
            Value* value = find(output.name);
            if (value == nullptr) fail("output ", output.name, " is defined nowhere");
            results.push_back(layer_of_result(*value));
            const bool is_typed = output.type != OnnxType::undefined;
            infos.push_back({std::string(output.name), value->dims, is_typed ? output.type : value->type,
                             open_batch(output, value->dims), open_sizes(output, value->dims)});
        }
        OnnxModel result = remove_channels(results);
        result.outputs = std::move(infos);
        add_unread(result);
        for (StringEntry const& entry : model_.metadata) result.metadata.emplace_back(entry.key, entry.value);
        return result;
    }

private:
    /// Where the file says nothing of a result's dimensions, all of them are open.
    [[nodiscard]] std::optional<std::string> open_batch(ValueInfoProto const& info, Sizes const& dims) const {
        if (dims.empty()) return std::nullopt;
        if (!info.has_shape || info.dims.size() != dims.size()) return "";
        if (info.dims[0]) return std::nullopt;
        return std::string(info.names[0]);
    }
    [[nodiscard]] static std::map<std::size_t, std::string> open_sizes(ValueInfoProto const& info, Sizes const& dims) {
        std::map<std::size_t, std::string> open;
        if (info.dims.size() != dims.size()) return open;
        for (std::size_t axis = 1; axis < dims.size(); ++axis) {
            if (!info.dims[axis]) open.emplace(axis, info.names[axis]);
        }
        return open;
    }
    void add_unread(OnnxModel& result) const {
        for (ValueInfoProto const& info : model_.inputs) {
            if (!info.is_tensor || is_initializer(info.name) || options_.values.contains(info.name)) continue;
            if (std::ranges::find(result.inputs, info.name, &OnnxValueInfo::name) != result.inputs.end()) continue;
            Sizes dims;
            for (std::optional<std::int64_t> const& dim : info.dims) dims.push_back(dim.value_or(-1));
            std::map<std::size_t, std::string> names = open_sizes(info, dims);
            std::erase_if(names, [](auto const& open) { return open.second.empty(); });
            result.unread.push_back({std::string(info.name), std::move(dims), info.type, {}, std::move(names)});
        }
    }

    /// The names of a graph. Those of the graphs around it are known in it too.
    struct Scope {
        const Order* order;
        std::int64_t opset;
        /// In a function, the values of its attributes and inputs; names of the graphs around it are not known.
        const std::vector<AttributeProto>* attributes = nullptr;
        bool is_function = false;
        std::unordered_map<std::string_view, Value*> arguments{};
        std::unordered_map<std::string_view, const InitializerProto*> initializers{};
        std::unordered_map<std::string_view, Value> values{};

        /// Null when there is none.
        [[nodiscard]] Value* find(std::string_view name, Files& files, Constants& constants) {
            if (const auto found = values.find(name); found != values.end()) return &found->second;
            if (const auto found = arguments.find(name); found != arguments.end()) return found->second;
            const auto initializer = initializers.find(name);
            if (initializer == initializers.end()) return nullptr;
            InitializerProto const& proto = *initializer->second;
            OnnxTensor tensor = proto.is_sparse ? files.read_sparse(proto.bytes, constants) : files.read(proto.bytes);
            Value& value = values[name];
            value.name = name;
            value.dims = tensor.dims;
            value.type = tensor.type;
            value.known = std::move(tensor);
            return &value;
        }
    };
    void enter(std::vector<InitializerProto> const& initializers, Scope inner) {
        Scope& scope = scopes_.emplace_back(std::move(inner));
        for (InitializerProto const& initializer : initializers) {
            if (!scope.initializers.emplace(initializer.name, &initializer).second) {
                fail("tensor ", initializer.name, " is there twice");
            }
        }
    }
    /// Null when there is none.
    [[nodiscard]] Value* find(std::string_view name) {
        Value* value = find_waiting(name);
        if (value != nullptr) detail::settle(*value, build_);
        return value;
    }
    /// The same where a transpose may still wait.
    [[nodiscard]] Value* find_waiting(std::string_view name) {
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
            if (Value* value = scope->find(name, files_, build_.constants)) return value;
            if (scope->is_function) break;
        }
        return nullptr;
    }
    [[nodiscard]] bool is_initializer(std::string_view name) const {
        return std::ranges::any_of(scopes_, [=](Scope const& scope) { return scope.initializers.contains(name); });
    }

    void read_inputs() {
        for (ValueInfoProto const& info : model_.inputs) {
            if (!order_.needed.contains(info.name)) continue;
            // An initializer that is an input, too, is what the input is unless the caller gives another value.
            const bool has_default = is_initializer(info.name);
            if (has_default && !options_.values.contains(info.name)) continue;
            if (has_default) scopes_.back().initializers.erase(info.name);
            if (!info.is_tensor) fail("input ", info.name, ": only tensors are supported");
            const auto [place, is_new] = scopes_.back().values.try_emplace(info.name);
            if (!is_new) fail("input ", info.name, " is there twice");
            Value& value = place->second;
            value.name = info.name;
            value.type = info.type;
            const auto given = options_.values.find(info.name);
            if (given != options_.values.end()) {
                value.dims = given->second.dims;
                const bool is_same = info.type == OnnxType::undefined || info.type == given->second.type;
                if (!is_same && given->second.size() != 0) {
                    fail("input ", info.name, " is of ", to_string(info.type), ", its value of ",
                         to_string(given->second.type));
                }
                if (is_same) value.type = given->second.type;
                if (given->second.size() != count_of(value.dims)) fail("input ", info.name, ": its value is misshapen");
                if (runs(given->second.type) && !has_default)
                    value.given = &given->second;
                else
                    value.known = given->second;
            } else {
                value.dims = fixed_dims(info);
            }
            if (count_of(value.dims) == 0) value.known = empty_tensor(value.dims, value.type);
            if (!value.known) {
                value.is_input = true;
                inputs_.push_back(&value);
            }
        }
    }
    /// The sizes of an input, with what the file leaves open.
    [[nodiscard]] Sizes fixed_dims(ValueInfoProto const& info) {
        const auto given = options_.dims.find(info.name);
        if (given != options_.dims.end()) {
            if (info.has_shape && info.dims.size() != given->second.size()) {
                fail("input ", info.name, " has ", info.dims.size(), " dimensions, not ", given->second.size());
            }
            return given->second;
        }
        if (!info.has_shape) fail("input ", info.name, " has no shape; give OnnxOptions::dims");
        const bool is_image = info.dims.size() == 4;
        Sizes dims;
        for (std::size_t axis = 0; axis < info.dims.size(); ++axis) {
            const int wanted = axis == 0               ? options_.batch
                               : is_image && axis == 2 ? options_.image.h
                               : is_image && axis == 3 ? options_.image.w
                                                       : 0;
            if (info.dims[axis] && wanted > 0 && *info.dims[axis] != wanted) {
                fail("input ", info.name, ": dimension ", axis, " is ", *info.dims[axis], " in the file, not ", wanted,
                     "; OnnxOptions::dims can change it");
            }
            if (!info.dims[axis] && wanted < 1 && axis > 0) {
                fail("input ", info.name, ": the file leaves dimension ", axis,
                     " open; give OnnxOptions::", is_image && axis > 1 ? "image" : "dims");
            }
            dims.push_back(info.dims[axis] ? *info.dims[axis] : std::max(wanted, 1));
        }
        return dims;
    }

    [[nodiscard]] std::string name_of(NodeProto const& node, std::vector<Value*> const& inputs) {
        // PyTorch's names of weights are those of its modules.
        constexpr std::string_view suffix = ".weight";
        const std::string_view weight = inputs.size() > 1 && inputs[1] != nullptr ? inputs[1]->name : "";
        if (weight.ends_with(suffix) && weight.size() > suffix.size() && is_initializer(weight)) {
            return std::string(weight.substr(0, weight.size() - suffix.size()));
        }
        if (!node.name.empty()) return std::string(node.name);
        return join(node.op, '_', ++nameless_[node.op]);
    }

    void translate(NodeProto const& in_file) {
        NodeProto copy;
        NodeProto const& node = with_attributes(in_file, copy);
        try {
            if (is_own_domain(node.domain) && node.op == "If") return translate_if(node);
            std::vector<Value*> inputs, outputs;
            for (const std::string_view name : node.inputs) {
                inputs.push_back(name.empty() ? nullptr : find_waiting(name));
                if (!name.empty() && inputs.back() == nullptr) fail("its input ", name, " is defined nowhere");
                if (inputs.back() == &left_out_) inputs.back() = nullptr;
            }
            const OnnxOwnOperator* const own = find_own(options_.own_operators, node);
            const bool is_translated = own == nullptr && operator_of(node) != nullptr && is_own_domain(node.domain);
            if (own != nullptr || operator_of(node) != nullptr) build_.set_name(name_of(node, inputs));
            detail::BeforeTranspose before;
            const bool goes_before = is_translated && before.find(node, scopes_.back().opset, inputs, build_);
            const bool may_read_waiting =
                goes_before || (is_translated && (node.op == "Transpose" || node.op == "Shape" || node.op == "Size"));
            if (!may_read_waiting) settle(inputs);
            if (own == nullptr && operator_of(node) == nullptr) return translate_function_of_file(node, inputs);
            for (const std::string_view name : node.outputs) {
                outputs.push_back(scopes_.back().order->needed.contains(name) ? &define(name) : nullptr);
            }
            // Integers stay what they stand for where they only move.
            const bool moves = own == nullptr && operator_of(node)->moves && !inputs.empty() && inputs[0] != nullptr &&
                               inputs[0]->plays(Quantised::Role::integers);
            const std::optional<Quantised> quantised = moves ? inputs[0]->quantised : std::nullopt;
            const OnnxType type = moves ? inputs[0]->type : OnnxType::undefined;
            Value real;
            if (moves) {
                real = *inputs[0];
                real.quantised.reset();
                inputs[0] = &real;
            }
            Call call(build_, files_, goes_before ? before.node() : node, scopes_.back().opset,
                      goes_before ? before.inputs() : inputs, outputs);
            if (own != nullptr)
                translate_own(call, *own);
            else if (call.input_count() > 0 && call.all_known() && !build_.trains())
                translate_known(call, node, outputs);
            else
                operator_of(node)->translate(call);
            for (Value* output : outputs) {
                if (output != nullptr && goes_before) before.give(*output, build_);
                if (output != nullptr && moves) detail::settle(*output, build_);
                if (!moves || output == nullptr || output->known || output->type != type) continue;
                output->quantised = quantised;
                output->quantised->node.reset();
            }
            forget_bytes(node);
            for (const Value* output : outputs) {
                if (output != nullptr && output->type == OnnxType::undefined) {
                    fail("its output ", output->name, " is not supported");
                }
            }
        } catch (error const& fault) {
            fail(describe(node), ": ", std::string_view(fault.what()));
        } catch (MixesImages const& fault) {
            throw MixesImages{join(describe(node), ": ", fault.reason)};
        }
    }
    void settle(std::vector<Value*> const& values) {
        for (Value* value : values) {
            if (value != nullptr) detail::settle(*value, build_);
        }
    }
    /// A node whose inputs are all known: so are its results, if all its layers can be computed at loading.
    void translate_known(Call& call, NodeProto const& node, std::vector<Value*> const& outputs) {
        const auto is_open = [](const Value* value) { return value != nullptr && !value->known && !value->quantised; };
        std::optional<MixesImages> mixes;
        try {
            operator_of(node)->translate(call);
            if (std::ranges::none_of(outputs, is_open)) return;
        } catch (MixesImages const& fault) {
            mixes = fault;
        }
        // The same in a graph of its own, where all images are one tensor.
        Builder build(0, 0, false);
        std::swap(build.constants, build_.constants);
        build.set_name(node.op);
        std::deque<Value> results(outputs.size());
        std::vector<Value*> places;
        for (std::size_t i = 0; i < outputs.size(); ++i)
            places.push_back(outputs[i] == nullptr ? nullptr : &results[i]);
        bool is_known = true;
        try {
            Call whole = call.in(build, places);
            operator_of(node)->translate(whole);
            for (Value* value : places) {
                if (value == nullptr) continue;
                if (is_open(value) && value->node) {
                    std::optional<OnnxTensor> folded = detail::fold_layers(build, *value->node);
                    if (folded)
                        value->known = fold_cast(build, with_dims(std::move(*folded), value->dims), value->type);
                }
                is_known = is_known && value->known.has_value();
                value->node.reset();
            }
        } catch (error const&) {
            is_known = false;
        }
        std::swap(build.constants, build_.constants);
        if (is_known) {
            for (std::size_t i = 0; i < outputs.size(); ++i) {
                if (outputs[i] == nullptr) continue;
                results[i].name = outputs[i]->name;
                *outputs[i] = std::move(results[i]);
            }
        } else if (mixes) {
            throw *mixes;
        }
    }
    /// Initializers of many bytes take eight times their size as integers. Another node that has them reads them again.
    void forget_bytes(NodeProto const& node) {
        Scope& scope = scopes_.back();
        for (const std::string_view name : node.inputs) {
            const auto value = scope.values.find(name);
            if (value == scope.values.end() || !scope.initializers.contains(name)) continue;
            if (value->second.known && detail::is_many_bytes(*value->second.known)) scope.values.erase(value);
        }
    }
    /// The branch that is taken stands in place of the node. Both do where only a run knows which one is: every
    /// element is then chosen.
    void translate_if(NodeProto const& node) {
        Value* condition = node.inputs.empty() ? nullptr : find(node.inputs[0]);
        if (condition == nullptr) fail("its condition is defined nowhere");
        const OnnxTensor* known = condition->known ? &*condition->known : condition->given;
        if (known == nullptr) return choose_branch(node, *condition);
        if (known->is_float() || known->size() != 1) fail("its condition ", condition->name, " is not one boolean");
        give_results(node, branch_of(node, known->integers[0] != 0 ? "then_branch" : "else_branch"));
    }
    void choose_branch(NodeProto const& node, Value& computed) {
        if (is_float(computed.type) || count_of(computed.dims) != 1) {
            fail("its condition ", computed.name, " is not one boolean");
        }
        if (!build_.is_whole()) throw MixesImages{"its condition is that of all images"};
        Value condition = computed;
        condition.node = build_.view({computed.dims, layer_of(computed, build_), {}}, build_.shape_of({}));
        condition.dims = {};
        std::vector<Value> yes = branch_of(node, "then_branch"), no = branch_of(node, "else_branch");
        build_.set_name(name_of(node, {}));
        for (std::size_t i = 0; i < yes.size(); ++i) {
            if (!scopes_.back().order->needed.contains(node.outputs[i])) continue;
            if (yes[i].dims != no[i].dims || is_float(yes[i].type) != is_float(no[i].type)) {
                fail("its branches give ", to_string(yes[i].dims), " of ", to_string(yes[i].type), " and ",
                     to_string(no[i].dims), " of ", to_string(no[i].type),
                     ", and which one is taken is not known when the model is loaded");
            }
            // As one row: a choice between tensors of any rank.
            const Sizes dims = yes[i].dims, row{static_cast<std::int64_t>(count_of(dims))};
            for (Value* const branch : {&yes[i], &no[i]}) {
                if (branch->known) {
                    branch->known = with_dims(*branch->known, row);
                } else {
                    const std::size_t layer = layer_of(*branch, build_);
                    branch->node = build_.view({dims, layer, {}}, build_.shape_of(row));
                    branch->quantised.reset();
                }
                branch->dims = row;
            }
            Value chosen;
            Call call(build_, files_, node, scopes_.back().opset, {&condition, &yes[i], &no[i]}, {&chosen});
            translate_where(call);
            if (chosen.known) chosen.known = with_dims(*chosen.known, dims);
            if (chosen.node) chosen.node = build_.view({row, chosen.node, {}}, build_.shape_of(dims));
            chosen.dims = dims;
            Call(build_, files_, node, scopes_.back().opset, {}, {&define(node.outputs[i])}).give(std::move(chosen));
        }
    }
    [[nodiscard]] std::vector<Value> branch_of(NodeProto const& node, std::string_view name) {
        const auto branch = std::ranges::find(node.attributes, name, &AttributeProto::name);
        if (branch == node.attributes.end()) fail("its ", name, " is missing");
        ModelProto graph;
        detail::read_graph(branch->g, graph);
        if (graph.outputs.size() != node.outputs.size()) fail("its ", name, " has another number of outputs");
        const Order order = order_of(graph);
        Scope const& around = scopes_.back();
        enter(graph.initializers, {.order = &order, .opset = around.opset, .attributes = around.attributes});
        return results_within(graph.nodes, names_of(graph.outputs), name);
    }
    /// The nodes of a function of the file stand in place of one that calls it.
    void translate_function_of_file(NodeProto const& node, std::vector<Value*> const& inputs) {
        constexpr int deepest = 16;
        if (depth_ == deepest) fail("functions within more than ", deepest, " others");
        const FunctionProto* const function = function_of(model_.functions, node);
        if (function == nullptr) fail("the operator is not supported");
        auto [place, is_new] = functions_.try_emplace(function);
        FunctionBody& body = place->second;
        if (is_new) body = read_function_body(function->bytes);
        // The first call counts as the file: later ones may convert its tensors again.
        if (!is_new) build_.constants.take(function->bytes.size(), 1);
        if (inputs.size() > body.inputs.size() || node.outputs.size() > body.outputs.size()) {
            fail("its function has ", body.inputs.size(), " inputs and ", body.outputs.size(), " outputs");
        }
        std::vector<AttributeProto> attributes = node.attributes;
        for (AttributeProto const& attribute : body.defaults) {
            if (std::ranges::find(attributes, attribute.name, &AttributeProto::name) == attributes.end())
                attributes.push_back(attribute);
        }
        std::vector<std::string_view> outputs(body.outputs.begin(),
                                              body.outputs.begin() + static_cast<std::ptrdiff_t>(node.outputs.size()));
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!scopes_.back().order->needed.contains(node.outputs[i])) outputs[i] = {};
        }
        const Order order = order_of(body.nodes, outputs);
        Scope scope{.order = &order,
                    .opset = body.opset == 0 ? model_.opset : body.opset,
                    .attributes = &attributes,
                    .is_function = true};
        for (std::size_t i = 0; i < body.inputs.size(); ++i) {
            Value* const value = i < inputs.size() && inputs[i] != nullptr ? inputs[i] : &left_out_;
            if (!scope.arguments.emplace(body.inputs[i], value).second) fail("its function has an input twice");
        }
        enter({}, std::move(scope));
        ++depth_;
        give_results(node, results_within(body.nodes, outputs, "function"));
        --depth_;
    }
    /// Translates the nodes of the innermost scope and leaves it. Returns its results; those without a name are not
    /// needed.
    [[nodiscard]] std::vector<Value> results_within(std::vector<NodeProto> const& nodes,
                                                    std::vector<std::string_view> const& outputs,
                                                    std::string_view what) {
        // A small file may call functions of functions very often.
        constexpr std::size_t most = 1 << 18;
        for (NodeProto const& inner : nodes) inner_ += 1 + inner.inputs.size() + inner.outputs.size();
        if (inner_ > most) fail("functions and branches with more than ", most, " nodes, inputs and outputs in all");
        Order const& order = *scopes_.back().order;
        require_operators(nodes, order, options_.own_operators, model_.functions);
        for (const std::size_t i : order.nodes) translate(nodes[i]);
        std::vector<Value> results;
        for (const std::string_view output : outputs) {
            if (output.empty()) {
                results.emplace_back();
                continue;
            }
            Value* value = find(output);
            if (value == nullptr || value == &left_out_) {
                fail("the output ", output, " of its ", what, " is defined nowhere");
            }
            if (!value->known) (void)layer_of(*value, build_);
            results.push_back(*value);
        }
        scopes_.pop_back();
        return results;
    }
    void give_results(NodeProto const& node, std::vector<Value> results) {
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (!scopes_.back().order->needed.contains(node.outputs[i])) continue;
            Value& value = define(node.outputs[i]);
            value = std::move(results[i]);
            value.name = node.outputs[i];
            value.is_input = false;
        }
    }
    /// The node, or in a function its copy with the attributes that the call gives.
    [[nodiscard]] NodeProto const& with_attributes(NodeProto const& node, NodeProto& copy) const {
        const auto refers = [](AttributeProto const& attribute) { return !attribute.refers_to.empty(); };
        if (std::ranges::none_of(node.attributes, refers)) return node;
        copy = node;
        copy.attributes.clear();
        for (AttributeProto const& attribute : node.attributes) {
            if (!refers(attribute)) {
                copy.attributes.push_back(attribute);
                continue;
            }
            if (scopes_.back().attributes == nullptr) {
                fail(describe(node), ": its attribute ", attribute.name, " is that of a function, and it is in none");
            }
            // One that the call leaves out is left out here, too.
            for (AttributeProto const& given : *scopes_.back().attributes) {
                if (given.name == attribute.refers_to) copy.attributes.emplace_back(given).name = attribute.name;
            }
        }
        return copy;
    }
    [[nodiscard]] Value& define(std::string_view name) {
        Scope& scope = scopes_.back();
        const auto [place, is_new] = scope.values.try_emplace(name);
        if (!is_new || scope.initializers.contains(name) || scope.arguments.contains(name))
            fail("its output ", name, " is an input or initializer too");
        place->second.name = name;
        return place->second;
    }

    [[nodiscard]] std::size_t layer_of_result(Value& value) {
        try {
            build_.set_name(value.name);
            if (!value.known) return layer_of(value, build_);
            if (value.known->size() == 0) return build_.view({{}, std::nullopt, nothing_});
            const OnnxTensor image = build_.image_of(*value.known);
            return build_.view({image.dims, std::nullopt, image});
        } catch (error const& fault) {
            fail("output ", value.name, ": ", std::string_view(fault.what()));
        }
    }

    /// Only what the results need; inputs first, in the order of the file.
    [[nodiscard]] OnnxModel remove_channels(std::vector<std::size_t> const& results) {
        GraphEditor editor(build_.graph());
        editor.set_outputs(results);
        editor.remove_unneeded();
        OnnxModel result;
        std::vector<std::size_t> images;
        for (const Value* input : inputs_) {
            if (!input->node || editor.removed(*input->node)) continue;
            images.push_back(*input->node);
            const auto info = std::ranges::find(model_.inputs, input->name, &ValueInfoProto::name);
            result.inputs.push_back({std::string(input->name), input->dims, input->type, open_batch(*info, input->dims),
                                     open_sizes(*info, input->dims)});
        }
        result.graph = with_moved_ranges(editor.graph(images));
        for (std::size_t i = 0; i < editor.size(); ++i) {
            if (editor.removed(i)) continue;
            for (auto const& [suffix, weight] : build_.weights(i)) result.weights.add(editor[i].name + suffix, weight);
        }
        const auto transposed = build_.origins();
        result.graph.set_shared(shared_weights(result.graph, result.weights, transposed));
        result.origins = origins_of(result.weights, transposed);
        return result;
    }
    /// Layers that only move values know their input's range.
    [[nodiscard]] static Graph with_moved_ranges(Graph graph) {
        for (std::size_t i = 0; i < graph.size(); ++i) {
            if (graph[i].range.known() || !keeps_range(graph[i].layer)) continue;
            graph.set_range(i, graph[graph[i].inputs[0]].range);
        }
        return graph;
    }
    [[nodiscard]] std::map<std::string, OnnxOrigin, std::less<>> origins_of(
        Weights const& weights, std::map<StoredFloats::Place, StoredFloats::Place> const& transposed) const {
        // The same elements under other names come after those of the file: a map keeps the first.
        std::map<StoredFloats::Place, std::pair<std::string_view, std::size_t>> places;
        const auto add = [&](std::string_view name) {
            const auto value = scopes_.front().values.find(name);
            if (value == scopes_.front().values.end() || !value->second.known || !value->second.known->is_float())
                return;
            StoredFloats const& floats = value->second.known->floats;
            if (!floats.empty()) places.try_emplace(floats.place(), name, floats.size());
        };
        for (InitializerProto const& initializer : model_.initializers) {
            if (!initializer.is_sparse) add(initializer.name);
        }
        for (NodeProto const& node : model_.nodes) {
            if (node.op == "Constant" && !node.outputs.empty()) add(node.outputs[0]);
        }
        std::map<std::string, OnnxOrigin, std::less<>> origins;
        for (auto const& [name, weight] : weights) {
            if (weight.values.empty()) continue;
            const StoredFloats::Place place = weight.values.place();
            const auto rotated = transposed.find(place);
            const auto found = places.find(rotated == transposed.end() ? place : rotated->second);
            if (found == places.end() || found->second.second != weight.values.size()) continue;
            origins.emplace(name, OnnxOrigin{std::string(found->second.first), rotated != transposed.end()});
        }
        return origins;
    }

    ModelProto const& model_;
    Order const& order_;
    Files& files_;
    OnnxOptions const& options_;
    Builder build_;
    /// The innermost last.
    std::deque<Scope> scopes_;
    std::vector<const Value*> inputs_;
    std::unordered_map<std::string_view, std::size_t> nameless_;
    std::map<const FunctionProto*, FunctionBody> functions_;
    /// Functions around the present node; what inner graphs have held so far.
    int depth_ = 0;
    std::size_t inner_ = 0;
    /// Stands for an input of a function that a call leaves out.
    Value left_out_;
    /// Stands for an output without elements.
    OnnxTensor nothing_ = own_elements<float>({}, OnnxType::float32, {0.0F});
};

/// The model for no images at all: its results have no elements. They are those of two images, of which none is left;
/// nothing if images do not stay apart, or if there are some.
[[nodiscard]] inline std::optional<OnnxModel> import_empty_batch(ModelProto const& model, Order const& order,
                                                                 Files& files, OnnxOptions const& options) {
    OnnxOptions two = options;
    bool is_empty = false;
    for (ValueInfoProto const& info : model.inputs) {
        const auto given = options.values.find(info.name);
        const auto dims = options.dims.find(info.name);
        if (given == options.values.end() && dims == options.dims.end()) continue;
        Sizes sizes = given == options.values.end() ? dims->second : given->second.dims;
        const bool has_images = sizes.size() > 1 && is_float(info.type) && order.needed.contains(info.name);
        if (!has_images || sizes[0] != 0) continue;
        is_empty = true;
        sizes[0] = 2;
        two.dims.insert_or_assign(std::string(info.name), std::move(sizes));
        if (given != options.values.end()) two.values.erase(given->first);
    }
    if (!is_empty) return std::nullopt;
    OnnxModel result;
    try {
        result = Import(model, order, files, two, 2).run();
    } catch (MixesImages const&) {
        return std::nullopt;
    } catch (error const&) {
        return std::nullopt;  // what follows from the first extent may need that it is 0
    }
    for (OnnxValueInfo& info : result.inputs) {
        info.dims[0] = -1;
        result.unread.push_back(std::move(info));
    }
    result.inputs.clear();
    result.origins.clear();
    result.weights = Weights();
    result.graph = Graph();
    std::vector<std::size_t> results;
    for (OnnxValueInfo& info : result.outputs) {
        info.dims[0] = 0;
        const std::string name = join("output_", results.size());
        results.push_back(result.graph.add(name, ConstantParams{Shape{1, 1, 1}}, {}));
        result.weights.add(name + ".value", {1, 1, 1}, {0.0F});
    }
    result.graph.set_outputs(results);
    return result;
}

/// The number of images for which the file is written, where the options ask for another: 1 if an input says so; other
/// numbers only if all inputs agree. Nothing where the file has what the options ask for.
[[nodiscard]] inline std::optional<int> other_batch(ModelProto const& model, Order const& order,
                                                    OnnxOptions const& options) {
    if (options.batch < 1) return std::nullopt;
    std::optional<std::int64_t> own;
    bool agree = true, has_one = false;
    for (ValueInfoProto const& info : model.inputs) {
        const bool has_default =
            std::ranges::find(model.initializers, info.name, &InitializerProto::name) != model.initializers.end();
        if (has_default || !order.needed.contains(info.name) || info.dims.size() < 2) continue;
        agree = agree && info.dims[0] && own.value_or(*info.dims[0]) == *info.dims[0];
        has_one = has_one || info.dims[0] == 1;
        own = info.dims[0];
    }
    if (has_one) own = 1;
    if (!own || !(agree || has_one) || *own == options.batch || *own > (1 << 24)) return std::nullopt;
    return static_cast<int>(*own);
}
/// The same model for as many images as the file has, if the options have inputs for `options.batch` of them.
[[nodiscard]] inline OnnxOptions for_own_batch(OnnxOptions options, ModelProto const& model, int own) {
    const int wanted = std::exchange(options.batch, own);
    for (ValueInfoProto const& info : model.inputs) {
        const auto given = options.values.find(info.name);
        const bool is_image = info.dims.size() > 1 && given != options.values.end() && is_float(given->second.type) &&
                              given->second.dims.size() == info.dims.size() && given->second.dims[0] == wanted;
        if (!is_image) continue;
        options.dims.insert_or_assign(std::string(info.name), given->second.dims);
        options.values.erase(given);
    }
    for (auto& [name, dims] : options.dims) {
        if (dims.size() > 1 && dims[0] == wanted) dims[0] = own;
    }
    return options;
}
/// The model of `own` images for another number of them: each is computed as before.
inline void change_batch(OnnxModel& model, int own, int wanted) {
    const auto refuse = [&](auto const&... why) {
        fail("the file is of ", own == 1 ? "one image" : join(own, " images"), ", and ", wanted,
             " cannot run one by one: ", why...);
    };
    if (model.graph.batch() != own) refuse("its layers mix them");
    for (auto* infos : {&model.inputs, &model.outputs}) {
        for (OnnxValueInfo& info : *infos) {
            if (info.dims.empty() || info.dims[0] != own) {
                refuse(infos == &model.inputs ? "input " : "result ", info.name, " of ", to_string(info.dims),
                       " has no leading axis of images");
            }
            info.dims[0] = wanted;
            info.open_batch = info.open_batch.value_or("");
        }
    }
    model.graph = with_batch(model.graph, wanted);
}

[[nodiscard]] inline OnnxModel import_model(ModelProto const& model, Files& files, OnnxOptions const& options) {
    if (!model.has_graph) fail("not an ONNX model: it has no graph");
    if (model.opset < 1) fail("not an ONNX model: it states no version of ONNX's operators");
    if (model.opset > newest_opset) {
        fail("opset ", model.opset, " is newer than ", newest_opset, ", the newest that is supported");
    }
    if (model.outputs.empty()) fail("it has no outputs");
    const Order order = order_of(model);
    if (auto empty = import_empty_batch(model, order, files, options)) return std::move(*empty);
    if (const auto own = other_batch(model, order, options)) {
        OnnxModel result = import_model(model, files, for_own_batch(options, model, *own));
        change_batch(result, *own, options.batch);
        return result;
    }
    Import whole(model, order, files, options, 0);
    const auto is_image = [](const Value* input) { return input->type != OnnxType::undefined && !input->dims.empty(); };
    const auto first = std::ranges::find_if(whole.inputs(), is_image);
    const std::int64_t images = first == whole.inputs().end() ? 1 : (*first)->dims[0];
    // For one image, both ways are the same.
    if (images == 1) return whole.run();
    std::string reason;
    try {
        return Import(model, order, files, options, images).run();
    } catch (MixesImages const& fault) {
        reason = fault.reason;
    }
    try {
        return whole.run();
    } catch (error const& fault) {
        std::string advice;
        for (const Value* input : whole.inputs()) {
            if (!is_image(input) || input->dims[0] != 1) continue;
            Sizes copies = input->dims;
            copies[0] = images;
            advice += join("; input ", input->name, " is one tensor for all images: by OnnxOptions::dims ", input->name,
                           '=', to_string(copies), " it has one for each, and takes as many copies");
        }
        fail(std::string_view(fault.what()), " (the ", images, " images cannot run one by one: ", reason, ')', advice);
    }
}

}  // namespace onnx

}  // namespace primsel::inline PRIMSEL_ABI
