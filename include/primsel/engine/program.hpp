#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/engine/arena.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/plan/make_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A plan made executable: weights packed, arena booked, steps in a row. run only executes.
class Program {
public:
    /// Throws error when the plan was made for something else than the graph and kernels, or the weights do not fit.
    Program(Graph const& graph, Kernels const& kernels, Plan const& plan, Weights const& weights, std::size_t workers)
        : batch_(graph.batch()), in_shape_(graph[graph.input()].shape), out_shape_(graph[graph.output_node()].shape) {
        in_floats_ = static_cast<std::size_t>(batch_) * kernels.layouts[0].size(in_shape_);
        out_floats_ = static_cast<std::size_t>(batch_) * kernels.layouts[0].size(out_shape_);
        check_key(plan.key, make_key(graph, kernels));
        check_weights(graph, weights);
        build(graph, kernels, plan, weights, workers);
    }

    /// src: a batch of images in the first layout; dst: room for as many results. They must not overlap.
    void run(const float* src, float* dst, ExecutorRef executor) noexcept {
        tensors_[source] = const_cast<float*>(src);  // no step writes to it
        tensors_[result] = dst;
        for (Step& step : steps_) run(step, executor);
    }

    [[nodiscard]] int batch() const { return batch_; }
    [[nodiscard]] Shape in_shape() const { return in_shape_; }
    [[nodiscard]] Shape out_shape() const { return out_shape_; }
    /// Of all images and all results in the first layout.
    [[nodiscard]] std::size_t in_floats() const { return in_floats_; }
    [[nodiscard]] std::size_t out_floats() const { return out_floats_; }
    [[nodiscard]] std::size_t arena_bytes() const { return arena_.size() * sizeof(float); }
    [[nodiscard]] std::size_t weight_bytes() const { return weight_floats_ * sizeof(float); }
    [[nodiscard]] std::size_t steps() const { return steps_.size(); }

    /// What each step computes: a layer's name, or that of the layer whose result changes its layout.
    [[nodiscard]] std::string const& step_name(std::size_t step) const { return names_[step]; }
    /// Runs one step alone, for a profiler; all steps in order are a run.
    void run_step(std::size_t step, ExecutorRef executor) noexcept { run(steps_[step], executor); }
    void bind(const float* src, float* dst) noexcept {
        tensors_[source] = const_cast<float*>(src);
        tensors_[result] = dst;
    }

private:
    static constexpr std::size_t source = 0, result = 1;  // tensors of the caller's
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    enum class Kind { conv, epilogue, op, transform };
    struct Step {
        Kind kind = Kind::op;
        ConvShape shape{};  // of one image
        PrimitiveEntry const* primitive = nullptr;
        LayoutEntry const* layout = nullptr;
        OpEntry const* op = nullptr;
        TransformEntry const* transform = nullptr;
        AnyLayer layer{};
        std::vector<std::size_t> src{};  // tensors
        std::vector<Shape> src_shapes{};
        std::vector<const float*> src_data{};  // filled in at each run
        Shape dst_shape{};
        std::size_t dst = none, residual = none, scratch = none;
        std::size_t src_image = 0, dst_image = 0;  // floats from image to image
        const float* weights = nullptr;
        const float* bias = nullptr;
        Clamp clamp{};
    };

    static void check_key(PlanKey const& plan, PlanKey const& here) {
        const auto compare = [](std::string_view what, std::string const& its, std::string const& ours) {
            if (its != ours) fail("plan: made for another ", what, ": ", its, ", here ", ours);
        };
        compare("library version", plan.version, here.version);
        compare("instruction set", plan.arch, here.arch);
        compare("processor", plan.cpu, here.cpu);
        compare("list of primitives", plan.primitives, here.primitives);
        compare("network", plan.network, here.network);
    }

    [[nodiscard]] static std::size_t find_layout(Kernels const& kernels, std::string_view name,
                                                 std::string_view layer) {
        for (std::size_t i = 0; i < kernels.layouts.size(); ++i) {
            if (kernels.layouts[i].name == name) return i;
        }
        fail("plan: layer ", layer, " uses an unknown layout, ", name);
    }
    [[nodiscard]] static PrimitiveEntry const& find_primitive(Kernels const& kernels, PlannedLayer const& layer) {
        for (PrimitiveEntry const& entry : kernels.primitives) {
            if (entry.id == layer.primitive) return entry;
        }
        fail("plan: layer ", layer.name, " uses an unknown primitive, ", layer.primitive);
    }

    /// A tensor of the arena, alive from the step that writes it to the last that reads it. Until the arena is laid
    /// out, tensors_ holds nothing for it.
    std::size_t book(std::size_t floats, std::size_t step) {
        lifetimes_.push_back({floats, step, step});
        tensors_.push_back(nullptr);
        return tensors_.size() - 1;
    }
    void use(std::size_t tensor, std::size_t step) {
        if (tensor > result) lifetimes_[tensor - 2].last = std::max(lifetimes_[tensor - 2].last, step);
    }
    /// Room for weights that lasts as long as the program.
    float* keep(std::size_t floats) {
        weight_floats_ += floats;
        return kept_.emplace_back(floats).data();
    }

    void build(Graph const& graph, Kernels const& kernels, Plan const& plan, Weights const& weights,
               std::size_t workers) {
        if (plan.layers.size() != graph.size())
            fail("plan: ", plan.layers.size(), " layers for a graph of ", graph.size());
        tensors_.assign(2, nullptr);
        std::vector<std::size_t> tensor(graph.size(), none), in_layout(graph.size()), out_layout(graph.size());
        std::map<std::pair<std::size_t, std::size_t>, std::size_t> copies;  // (node, layout) -> tensor
        const std::vector<std::size_t> last_reader = last_readers(graph);
        const auto batch = static_cast<std::size_t>(batch_);
        const auto floats = [&](std::size_t node, std::size_t layout) {
            return kernels.layouts[layout].size(graph[node].shape);
        };
        const auto add = [&](Step step, std::string const& name) {
            for (const std::size_t src : step.src) use(src, steps_.size());
            if (step.residual != none) use(step.residual, steps_.size());
            use(step.dst, steps_.size());
            step.src_data.resize(step.src.size());
            steps_.push_back(std::move(step));
            names_.push_back(name);
        };
        // The tensor that holds a node's result in a layout, changing it if need be.
        const auto read = [&](std::size_t node, std::size_t layout) {
            if (kernels.same_placement(graph[node].shape, out_layout[node], layout)) return tensor[node];
            const auto [found, fresh] = copies.try_emplace({node, layout}, none);
            if (!fresh) return found->second;
            Step step{.kind = Kind::transform,
                      .transform = &kernels.transform(out_layout[node], layout),
                      .layer = {},
                      .src = {tensor[node]},
                      .src_shapes = {graph[node].shape},
                      .dst_shape = graph[node].shape,
                      .src_image = floats(node, out_layout[node]),
                      .dst_image = floats(node, layout)};
            found->second = step.dst = book(batch * step.dst_image, steps_.size());
            add(std::move(step), graph[node].name);
            return found->second;
        };

        for (std::size_t i = 0; i < graph.size(); ++i) {
            Node const& node = graph[i];
            PlannedLayer const& planned = plan.layers[i];
            if (planned.name != node.name)
                fail("plan: layer ", planned.name, " stands where the graph has ", node.name);
            in_layout[i] = find_layout(kernels, planned.in_layout, node.name);
            out_layout[i] = find_layout(kernels, planned.out_layout, node.name);
            if (std::holds_alternative<InputParams>(node.layer)) {
                if (out_layout[i] != 0) {
                    fail("plan: layer ", node.name, " is an image in ", planned.out_layout, "; images come in ",
                         kernels.layouts[0].name);
                }
                tensor[i] = source;
                continue;
            }
            Step step{.layout = &kernels.layouts[out_layout[i]],
                      .layer = node.layer,
                      .src = {},
                      .src_shapes = graph.input_shapes(i),
                      .dst_shape = node.shape,
                      .src_image = floats(node.inputs[0], in_layout[i]),
                      .dst_image = floats(i, out_layout[i])};
            const bool is_conv = std::holds_alternative<ConvParams>(node.layer);
            for (std::size_t position = 0; position < node.inputs.size(); ++position) {
                const std::size_t layout = detail::read_layout(node, position, in_layout[i], out_layout[i]);
                const std::size_t from = read(node.inputs[position], layout);
                if (is_conv && position == 1)
                    step.residual = from;
                else
                    step.src.push_back(from);
            }
            const bool leaves = i == graph.output_node() && kernels.same_placement(node.shape, out_layout[i], 0);
            if (is_conv) {
                step.dst = tensor[i] = leaves ? result : book(batch * step.dst_image, steps_.size());
                add_conv(std::move(step), node, planned, kernels, weights, workers, add);
                continue;
            }
            step.kind = Kind::op;
            step.op = &kernels.op(node.layer, in_layout[i]);
            if (step.op->run == nullptr || in_layout[i] != out_layout[i]) {
                fail("plan: layer ", node.name, " (", planned.kind, ") cannot run ", planned.in_layout, " -> ",
                     planned.out_layout);
            }
            if (step.op->packed_floats != nullptr) step.weights = pack_op(step, node, weights);
            // In place where nobody reads the input later.
            const bool own_copy = step.src[0] != source && tensor[node.inputs[0]] != step.src[0];
            const bool reuse = step.op->in_place && !leaves && step.src[0] > result &&
                               last_reader[node.inputs[0]] == i && std::ranges::count(step.src, step.src[0]) == 1 &&
                               !own_copy && graph[node.inputs[0]].shape == node.shape;
            step.dst = tensor[i] = leaves ? result : reuse ? step.src[0] : book(batch * step.dst_image, steps_.size());
            add(std::move(step), node.name);
        }
        finish(graph, kernels, tensor, out_layout, add);

        const ArenaLayout layout = place(lifetimes_);
        arena_ = AlignedBuffer(layout.floats);
        for (std::size_t i = 0; i < lifetimes_.size(); ++i) tensors_[i + 2] = arena_.data() + layout.offsets[i];
    }

    template <class Add>
    void add_conv(Step step, Node const& node, PlannedLayer const& planned, Kernels const& kernels,
                  Weights const& weights, std::size_t workers, Add const& add) {
        auto const& conv = std::get<ConvParams>(node.layer);
        PrimitiveEntry const& primitive = find_primitive(kernels, planned);
        step.kind = Kind::conv;
        step.primitive = &primitive;
        step.shape = conv_shape_of(conv, step.src_shapes[0], 1);
        step.clamp = conv.clamp;
        const bool layouts_fit = kernels.layouts[primitive.in_layout].name == planned.in_layout &&
                                 kernels.layouts[primitive.out_layout].name == planned.out_layout;
        if (const Support support = primitive.supports(step.shape); !support || !layouts_fit) {
            fail("plan: layer ", node.name, ": ", primitive.id, " cannot compute ", to_string(step.shape), " ",
                 planned.in_layout, " -> ", planned.out_layout, ": ", support ? "wrong layouts" : support.reason());
        }
        const PreparedWeights prepared = prepare_weights(node, weights);
        float* packed = keep(primitive.packed_floats(step.shape));
        primitive.pack(step.shape, prepared.kernel.data(), packed);
        step.weights = packed;
        if (!prepared.bias.empty()) {
            float* bias = keep(prepared.bias.size());
            std::ranges::copy(prepared.bias, bias);
            step.bias = bias;
        }
        if (const std::size_t scratch = primitive.scratch_floats(step.shape, workers); scratch > 0) {
            step.scratch = book(scratch, steps_.size());
        }
        if (primitive.fuses_epilogue) {
            add(std::move(step), node.name);
            return;
        }
        Step epilogue = step;
        epilogue.kind = Kind::epilogue;
        epilogue.src.clear();
        epilogue.scratch = none;
        step.bias = nullptr;
        step.residual = none;
        step.clamp = {};
        add(std::move(step), node.name);
        if (epilogue.bias != nullptr || epilogue.residual != none || epilogue.clamp != Clamp{}) {
            if (epilogue.layout->epilogue == nullptr) {
                fail("plan: layer ", node.name, ": no bias and activation in layout ", planned.out_layout);
            }
            add(std::move(epilogue), node.name);
        }
    }

    [[nodiscard]] const float* pack_op(Step const& step, Node const& node, Weights const& weights) {
        const PreparedWeights prepared = prepare_weights(node, weights);
        float* packed = keep(step.op->packed_floats(node.layer, step.src_shapes[0]));
        step.op->pack(node.layer, step.src_shapes[0], {prepared.kernel, prepared.bias}, packed);
        return packed;
    }

    /// The result leaves in the first layout: a last change of layout, or a copy of a network without layers.
    template <class Add>
    void finish(Graph const& graph, Kernels const& kernels, std::vector<std::size_t> const& tensor,
                std::vector<std::size_t> const& out_layout, Add const& add) {
        const std::size_t last = graph.output_node();
        if (tensor[last] == result) return;
        Step step{.kind = Kind::transform,
                  .transform = &kernels.transform(out_layout[last], 0),
                  .layer = {},
                  .src = {tensor[last]},
                  .src_shapes = {graph[last].shape},
                  .dst_shape = graph[last].shape,
                  .dst = result,
                  .src_image = kernels.layouts[out_layout[last]].size(graph[last].shape),
                  .dst_image = kernels.layouts[0].size(graph[last].shape)};
        add(std::move(step), graph[last].name);
    }

    [[nodiscard]] static std::vector<std::size_t> last_readers(Graph const& graph) {
        std::vector<std::size_t> last(graph.size(), none);
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (const std::size_t input : graph[i].inputs) last[input] = i;
        }
        last[graph.output_node()] = none;
        return last;
    }

    void run(Step& step, ExecutorRef executor) noexcept {
        float* dst = tensors_[step.dst];
        const auto batch = static_cast<std::size_t>(batch_);
        if (step.kind == Kind::conv) {
            const float* src = tensors_[step.src[0]];
            for (std::size_t image = 0; image < batch; ++image) {
                step.primitive->run(
                    step.shape,
                    {.src = src + image * step.src_image,
                     .weights = step.weights,
                     .bias = step.bias,
                     .residual = step.residual == none ? nullptr : tensors_[step.residual] + image * step.dst_image,
                     .clamp = step.clamp,
                     .dst = dst + image * step.dst_image,
                     .scratch = step.scratch == none ? nullptr : tensors_[step.scratch],
                     .executor = executor});
            }
        } else if (step.kind == Kind::epilogue) {
            step.layout->epilogue(step.dst_shape, batch_, dst, step.bias,
                                  step.residual == none ? nullptr : tensors_[step.residual], step.clamp, executor);
        } else if (step.kind == Kind::transform) {
            const float* src = tensors_[step.src[0]];
            for (std::size_t image = 0; image < batch; ++image) {
                step.transform->run(step.dst_shape, src + image * step.src_image, dst + image * step.dst_image,
                                    executor);
            }
        } else {
            auto& data = step.src_data;
            for (std::size_t i = 0; i < step.src.size(); ++i) data[i] = tensors_[step.src[i]];
            step.op->run(step.layer, {.src = data,
                                      .src_shape = step.src_shapes,
                                      .dst = dst,
                                      .dst_shape = step.dst_shape,
                                      .batch = batch_,
                                      .weights = step.weights,
                                      .executor = executor});
        }
    }

    int batch_;
    Shape in_shape_, out_shape_;
    std::size_t in_floats_ = 0, out_floats_ = 0;
    std::vector<Step> steps_;
    std::vector<std::string> names_;
    std::vector<float*> tensors_;
    std::vector<Lifetime> lifetimes_;  // of tensors_[2], tensors_[3], ...
    AlignedBuffer arena_;
    std::vector<AlignedBuffer> kept_;
    std::size_t weight_floats_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI
