#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/flush_subnormals.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/engine/arrangement.hpp>
#include <primsel/engine/detail/make_ready_step.hpp>
#include <primsel/engine/detail/make_strips.hpp>
#include <primsel/engine/ready_step.hpp>
#include <primsel/engine/schedule.hpp>
#include <primsel/engine/shared_room.hpp>
#include <primsel/network/prepare.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A plan made executable: weights packed, arena booked, steps in a row. run only executes.
class Program {
public:
    /// Throws error when the plan was made for something else than the graph and kernels, or the weights do not fit or
    /// their file was changed since it was read. The weights of a graph of which some change must stay where they are,
    /// and the caller has checked them. `packing`: on whose threads weights are packed; the bits are the same for any.
    /// With a room, arena and packed weights are in it.
    Program(Graph const& graph, Kernels const& kernels, Plan const& plan, Weights const& weights, std::size_t workers,
            ExecutorRef packing = calling_thread(), SharedRoom* room = nullptr)
        : batch_(graph.batch()), room_(room) {
        check_key(plan.key, make_key(graph, kernels));
        const bool constant = graph.trainable().empty();
        if (constant) check_weights(graph, weights, WeightCheck::shapes);
        for (const std::size_t input : graph.inputs()) in_shapes_.push_back(graph[input].shape);
        for (const std::size_t output : graph.outputs()) out_shapes_.push_back(graph[output].shape);
        for (Shape const& shape : in_shapes_) in_floats_.push_back(batch_floats(kernels.layouts[0], shape));
        for (const std::size_t output : graph.outputs()) {
            const auto images = static_cast<std::size_t>(of_batch(graph[output].layer) ? 1 : batch_);
            out_floats_.push_back(images * kernels.layouts[0].size(graph[output].shape));
        }

        Schedule schedule = make_schedule(graph, kernels, plan, workers);
        const Arrangement arrangement = arrange(schedule);
        if (room_ == nullptr) arena_ = allocate(arrangement.layout.bytes, "the arena");
        single_ = schedule.single, parts_ = schedule.parts;
        image_bytes_ = schedule.image_bytes;
        tensors_.assign(parts_ * schedule.tensors(), nullptr);
        in_arena_.assign(schedule.tensors(), true);
        std::fill_n(in_arena_.begin(), schedule.callers(), false);
        for (StoredConstant const& constant : schedule.constants) in_arena_[constant.tensor] = false;
        for (SharedParameter const& parameter : schedule.parameters) in_arena_[parameter.tensor] = false;
        rearrange(arrangement);
        // Packing computes as run does.
        const FlushSubnormals flushing;
        unchecked_.assign(graph.size(), constant);
        for (StoredConstant const& constant : schedule.constants) {
            check_values_once(constant.node, graph, weights);
            float* const values = store(graph[constant.node], kernels.layouts[constant.layout], weights);
            for (std::size_t part = 0; part < parts_; ++part)
                tensors_[part * in_arena_.size() + constant.tensor] = values;
        }
        for (SharedParameter const& parameter : schedule.parameters) {
            tensors_[parameter.tensor] = const_cast<float*>(weights.at(graph[parameter.node].name).values.data());
        }
        std::size_t bias = no_tensor, op_srcs = 0;
        for (ScheduledStep& step : schedule.steps) {
            names_.push_back(graph[step.node].name);
            steps_.push_back(pack(std::move(step), graph, weights, bias, packing));
        }
        // From here on no step moves.
        for (PackedStep& packed : steps_) ready_.push_back(engine::detail::make_ready(packed, op_srcs));
        op_srcs_.resize(parts_ * op_srcs);
        for (std::size_t part = 0; part < parts_ && parts_ > 1; ++part) {
            apart_.push_back({.tensors = tensors_.data() + part * in_arena_.size(),
                              .image_bytes = image_bytes_.data(),
                              .weights = weights_.data(),
                              .op_srcs = op_srcs_.data() + part * op_srcs,
                              .first_image = part * static_cast<std::size_t>(batch_) / parts_});
        }
        packed_.clear();
        for (std::size_t node = 0; node < graph.size(); ++node) check_values_once(node, graph, weights);
    }
    /// srcs: a batch of images of each input in the first layout; dsts: room for as many of each result. None may
    /// overlap.
    void run(std::span<const float* const> srcs, std::span<float* const> dsts, ExecutorRef executor) noexcept {
        bind(srcs, dsts);
        ready_run().run(executor);
    }
    /// For a network of one input and one result.
    void run(const float* src, float* dst, ExecutorRef executor) noexcept {
        run(std::span(&src, 1), std::span(&dst, 1), executor);
    }

