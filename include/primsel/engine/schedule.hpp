#pragma once

#include <primsel/engine/detail/make_strips.hpp>
#include <primsel/engine/ready_step.hpp>
#include <primsel/engine/step.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/plan/make_plan.hpp>
#include <primsel/plan/parts_of_batch.hpp>
#include <primsel/plan/strips.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace engine::detail {

/// Bytes that a step reads and writes of one image, were they all floats and without padding.
[[nodiscard]] inline std::size_t activations(ScheduledStep const& step) {
    std::size_t elements = step.dst_shape.size();
    for (Shape const& shape : step.src_shapes) elements += shape.size();
    return elements * sizeof(float);
}
/// Bytes of its weights.
[[nodiscard]] inline std::size_t weights(ScheduledStep const& step) {
    const auto bytes = [](ScheduledConv const& conv) { return conv.primitive->packed_bytes(conv.shape); };
    if (const auto* conv = std::get_if<ConvStep>(&step.work)) return bytes(conv->conv);
    if (const auto* strips = std::get_if<StripsStep>(&step.work)) {
        std::size_t sum = 0;
        for (ScheduledConv const& conv : strips->convs) sum += bytes(conv);
        return sum;
    }
    const auto* op = std::get_if<OpStep>(&step.work);
    const bool has_weights = op != nullptr && op->op->packed_bytes != nullptr;
    return has_weights ? op->op->packed_bytes(op->layer, step.src_shapes[0]) : 0;
}

/// Scratch of a step for one image.
[[nodiscard]] inline std::size_t scratch_bytes(ScheduledStep const& step, std::size_t workers) {
    if (const auto* strips = std::get_if<StripsStep>(&step.work))
        return make_strips(strips->convs, strips->rows).bytes(workers);
    if (const auto* conv = std::get_if<ConvStep>(&step.work)) {
        return conv->conv.primitive->scratch_bytes(conv->conv.shape, workers, 1);
    }
    const auto* op = std::get_if<OpStep>(&step.work);
    if (op == nullptr || op->op->scratch_bytes == nullptr) return 0;
    return op->op->scratch_bytes(op->layer, step.src_shapes, workers);
}

class Scheduler {
public:
    Scheduler(Graph const& graph, Kernels const& kernels, Plan const& plan, std::size_t workers)
        : graph_(graph),
          kernels_(kernels),
          plan_(plan),
          workers_(workers),
          outputs_(graph.outputs()),
          tensor_(graph.size(), no_tensor),
          in_layout_(graph.size()),
          out_layout_(graph.size()),
          last_reader_(last_readers(graph)),
          readers_(graph.uses()),
          strips_(graph.size(), nullptr) {}

    [[nodiscard]] Schedule schedule() {
        if (plan_.layers.size() != graph_.size())
            fail("plan: ", plan_.layers.size(), " layers for a graph of ", graph_.size());
        result_.inputs = graph_.inputs().size();
        result_.outputs = outputs_.size();
        for (const std::size_t input : graph_.inputs()) result_.image_bytes.push_back(bytes(input, 0));
        for (const std::size_t output : outputs_) {
            result_.image_bytes.push_back(of_batch(graph_[output].layer) ? 0 : bytes(output, 0));
        }
        for (std::size_t i = 0; i < graph_.size(); ++i) read_plan(i);
        for (std::size_t i = 0; i < graph_.size(); ++i) find_parts(i);
        for (PlannedStrips const& strips : plan_.strips) read_strips(strips);
        std::size_t inputs = 0;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (std::holds_alternative<InputParams>(graph_[i].layer)) {
                if (out_layout_[i] != 0) {
                    fail("plan: layer ", graph_[i].name, " is an image in ", plan_.layers[i].out_layout,
                         "; images come in ", kernels_.layouts[0].name);
                }
                tensor_[i] = inputs++;
            } else if (std::holds_alternative<ConstantParams>(graph_[i].layer)) {
                tensor_[i] = book(0);
                result_.constants.push_back({tensor_[i], i, out_layout_[i]});
            } else if (std::holds_alternative<ParameterParams>(graph_[i].layer)) {
                tensor_[i] = book(0);
                result_.parameters.push_back({tensor_[i], i});
            } else if (strips_[i] != nullptr) {
                if (strips_[i]->layers.back() == graph_[i].name) add_strips(i);
            } else if (tensor_[i] == no_tensor) {
                add_layer(i);
            }
            deliver(i);
        }
        divide_batch();
        return std::move(result_);
    }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();  // no node

    void read_plan(std::size_t i) {
        Node const& node = graph_[i];
        PlannedLayer const& planned = plan_.layers[i];
        if (planned.name != node.name) fail("plan: layer ", planned.name, " stands where the graph has ", node.name);
        in_layout_[i] = find_layout(planned.in_layout, node.name);
        out_layout_[i] = find_layout(planned.out_layout, node.name);
    }
    void read_strips(PlannedStrips const& strips) {
        const auto refuse = [&](std::string const& why) {
            fail("plan: layers ", strips.layers.empty() ? "" : strips.layers.front(), " to ",
                 strips.layers.empty() ? "" : strips.layers.back(), " cannot be computed in strips: ", why);
        };
        const std::size_t count = strips.layers.size();
        if (count < 2 || count > most_strip_layers) refuse(join("they are ", count));
        std::size_t node = 0;
        while (node < graph_.size() && graph_[node].name != strips.layers[0]) ++node;
        if (node + count > graph_.size()) refuse("they are not there");
        for (std::size_t i = 0; i < count; ++i, ++node) {
            if (graph_[node].name != strips.layers[i] || (i > 0 && !read_by_next(graph_, node - 1, readers_))) {
                refuse("they do not follow each other");
            }
            if (!joins_strips(graph_, kernels_, plan_.layers[node], node)) {
                refuse(join(graph_[node].name, " by ", plan_.layers[node].primitive, " makes no rows by themselves"));
            }
            if (strips_[node] != nullptr) refuse(join(graph_[node].name, " is in others"));
            strips_[node] = &strips;
        }
        const int height = graph_[node - 1].shape.h;
        if (strips.rows < 1 || strips.rows > height) refuse(join(strips.rows, " rows of ", height));
    }
    /// A concatenation of channels in hwc, or in bytes of one range, is no step of its own where all of its inputs are
    /// convolutions that nobody else reads and whose primitives can write their channels where they belong.
    void find_parts(std::size_t i) {
        const auto* concat = std::get_if<ConcatParams>(&graph_[i].layer);
        if (concat == nullptr || concat->axis != Axis::c || last_reader_[i] == none) return;
        if (in_layout_[i] != out_layout_[i] ||
            !std::ranges::all_of(graph_[i].inputs, [&](std::size_t input) { return writes_part(input, i); }))
            return;
        std::size_t first = 0;
        for (const std::size_t input : graph_[i].inputs) {
            parts_[input] = {i, first};
            first += part_floats(input, i);
        }
    }
    /// The floats that a pixel's channels fill in the concatenation, or 0 if they fill a part of a float.
    [[nodiscard]] std::size_t part_floats(std::size_t node, std::size_t concat) const {
        const std::size_t part =
            static_cast<std::size_t>(graph_[node].shape.c) * kernels_.layouts[out_layout_[concat]].element_bytes;
        return part % sizeof(float) == 0 ? part / sizeof(float) : 0;
    }
    [[nodiscard]] bool writes_part(std::size_t node, std::size_t concat) const {
        const bool conv = std::holds_alternative<ConvParams>(graph_[node].layer);
        if (!conv || graph_[node].epilogue.residual || out_layout_[node] != in_layout_[concat]) return false;
        const bool of_bytes = kernels_.layouts[in_layout_[concat]].precision == Precision::int8;
        if (of_bytes && graph_[node].range != graph_[concat].range) return false;
        if (part_floats(node, concat) == 0) return false;
        PrimitiveEntry const& primitive = find_primitive(plan_.layers[node]);
        return primitive.strided_output && primitive.fuses_epilogue && readers_[node] == 1 &&
               std::ranges::find(outputs_, node) == outputs_.end();
    }

    [[nodiscard]] std::size_t find_layout(std::string_view name, std::string_view layer) const {
        if (const auto found = kernels_.find_layout_if_any(name)) return *found;
        fail("plan: layer ", layer, " uses an unknown layout, ", name);
    }
    [[nodiscard]] PrimitiveEntry const& find_primitive(PlannedLayer const& layer) const {
        if (const auto found = kernels_.find_if_any(layer.primitive)) return kernels_.primitives[*found];
        fail("plan: layer ", layer.name, " uses an unknown primitive, ", layer.primitive);
    }
    /// Bytes of one image of a node's result.
    [[nodiscard]] std::size_t bytes(std::size_t node, std::size_t layout) const {
        LayoutEntry const& entry = kernels_.layouts[layout];
        const Shape shape = graph_[node].shape;
        const std::size_t elements = entry.size(shape);
        if (elements < shape.size() || elements > most_elements) {
            fail("plan: layout ", entry.name, " keeps ", shape, ", the result of layer ", graph_[node].name, ", in ",
                 elements, " elements");
        }
        entry.check_strides(shape, graph_[node].name);
        return elements * entry.element_bytes;
    }
    /// No layout and no primitive needs more (see max_floats); a size that wrapped around is nearly always beyond it.
    static constexpr std::size_t most_elements = static_cast<std::size_t>(max_floats)
                                                 << (sizeof(std::size_t) == 8 ? 10 : 0);

    /// A tensor of the arena, alive from the step that writes it, the next one, to the last that reads it.
    std::size_t book(std::size_t bytes, std::size_t image_bytes = 0) {
        result_.lifetimes.push_back({bytes, result_.steps.size(), result_.steps.size()});
        result_.image_bytes.push_back(image_bytes);
        return result_.tensors() - 1;
    }
    /// The same for a node's result in a layout; for one image until the batch is divided, unless it belongs to all.
    std::size_t book_result(std::size_t node, std::size_t layout) {
        const std::size_t image = bytes(node, layout);
        return book(image, of_batch(graph_[node].layer) ? 0 : image);
    }
    void use(std::size_t tensor) {
        if (tensor < result_.callers() || tensor == no_tensor) return;
        Lifetime& lifetime = result_.lifetimes[tensor - result_.callers()];
        lifetime.last = std::max(lifetime.last, result_.steps.size());
    }
    void add(ScheduledStep step) {
        for (const std::size_t src : step.src) use(src);
        use(step.residual());
        use(step.dst);
        result_.steps.push_back(std::move(step));
    }
    [[nodiscard]] ScheduledStep change_of_layout(std::size_t node, std::size_t to, std::size_t dst) const {
        return {.node = node,
                .src = {tensor_[node]},
                .src_shapes = {graph_[node].shape},
                .dst = dst,
                .dst_shape = graph_[node].shape,
                .work = TransformStep{&kernels_.transform(out_layout_[node], to)}};
    }
    /// The tensor that holds a node's result in a layout, changing it if need be.
    [[nodiscard]] std::size_t read(std::size_t node, std::size_t layout) {
        if (kernels_.same_placement(graph_[node].shape, out_layout_[node], layout)) return tensor_[node];
        const auto [found, fresh] = copies_.try_emplace({node, layout}, no_tensor);
        if (fresh) {
            found->second = book_result(node, layout);
            add(change_of_layout(node, layout, found->second));
        }
        return found->second;
    }

    void add_layer(std::size_t i) {
        Node const& node = graph_[i];
        (void)bytes(i, out_layout_[i]);  // checked even where the result is the caller's
        ScheduledStep step{.node = i, .src_shapes = graph_.input_shapes(i), .dst_shape = node.shape};
        std::size_t residual = no_tensor;
        for (std::size_t position = 0; position < node.inputs.size(); ++position) {
            const std::size_t from =
                read(node.inputs[position], plan::read_layout(node, position, in_layout_[i], out_layout_[i]));
            if (node.epilogue.residual && position + 1 == node.inputs.size())
                residual = from;
            else
                step.src.push_back(from);
        }
        if (const auto task = conv_task(graph_, i))
            add_conv(std::move(step), residual, *task);
        else
            add_op(std::move(step));
    }

    /// Where a node's result goes: to the caller where it can leave as it is.
    [[nodiscard]] std::size_t destination(std::size_t node) {
        const auto output = std::ranges::find(outputs_, node);
        if (output != outputs_.end() && kernels_.same_placement(graph_[node].shape, out_layout_[node], 0)) {
            return result_.inputs + static_cast<std::size_t>(output - outputs_.begin());
        }
        return book_result(node, out_layout_[node]);
    }

    [[nodiscard]] ScheduledConv describe_conv(std::size_t i, ConvTask const& task) const {
        Node const& node = graph_[i];
        const auto* params = std::get_if<ConvParams>(&node.layer);
        PlannedLayer const& planned = plan_.layers[i];
        PrimitiveEntry const& primitive = find_primitive(planned);
        ScheduledConv conv{.node = i,
                           .primitive = &primitive,
                           .shape = shape_for(primitive, task),
                           .kernel = task.kernel,
                           .rotated = turns_kernel(primitive, task),
                           .bias = params != nullptr && (params->bias || !node.epilogue.folded.empty()),
                           .clamp = node.epilogue.clamp};
        const bool layouts_fit = kernels_.layouts[primitive.in_layout].name == planned.in_layout &&
                                 kernels_.layouts[primitive.out_layout].name == planned.out_layout;
        if (const Support support = supports(primitive, task); !support || !layouts_fit) {
            fail("plan: layer ", node.name, ": ", primitive.id, " cannot compute ", to_string(conv.shape), " ",
                 planned.in_layout, " -> ", planned.out_layout, ": ", support ? "wrong layouts" : support.reason());
        }
        return conv;
    }
    /// Chooses the tensor of a convolution's result. Returns the channels of that tensor that it writes.
    [[nodiscard]] WrittenChannels place_result(ScheduledStep& step) {
        const auto part = parts_.find(step.node);
        if (part == parts_.end()) {
            step.dst = tensor_[step.node] = destination(step.node);
            return {};
        }
        auto const& [concat, first] = part->second;
        if (tensor_[concat] == no_tensor) tensor_[concat] = book_result(concat, out_layout_[concat]);
        step.dst = tensor_[concat];
        const std::size_t image = bytes(concat, out_layout_[concat]);
        return {.offset = first, .stride = image / graph_[concat].shape.pixels() / sizeof(float)};
    }
    void add_conv(ScheduledStep step, std::size_t residual, ConvTask const& task) {
        ConvStep conv{.conv = describe_conv(step.node, task)};
        if (task.pass == Pass::input_gradient) {  // its kernel is no tensor of the arena, but packed
            step.src.pop_back();
            step.src_shapes.pop_back();
        }
        conv.written = place_result(step);
        Node const& node = graph_[step.node];
        PrimitiveEntry const& primitive = *conv.conv.primitive;
        const std::size_t scratch =
            primitive.scratch_bytes(conv.conv.shape, workers_, primitive.whole_batch ? graph_.batch() : 1);
        if (scratch > most_elements * sizeof(float)) {
            fail("plan: layer ", node.name, ": primitive ", primitive.id, " asks for ", scratch,
                 " bytes of scratch to compute ", to_string(conv.conv.shape));
        }
        if (scratch > 0) conv.scratch = book(scratch);
        if (task.packs) conv.packed = book(primitive.packed_bytes(conv.conv.shape));
        const Clamp summand = node.epilogue.summand.known() ? bounds_of(node.epilogue.summand) : Clamp{};
        if (primitive.fuses_epilogue && !plan::needs_pass(primitive, node)) {
            conv.conv.residual = residual, conv.conv.summand = summand;
            step.work = std::move(conv);
            return add(std::move(step));
        }
        const EpilogueStep epilogue{.layout = &kernels_.layouts[out_layout_[step.node]],
                                    .bias = conv.conv.bias,
                                    .clamp = conv.conv.clamp,
                                    .residual = residual,
                                    .summand = summand};
        ScheduledStep after = step;
        after.src.clear();
        after.work = epilogue;
        conv.conv.bias = false;
        conv.conv.clamp = {};
        step.work = std::move(conv);
        add(std::move(step));
        if (epilogue.bias || residual != no_tensor || epilogue.clamp != Clamp{}) {
            if (epilogue.layout->epilogue == nullptr) {
                fail("plan: layer ", node.name, ": primitive ", primitive.id,
                     " must add bias and activation itself, as elements of layout ",
                     plan_.layers[after.node].out_layout, " are no floats");
            }
            add(std::move(after));
        }
    }

    /// Convolutions in strips, of which this node is the last.
    void add_strips(std::size_t last) {
        PlannedStrips const& planned = *strips_[last];
        ScheduledStep step{.node = last, .dst_shape = graph_[last].shape};
        StripsStep strips{.convs = {}, .rows = planned.rows};
        for (std::size_t i = last + 1 - planned.layers.size(); i <= last; ++i) {
            Node const& node = graph_[i];
            ScheduledConv& conv = strips.convs.emplace_back(describe_conv(i, *conv_task(graph_, i)));
            (void)bytes(i, out_layout_[i]);  // checks the layout
            const auto reads = [&](std::size_t input) {
                step.src.push_back(read(node.inputs[input], in_layout_[i]));
                step.src_shapes.push_back(graph_[node.inputs[input]].shape);
                return step.src.back();
            };
            if (strips.convs.size() == 1) reads(0);
            if (node.epilogue.residual) conv.residual = reads(node.inputs.size() - 1);
        }
        strips.written = place_result(step);
        strips.scratch = book(make_strips(strips.convs, strips.rows).bytes(workers_));
        step.work = std::move(strips);
        add(std::move(step));
    }

    void add_op(ScheduledStep step) {
        Node const& node = graph_[step.node];
        PlannedLayer const& planned = plan_.layers[step.node];
        const auto layout = kernels_.find_op(node.layer, planned.primitive, in_layout_[step.node]);
        if (!layout || kernels_.op(node.layer, *layout).run == nullptr || planned.in_layout != planned.out_layout) {
            fail("plan: layer ", planned.name, " (", planned.kind, ") cannot run ", planned.in_layout, " -> ",
                 planned.out_layout, planned.primitive.empty() ? "" : join(" by ", planned.primitive));
        }
        OpEntry const& op = kernels_.op(node.layer, *layout);
        if (renames_image(step, op)) {
            tensor_[step.node] = step.src[0];
            return;
        }
        std::size_t scratch = no_tensor;
        if (op.scratch_bytes != nullptr) {
            const std::size_t bytes = op.scratch_bytes(node.layer, step.src_shapes, workers_);
            if (bytes > most_elements * sizeof(float)) {
                fail("plan: layer ", planned.name, " (", planned.kind, ") asks for ", bytes, " bytes of scratch");
            }
            if (bytes > 0) scratch = book(bytes);
        }
        step.dst = tensor_[step.node] = may_overwrite(step, op) ? step.src[0] : destination(step.node);
        step.work = OpStep{.op = &op, .layer = node.layer, .clamp = node.epilogue.clamp, .scratch = scratch};
        add(std::move(step));
    }
    /// Returns whether the step would copy the caller's image to give it another name or shape. Nothing writes to that
    /// image, so whoever reads the result can read the image.
    [[nodiscard]] bool renames_image(ScheduledStep const& step, OpEntry const& op) const {
        const std::size_t src = step.src[0];
        Node const& node = graph_[step.node];
        if (!op.in_place || src >= result_.inputs || tensor_[node.inputs[0]] != src || step.src.size() != 1)
            return false;
        const OpCounts counts = op.work(node.layer, step.src_shapes, step.dst_shape);
        return counts.operations + counts.scalars + counts.bytes == 0 && node.epilogue.clamp == Clamp{} &&
               std::ranges::find(outputs_, step.node) == outputs_.end() &&
               step.src_shapes[0].size() == step.dst_shape.size();
    }
    /// In place where nobody reads the input later.
    [[nodiscard]] bool may_overwrite(ScheduledStep const& step, OpEntry const& op) const {
        const std::size_t src = step.src[0], input = graph_[step.node].inputs[0];
        if (!op.in_place || src < result_.callers() || tensor_[input] != src) return false;
        const bool leaves = std::ranges::find(outputs_, step.node) != outputs_.end();
        const bool constant =
            std::ranges::find(result_.constants, src, &StoredConstant::tensor) != result_.constants.end();
        return !leaves && !constant && last_reader_[input] == step.node && std::ranges::count(step.src, src) == 1 &&
               step.src_shapes[0].size() == step.dst_shape.size();
    }

    /// A result that is not where the caller wants it: changes its layout, or copies it.
    void deliver(std::size_t node) {
        for (std::size_t output = 0; output < outputs_.size(); ++output) {
            const std::size_t dst = result_.inputs + output;
            if (outputs_[output] != node || tensor_[node] == dst) continue;
            (void)bytes(node, 0);  // checks the layout
            add(change_of_layout(node, 0, dst));
        }
    }

    /// Image after image, activations stay in the caches but weights come from memory again for each; all images at
    /// once, it is the other way round. The first steps of a network have large images and the last ones large weights:
    /// divided where the fewest bytes come again and again. What the first steps leave to the others is kept of all
    /// images, for as long as the first steps last.
    void divide_batch() {
        const auto batch = static_cast<std::size_t>(graph_.batch());
        if (batch == 1) return;
        const bool whole = goes_layer_by_layer(graph_);
        std::size_t again = 0;
        for (ScheduledStep const& step : result_.steps) again += activations(step);
        for (std::size_t i = 0, least = again; i < result_.steps.size() && !whole; ++i) {
            again += weights(result_.steps[i]);
            again -= activations(result_.steps[i]);
            if (again <= least) {
                least = again;
                result_.single = i + 1;
            }
        }
        for (std::size_t i = 0; i < result_.lifetimes.size(); ++i) {
            Lifetime& lifetime = result_.lifetimes[i];
            std::size_t& image = result_.image_bytes[result_.callers() + i];
            if (lifetime.last < result_.single) {
                image = 0;
            } else if (image > 0) {
                lifetime.bytes = batch * image;
                if (lifetime.first < result_.single) lifetime.first = 0;
            }
        }
    }
    [[nodiscard]] static std::vector<std::size_t> last_readers(Graph const& graph) {
        std::vector<std::size_t> last(graph.size(), none);
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (const std::size_t input : graph[i].inputs) last[input] = i;
        }
        for (const std::size_t output : graph.outputs()) last[output] = none;
        return last;
    }

    Graph const& graph_;
    Kernels const& kernels_;
    Plan const& plan_;
    std::size_t workers_;
    std::vector<std::size_t> outputs_;
    std::vector<std::size_t> tensor_, in_layout_, out_layout_, last_reader_, readers_;
    std::vector<PlannedStrips const*> strips_;  // that each node is in
    struct Part {
        std::size_t concat, first;
    };
    std::map<std::size_t, Part> parts_;  // convolutions that write a part of each pixel, from float first on
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> copies_;  // (node, layout) -> tensor
    Schedule result_;
};

}  // namespace engine::detail

/// The steps of a plan, for so many workers. Throws error when the plan does not fit the graph and kernels.
[[nodiscard]] inline Schedule make_schedule(Graph const& graph, Kernels const& kernels, Plan const& plan,
                                            std::size_t workers) {
    const std::size_t parts = plan.images_apart ? parts_of_batch(graph, workers) : 1;
    if (parts == 1) return engine::detail::Scheduler(graph, kernels, plan, workers).schedule();
    const Graph part = part_of_batch(graph, parts);
    Schedule result = engine::detail::Scheduler(part, kernels, plan, 1).schedule();
    result.parts = parts;
    return result;
}
/// Where the tensors of a schedule lie in its arena; each part of a batch has as much room as the first.
[[nodiscard]] inline ArenaLayout place_buffers(Schedule const& schedule) {
    ArenaLayout layout = place_buffers(schedule.lifetimes);
    layout.bytes *= schedule.parts;
    return layout;
}

}  // namespace primsel::inline PRIMSEL_ABI