    /// Runs as run does, but has the first `count` steps, which alone read the images, computed by others:
    /// begin(image, dst, executor) writes the result of the last of them to dst. Where may_begin_after(count).
    template <class Begin>
    void run_after(std::size_t count, Begin const& begin, std::span<float* const> dsts, ExecutorRef executor) noexcept {
        const RunScope scope(executor);
        const FlushSubnormals flushing;
        bind({}, dsts);
        const engine::ReadyRun run = ready_run();
        ScheduledStep const& last = ordered_step(count - 1);
        const auto images = static_cast<std::size_t>(batch_);
        for (std::size_t image = 0; image < images; ++image) {
            begin(image, run.memory.at(last.dst, image) + last.written().offset, executor);
            if (count < single_) run.run_steps(image * single_ + count, (image + 1) * single_, executor);
        }
        run.run_from(run.first_whole_step(count), executor);
    }
    [[nodiscard]] bool may_begin_after(std::size_t count) const {
        return parts_ == 1 && (lanes_.empty() || ready_run().first_whole_step(count) <= lanes_.front());
    }
    /// The steps of one image in the order in which they run.
    [[nodiscard]] std::size_t ordered_steps() const { return steps_.size(); }
    [[nodiscard]] ScheduledStep const& ordered_step(std::size_t i) const { return steps_[order_[i]].step; }
    /// The convolutions of such a step with their weights, in strips of so many rows; of one that has no residual.
    [[nodiscard]] engine::Strips strips_of(std::size_t i, int rows) const {
        PackedStep const& packed = steps_[order_[i]];
        engine::ReadyStrips strips;
        if (const auto* conv = std::get_if<ConvStep>(&packed.step.work)) {
            strips = {.strips = engine::detail::make_strips({&conv->conv, 1}, rows)};
            strips.weights[0] = packed.weights[0], strips.bias[0] = packed.bias[0], strips.residual[0] = no_tensor;
        } else {
            strips = std::get<engine::ReadyStrips>(packed.ready);
        }
        return strips.bound(ready_run().memory, 0);
    }

    /// The same steps in another arrangement of the schedule that the program was made of; results stay the same, bit
    /// for bit. Also after the room's arena was allocated anew. Throws error where the arena has not so many bytes.
    void rearrange(Arrangement const& arrangement) {
        const std::size_t room = room_ == nullptr ? arena_.size() * sizeof(float) : room_->arena_bytes();
        if (room < arrangement.layout.bytes) {
            fail("engine: the ", room_ == nullptr ? "" : "shared ", "arena has ", room, " bytes, the plan needs ",
                 arrangement.layout.bytes);
        }
        float* const arena = room_ == nullptr ? arena_.data() : room_->arena();
        const std::size_t count = in_arena_.size(), callers = count - arrangement.layout.offsets.size(),
                          bytes_of_part = arrangement.layout.bytes / parts_;
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            if (!in_arena_[i % count]) continue;
            const std::size_t offset = i / count * bytes_of_part + arrangement.layout.offsets[i % count - callers];
            tensors_[i] = engine::RunMemory::further(arena, offset);
        }
        order_ = arrangement.order, lanes_ = arrangement.lanes;
        arena_bytes_ = arrangement.layout.bytes;
    }

    [[nodiscard]] int batch() const { return batch_; }
    [[nodiscard]] std::vector<Shape> const& in_shapes() const { return in_shapes_; }
    [[nodiscard]] std::vector<Shape> const& out_shapes() const { return out_shapes_; }
    /// Floats of all images of an input, and of a result, in the first layout.
    [[nodiscard]] std::size_t in_floats(std::size_t input = 0) const { return in_floats_[input]; }
    [[nodiscard]] std::size_t out_floats(std::size_t output = 0) const { return out_floats_[output]; }
    [[nodiscard]] std::size_t arena_bytes() const { return arena_bytes_; }
    /// Bytes of packed weights, including those that a room shares with others.
    [[nodiscard]] std::size_t weight_bytes() const { return weight_bytes_; }
    /// The number of steps of a run. A step that takes one image counts once for each image of the batch.
    [[nodiscard]] std::size_t steps() const { return ready_run().count(); }

    /// Parts of the batch that are computed at the same time, each by one worker; 1: none is.
    [[nodiscard]] std::size_t parts() const { return parts_; }
    /// Parts of a run that are computed at the same time, each by one worker; 0: each step is shared by all workers.
    [[nodiscard]] std::size_t lanes() const { return lanes_.empty() ? 0 : lanes_.size() - 1; }

    /// The layer that each step computes: its name, or that of the layer whose result changes its layout.
    [[nodiscard]] std::string const& step_name(std::size_t step) const { return names_[ready_run().position(step)]; }
    [[nodiscard]] ScheduledStep const& step(std::size_t step) const { return steps_[ready_run().position(step)].step; }
    /// Runs one step alone, for a profiler; all steps in order are a run.
    void run_step(std::size_t step, ExecutorRef executor) noexcept { ready_run().run_step(step, executor); }
    /// The steps as plain values, and where their tensors and weights lie; valid while the program is there.
    [[nodiscard]] engine::ReadyRun ready_run() const noexcept {
        return {.steps = ready_,
                .order = order_,
                .lanes = lanes_,
                .single = single_,
                .images = static_cast<std::size_t>(batch_) / parts_,
                .memory = {.tensors = tensors_.data(),
                           .image_bytes = image_bytes_.data(),
                           .weights = weights_.data(),
                           .op_srcs = op_srcs_.data()},
                .apart = apart_};
    }
    /// A step by its position in the schedule.
    [[nodiscard]] engine::detail::AnyReadyStep const& ready_step(std::size_t position) const {
        return steps_[position].ready;
    }
    /// Bytes of each of the packed weights.
    [[nodiscard]] std::vector<std::size_t> const& weight_sizes() const { return weight_sizes_; }

    /// How many steps come before the first that computes this node of the graph or a later one. For a graph whose
    /// steps all take whole batches.
    [[nodiscard]] std::size_t steps_before(std::size_t node) const {
        const auto first = std::ranges::find_if(steps_, [=](PackedStep const& at) { return at.step.node >= node; });
        return static_cast<std::size_t>(first - steps_.begin());
    }
    void bind(std::span<const float* const> srcs, std::span<float* const> dsts) noexcept {
        // No step writes to an image.
        for (std::size_t part = 0; part < parts_; ++part) {
            float** const tensors = tensors_.data() + part * in_arena_.size();
            for (std::size_t i = 0; i < srcs.size(); ++i) {
                tensors[i] = const_cast<float*>(srcs[i]) + part * (in_floats_[i] / parts_);
            }
            for (std::size_t i = 0; i < dsts.size(); ++i) {
                tensors[in_shapes_.size() + i] = dsts[i] + part * (out_floats_[i] / parts_);
            }
        }
    }

private:
    using PackedStep = engine::detail::PackedStep;

    /// Checks the weights of a dense layer, but for the largest, whose parts are checked as they are packed.
    void check_values_once(std::size_t at, Graph const& graph, Weights const& weights) {
        if (!unchecked_[at]) return;
        Node const& node = graph[at];
        const bool in_parts = std::holds_alternative<DenseParams>(node.layer);
        check_values(graph, node, weights, in_parts ? node.name + ".weight" : "");
        unchecked_[at] = false;
    }
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
    [[nodiscard]] std::size_t batch_floats(LayoutEntry const& layout, Shape const& shape) const {
        return static_cast<std::size_t>(batch_) * layout.size(shape);
    }
    [[nodiscard]] static ExecutorRef calling_thread() {
        static Sequential here;
        return here;
    }
    /// Throws error, saying what for, when the system has no such room.
    template <class... What>
    [[nodiscard]] static AlignedBuffer allocate(std::size_t bytes, What const&... what) try {
        return AlignedBuffer(floats_for_bytes(bytes));
    } catch (std::bad_alloc const&) {
        fail("engine: no memory for ", what..., ", ", bytes, " bytes");
    }
    /// Room for a layer's weights that lasts as long as the program.
    float* keep(std::size_t bytes, Node const& node) {
        weight_bytes_ += bytes;
        return kept_.emplace_back(allocate(bytes, "the weights of layer ", node.name)).data();
    }

    [[nodiscard]] AlignedBuffer last_kept() {
        AlignedBuffer last = std::move(kept_.back());
        kept_.pop_back();
        return last;
    }
    /// Moves the weights that were packed last to the room, if there is one, and returns where they stay.
    [[nodiscard]] float* settled(float* packed, Node const& node) {
        return room_ == nullptr ? packed : const_cast<float*>(room_->keep(node.name, last_kept()));
    }

    [[nodiscard]] float* store(Node const& node, LayoutEntry const& layout, Weights const& weights) {
        const std::size_t image = layout.image_bytes(node.shape), images = static_cast<std::size_t>(batch_);
        float* all = keep(images * image, node);
        const PreparedWeights values = prepare_weights(node, weights);
        Sequential here;
        for (std::size_t i = 0; i < images; ++i) {
            layout.from_chw(node.shape, values.kernel.data(), engine::RunMemory::further(all, i * image), here,
                            node.range);
        }
        return settled(all, node);
    }

    /// A kernel as a step reads it, and how it was packed.
    struct PackedKernel {
        std::size_t node = 0;
        Packing packing{};
        const float* weights = nullptr;
        const float* bias = nullptr;
    };
    /// Whether two layers are alike, and so are all of their weights.
    [[nodiscard]] static bool is_alike(Graph const& graph, Weights const& weights, std::size_t a, std::size_t b) {
        Node const &left = graph[a], &right = graph[b];
        if (left.layer != right.layer || left.epilogue.kernel != right.epilogue.kernel) return false;
        if (!std::ranges::equal(left.epilogue.folded, right.epilogue.folded, {}, &Folded::layer, &Folded::layer))
            return false;
        const auto same = [&](WeightSpec const& one, WeightSpec const& other) {
            return network::same_values(weights.at(one.name), weights.at(other.name), false);
        };
        return std::ranges::equal(weight_specs(graph, left), weight_specs(graph, right), same);
    }
    /// The kernel of a weight and its bias, packed by pack(dst), which returns the bias: once for all layers that share
    /// the weight and read it alike, and once for all programs of a room.
    template <class Pack>
    PackedKernel packed_kernel(PackedKernel kernel, std::string const& weight, Graph const& graph,
                               Weights const& weights, Pack const& pack) {
        std::vector<PackedKernel>& known = packed_[weights.at(weight).values.place()];
        for (PackedKernel const& other : known) {
            if (other.packing == kernel.packing && is_alike(graph, weights, other.node, kernel.node)) return other;
        }
        Node const& node = graph[kernel.node];
        std::optional<PackedKey> key;
        if (room_ != nullptr && is_known(kernel.packing)) {
            key = {node.name, node.layer, node.epilogue.folded, node.epilogue.kernel, kernel.packing};
            if (const auto found = room_->find(*key)) {
                unchecked_[kernel.node] = false;  // it was checked when it was packed
                return known.emplace_back(shared(kernel, *found));
            }
        }
        const Timer timer;
        // Values are checked just before they are packed, so that a file's bytes are read once.
        check_values_once(kernel.node, graph, weights);
        const std::size_t bytes = kernel.packing.bytes;
        float* const dst = keep(bytes, node);
        const std::vector<float> bias = pack(dst);
        // Other paddings make no difference to most primitives.
        const auto same = std::ranges::find_if(known, [&](PackedKernel const& other) {
            return kernel.packing.how == other.packing.how && bytes == other.packing.bytes &&
                   std::memcmp(dst, other.weights, bytes) == 0;
        });
        if (same != known.end()) {
            kernel.weights = same->weights;
            weight_bytes_ -= bytes;
            kept_.pop_back();
        } else if (key) {
            AlignedBuffer of_bias(bias.size());
            std::ranges::copy(bias, of_bias.data());
            weight_bytes_ -= bytes;
            const double seconds = timer.seconds();
            return known.emplace_back(shared(kernel, room_->keep(*key, last_kept(), std::move(of_bias), seconds)));
        } else {
            kernel.weights = settled(dst, node);
        }
        if (!bias.empty()) {
            float* const kept = keep(bytes_of_floats(bias.size()), node);
            std::ranges::copy(bias, kept);
            kernel.bias = settled(kept, node);
        }
        return known.emplace_back(kernel);
    }
    /// Whether the packed bytes depend on nothing but the packing and the layer.
    [[nodiscard]] static bool is_known(Packing const& packing) { return packing.shape.h == 0; }
    [[nodiscard]] PackedKernel shared(PackedKernel kernel, WeightStore::Packed const& packed) {
        kernel.weights = packed.kernel->data();
        weight_bytes_ += kernel.packing.bytes;
        if (packed.bias == nullptr) return kernel;
        kernel.bias = packed.bias->data();
        weight_bytes_ += bytes_of_floats(packed.bias->size());
        return kernel;
    }
    [[nodiscard]] static PackedKernel kernel_of(ScheduledConv const& conv) {
        ConvShape shape = conv.shape;
        if (conv.primitive->packs_for_any_size) shape.h = shape.w = 0;
        return {.node = conv.node,
                .packing = {.how = conv.primitive,
                            .shape = shape,
                            .rotated = conv.rotated,
                            .bytes = conv.primitive->packed_bytes(conv.shape)}};
    }

    [[nodiscard]] std::size_t add_weights(const float* values, std::size_t bytes) {
        if (values == nullptr) return no_tensor;
        weights_.push_back(values);
        weight_sizes_.push_back(bytes);
        return weights_.size() - 1;
    }
    /// Packs the weights of a step. last_bias: that of the convolution packed last, which the epilogue after it adds.
    [[nodiscard]] PackedStep pack(ScheduledStep step, Graph const& graph, Weights const& weights,
                                  std::size_t& last_bias, ExecutorRef packing) {
        PackedStep result{std::move(step)};
        Node const& node = graph[result.step.node];
        for (const std::size_t input : node.inputs) result.src_ranges.push_back(graph[input].range);
        result.dst_range = node.range;
        if (const auto* conv = std::get_if<ConvStep>(&result.step.work)) {
            pack_conv(result, conv->conv, conv->packed != no_tensor, graph, weights, last_bias, packing);
        } else if (const auto* strips = std::get_if<StripsStep>(&result.step.work)) {
            for (ScheduledConv const& conv : strips->convs) {
                pack_conv(result, conv, false, graph, weights, last_bias, packing);
            }
        } else if (const auto* epilogue = std::get_if<EpilogueStep>(&result.step.work)) {
            if (epilogue->bias) result.bias.push_back(last_bias);
        } else if (const auto* op = std::get_if<OpStep>(&result.step.work)) {
            if (op->op->packed_bytes != nullptr) {
                const float* const values = pack_op(result.step, *op->op, graph, weights, packing);
                const std::size_t bytes = op->op->packed_bytes(op->layer, result.step.src_shapes[0]);
                result.weights.push_back(add_weights(values, bytes));
            }
        }
        return result;
    }
    void pack_conv(PackedStep& step, ScheduledConv const& conv, bool each_run_packs, Graph const& graph,
                   Weights const& weights, std::size_t& last_bias, ExecutorRef packing) {
        Node const& node = graph[conv.node];
        const float *values = nullptr, *bias = nullptr;
        std::size_t bytes = 0;
        if (conv.primitive->pass == Pass::weight_gradient) {
            step.weights.push_back(no_tensor), step.bias.push_back(no_tensor);
            return;
        }
        if (!graph.trainable().empty() && node.epilogue.folded.empty()) {
            const std::span<const float> kernel(weights.at(conv.kernel).values);
            values = kernel.data(), bytes = bytes_of_floats(kernel.size());
            if (!each_run_packs) {  // it does not change, though others do
                const auto pack = [&](float* dst) {
                    Sequential here;
                    conv.primitive->repack(conv.shape, {kernel.data(), conv.rotated}, dst, here);
                    return std::vector<float>();
                };
                const PackedKernel packed = packed_kernel(kernel_of(conv), conv.kernel, graph, weights, pack);
                values = packed.weights, bytes = packed.packing.bytes;
            }
            if (const WeightTensor* found = weights.find(node.name + ".bias")) bias = found->values.data();
        } else {
            const auto pack = [&](float* dst) {
                const PreparedWeights prepared = prepare_weights(node, weights);
                conv.primitive->repack(conv.shape, {prepared.kernel.data()}, dst, packing);
                return std::vector<float>(prepared.bias.begin(), prepared.bias.end());
            };
            const PackedKernel kernel = packed_kernel(kernel_of(conv), conv.kernel, graph, weights, pack);
            values = kernel.weights, bytes = kernel.packing.bytes, bias = kernel.bias;
        }
        if (bias != nullptr) last_bias = add_weights(bias, bytes_of_floats(static_cast<std::size_t>(conv.shape.k)));
        step.weights.push_back(add_weights(values, bytes));
        step.bias.push_back(conv.bias ? last_bias : no_tensor);
    }
    [[nodiscard]] const float* pack_op(ScheduledStep const& step, OpEntry const& op, Graph const& graph,
                                       Weights const& weights, ExecutorRef packing) {
        Node const& node = graph[step.node];
        const std::size_t bytes = op.packed_bytes(node.layer, step.src_shapes[0]);
        if (std::holds_alternative<OwnLayerParams>(node.layer)) {
            check_values_once(step.node, graph, weights);
            float* const dst = keep(bytes, node);
            std::span<float> rest(dst, bytes / sizeof(float));
            for (WeightSpec const& spec : weight_specs(graph, node)) {
                StoredFloats const& values = weights.at(spec.name).values;
                values.read(0, rest.first(values.size()));
                rest = rest.subspan(values.size());
            }
            return settled(dst, node);
        }
        if (bytes == 0) return nullptr;  // the weights are inputs
        const auto pack = [&](float* dst) {
            if (op.outputs_apart != 0) {
                pack_parts(step, op, graph, weights, dst, packing);
            } else {
                const PreparedWeights prepared = prepare_weights(node, weights);
                op.pack(node.layer, step.src_shapes[0], {prepared.kernel, prepared.bias}, dst);
            }
            return std::vector<float>();  // the op has packed its bias
        };
        const bool vectors = std::holds_alternative<BatchNormParams>(node.layer) ||
                             std::holds_alternative<ScaleParams>(node.layer) ||
                             std::holds_alternative<StandardizeParams>(node.layer);
        if (vectors) {
            check_values_once(step.node, graph, weights);
            float* const dst = keep(bytes, node);
            (void)pack(dst);
            return settled(dst, node);
        }
        Shape input = step.src_shapes[0];
        if (op.packed_for != nullptr) input = op.packed_for(node.layer, input);
        const Packing how{.how = &op, .shape = {.h = 0, .w = 0}, .input = input, .bytes = bytes};
        return packed_kernel({.node = step.node, .packing = how}, node.name + ".weight", graph, weights, pack).weights;
    }

    /// The weights of a dense layer, some outputs at a time: what is read from a file, checked and copied first stays
    /// in the cache.
    static void pack_parts(ScheduledStep const& step, OpEntry const& op, Graph const& graph, Weights const& weights,
                           float* dst, ExecutorRef packing) {
        Node const& node = graph[step.node];
        auto const& dense = std::get<DenseParams>(node.layer);
        const Shape input = step.src_shapes[0];
        const std::size_t k = static_cast<std::size_t>(dense.k), width = op.outputs_apart,
                          packed = op.packed_bytes(DenseParams{.k = static_cast<int>(width)}, input);
        StoredFloats const& all = weights.at(node.name + ".weight").values;
        const std::size_t row = all.size() / k;
        std::atomic<bool> failed = false, faulty = false;
        std::exception_ptr reason;
        packing.parallel_for((k + width - 1) / width, [&](std::size_t part, std::size_t) {
            try {
                const std::size_t first = part * width, count = std::min(width, k - first);
                if (!network::all_finite(all, first * row, count * row)) faulty = true;
                DenseParams some = dense;
                some.k = static_cast<int>(count);
                const PreparedWeights prepared = prepare_weights(node, weights, first, count);
                op.pack(some, input, {prepared.kernel, prepared.bias}, engine::RunMemory::further(dst, part * packed));
            } catch (...) {
                if (!failed.exchange(true)) reason = std::current_exception();
            }
        });
        try {
            if (reason) std::rethrow_exception(reason);
        } catch (std::bad_alloc const&) {
            fail("engine: no memory to pack the weights of layer ", node.name);
        }
        if (faulty && graph.trainable().empty()) check_weights(graph, weights);
    }

    int batch_;
    std::vector<Shape> in_shapes_, out_shapes_;
    std::vector<std::size_t> in_floats_, out_floats_;
    std::vector<PackedStep> steps_;
    std::vector<engine::ReadyStep> ready_;
    std::vector<const float*> weights_;
    std::vector<std::size_t> weight_sizes_;  // in bytes
    mutable std::vector<const float*> op_srcs_;
    std::vector<std::string> names_;
    std::vector<std::size_t> order_, lanes_;  // as in Arrangement
    std::vector<float*> tensors_;             // those of each part of the batch
    std::vector<bool> in_arena_;              // for each tensor of a part
    std::vector<std::size_t> image_bytes_;
    std::size_t single_ = 0, parts_ = 1;
    std::vector<engine::RunMemory> apart_;  // of each part, if there are several
    SharedRoom* room_ = nullptr;
    AlignedBuffer arena_;  // none of its own where there is a room
    std::vector<AlignedBuffer> kept_;
    std::vector<bool> unchecked_;  // nodes whose weights' values were not checked yet
    /// By where a weight lies, while weights are packed.
    std::map<StoredFloats::Place, std::vector<PackedKernel>> packed_;
    std::size_t arena_bytes_ = 0, weight_bytes_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI
