#pragma once

#include <primsel/core/error.hpp>
#include <primsel/dynamic/configuration_weights.hpp>
#include <primsel/dynamic/dynamic_plan.hpp>
#include <primsel/dynamic/group_threads.hpp>
#include <primsel/engine/fit.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/engine/shared_room.hpp>
#include <primsel/engine/tensor_arguments.hpp>
#include <primsel/network/simplify.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Bytes that a dynamic engine holds, and bytes that a separate engine for each sub-network would hold in sum.
struct DynamicMemory {
    std::size_t arena = 0, weights = 0;
    std::size_t separate_arenas = 0, separate_weights = 0;
};

/// Runs any sub-network of a dynamic network, on one set of packed weights and in one arena. use() chooses the
/// sub-network between two images; it only stores its number and a pointer. Sub-networks are numbered from 1, the
/// smallest first: number g of a network in groups has the first g groups. The results are bit for bit those of an
/// Engine for the sub-network alone with the same plan. The parameters `configuration` are numbers of sub-networks.
template <class Policies = DefaultPolicies>
class DynamicEngine {
    static_assert(engine::CheckPolicies<Policies>::value);
    using Chosen = engine::ChosenPolicies<Policies>;

public:
    using executor = typename Chosen::executor;
    /// The layout of images and results.
    using image_layout = typename engine::FirstLayout<typename Chosen::layouts>::type;

    /// Takes a network in groups, as grouped() makes it. Plans all sub-networks together; the largest is in use at
    /// first. Throws error as Engine does, and as plan_configurations.
    DynamicEngine(Graph const& graph, Weights const& weights, DynamicOptions const& options = {}, executor run_on = {})
        : DynamicEngine(graph, weights, primsel::dynamic::configurations(graph), options, std::move(run_on)) {}
    /// Takes any network with these sub-networks of it, the smallest first, such as nested() makes. Plans them for the
    /// threads that share a layer: those of `run_on`, or one with GroupThreads::take_groups. Throws error too if there
    /// are none, or if their input or output shapes differ.
    DynamicEngine(Graph const& graph, Weights const& weights, std::vector<Configuration> const& configurations,
                  DynamicOptions options = {}, executor run_on = {})
        : executor_(std::move(run_on)) {
        const bool apart = options.threads == GroupThreads::take_groups;
        options.plan.workers = apart ? 1 : executor_.concurrency();
        plans_ = plan_configurations<Chosen>(configurations, options);
        make_programs(graph, weights, configurations, options.threads, options.plan.max_arena);
    }
    /// Takes plans that plan_configurations made earlier, one for each sub-network. Throws error too if there is
    /// another number of plans, or if the arena needs more than `max_arena` bytes.
    DynamicEngine(Graph const& graph, Weights const& weights, std::vector<Configuration> const& configurations,
                  JointPlans plans, executor run_on = {}, GroupThreads threads = GroupThreads::faster,
                  std::size_t max_arena = PlanOptions{}.max_arena)
        : executor_(std::move(run_on)), plans_(std::move(plans)) {
        make_programs(graph, weights, configurations, threads, max_arena);
    }

    /// Makes sub-network number `configuration` run from the next run() on. Never throws and allocates nothing. Stops
    /// the program with a message if the number is not between 1 and count().
    void use(int configuration) noexcept {
        if (configuration < 1 || configuration > count()) [[unlikely]] {
            std::fprintf(stderr, "primsel: use(%d) of a network with %d configurations\n", configuration, count());
            std::abort();
        }
        number_ = configuration;
        in_use_ = programs_[static_cast<std::size_t>(configuration) - 1].get();
    }
    /// The number of the sub-network in use.
    [[nodiscard]] int in_use() const noexcept { return number_; }
    /// The number of sub-networks.
    [[nodiscard]] int count() const noexcept { return static_cast<int>(programs_.size()); }

    /// Runs the sub-network in use, as Engine::run: `src` has in_shape() floats for each image of the batch, `dst`
    /// out_shape(). Stops the program with a message if their sizes are others.
    void run(std::span<const float> src, std::span<float> dst) noexcept {
        check_count("floats of input", src.size(), in_use_->in_floats());
        check_count("floats of result", dst.size(), in_use_->out_floats());
        in_use_->run(src.data(), dst.data(), executor_);
    }
    /// The same with tensors, as Engine::run takes them.
    template <class Src, class Dst>
        requires TensorArguments<Src, Dst>
    void run(Src&& src, Dst&& dst) noexcept {
        static_assert(engine::check_arguments<image_layout, Src, Dst>());
        input().demand(src);
        result().demand(dst);
        run(engine::floats_of_src(src), engine::floats_of_dst(dst));
    }
    /// Throws error, naming the shapes, if run() would stop the program for these tensors. All sub-networks have the
    /// same shapes.
    template <class Src, class Dst>
        requires TensorArguments<Src, Dst>
    void check_tensors(Src const& src, Dst const& dst) const {
        static_assert(engine::check_arguments<image_layout, Src, Dst>());
        input().check(src);
        result().check(dst);
    }

    /// The shape of one image, and of its result.
    [[nodiscard]] Shape in_shape() const { return in_use_->in_shapes().at(0); }
    [[nodiscard]] Shape out_shape() const { return in_use_->out_shapes().at(0); }
    [[nodiscard]] int batch() const { return in_use_->batch(); }
    /// The plans of all sub-networks, and what it costs that they agree on shared layers.
    [[nodiscard]] JointPlans const& plans() const { return plans_; }
    /// The plan, the simplified graph and the program of sub-network number `configuration`. Throw std::out_of_range if
    /// there is none.
    [[nodiscard]] Plan const& plan(int configuration) const { return plans_.plans.at(index_of(configuration)); }
    [[nodiscard]] Graph const& graph(int configuration) const { return graphs_.at(index_of(configuration)); }
    [[nodiscard]] Program const& program(int configuration) const { return *programs_.at(index_of(configuration)); }
    [[nodiscard]] DynamicMemory const& memory() const { return memory_; }
    /// The number of threads that compute groups side by side in this sub-network; 0 if all threads share each layer.
    [[nodiscard]] std::size_t side_by_side(int configuration) const { return program(configuration).lanes(); }
    /// Bytes of a layer's packed weights, summed over all sub-networks; what they share counts once.
    [[nodiscard]] std::size_t weight_bytes(std::string const& layer) const { return room_->weight_bytes(layer); }

private:
    void make_programs(Graph const& graph, Weights const& weights, std::vector<Configuration> const& configurations,
                       GroupThreads threads, std::size_t max_arena) {
        check_weights(graph, weights);
        check(configurations);
        const Kernels kernels = policy_kernels<Chosen>();
        const std::size_t workers = executor_.concurrency();
        std::vector<std::vector<Arrangement>> ways;
        for (std::size_t c = 0; c < configurations.size(); ++c) {
            graphs_.push_back(simplify(configurations[c].graph));
            const Schedule schedule = make_schedule(graphs_[c], kernels, plans_.plans[c], workers);
            ways.push_back(detail::arrangements(graphs_[c], schedule, workers, max_arena));
            if (threads == GroupThreads::share_layers) ways[c].resize(1);
        }
        room_ = make_room(largest(ways));
        programs_.resize(configurations.size());
        // The largest first: a smaller sub-network's packed weights may be the beginning of a larger one's.
        for (std::size_t c = configurations.size(); c-- > 0;) {
            const Weights part = configuration_weights(graph, weights, configurations[c]);
            programs_[c] = std::make_unique<Program>(graphs_[c], kernels, plans_.plans[c], part, workers,
                                                     ExecutorRef(executor_), room_.get());
        }
        choose(ways, threads);
        for (auto const& program : programs_) {
            memory_.separate_arenas += program->arena_bytes();
            memory_.separate_weights += program->weight_bytes();
        }
        memory_.arena = room_->arena_bytes();
        memory_.weights = room_->weight_bytes();
        if (memory_.arena > max_arena) {
            fail("dynamic: the arena has ", memory_.arena, " bytes, more than the ", max_arena, " allowed");
        }
        in_use_ = programs_.back().get();
        number_ = static_cast<int>(programs_.size());
    }
    [[nodiscard]] engine::WantedTensor input() const noexcept {
        return {"input", 0, in_use_->in_shapes()[0], in_use_->in_floats()};
    }
    [[nodiscard]] engine::WantedTensor result() const noexcept {
        return {"result", 0, in_use_->out_shapes()[0], in_use_->out_floats()};
    }
    [[nodiscard]] static std::size_t index_of(int configuration) { return static_cast<std::size_t>(configuration) - 1; }
    void check(std::vector<Configuration> const& configurations) const {
        if (configurations.empty()) fail("dynamic: no configurations");
        if (plans_.plans.size() != configurations.size()) {
            fail("dynamic: ", plans_.plans.size(), " plans for ", configurations.size(), " configurations");
        }
        Graph const& last = configurations.back().graph;
        for (Configuration const& each : configurations) {
            if (each.graph[each.graph.output_node()].shape != last[last.output_node()].shape ||
                each.graph[each.graph.input()].shape != last[last.input()].shape) {
                fail("dynamic: configurations of other images or results than ", last[last.output_node()].shape);
            }
        }
    }
    /// Keeps one arrangement for each sub-network, the fastest or the demanded one, and makes the arena as large as
    /// these need.
    void choose(std::vector<std::vector<Arrangement>>& ways, GroupThreads threads) {
        for (std::size_t c = 0; c < ways.size(); ++c) {
            const std::size_t chosen = threads == GroupThreads::faster
                                           ? detail::fastest(*programs_[c], ways[c], ExecutorRef(executor_))
                                           : std::min<std::size_t>(ways[c].size(), 2) - 1;
            ways[c] = {std::move(ways[c][chosen])};
        }
        const std::size_t bytes = largest(ways);
        try {
            room_->replace_arena(bytes);
        } catch (std::bad_alloc const&) {
            no_memory(bytes);
        }
        for (std::size_t c = 0; c < ways.size(); ++c) programs_[c]->rearrange(ways[c][0]);
    }
    [[nodiscard]] static std::size_t largest(std::vector<std::vector<Arrangement>> const& ways) {
        std::size_t most = 0;
        for (std::vector<Arrangement> const& each : ways) {
            for (Arrangement const& way : each) most = std::max(most, way.layout.bytes);
        }
        return most;
    }
    [[noreturn]] static void no_memory(std::size_t bytes) {
        fail("dynamic: no memory for the arena, ", bytes, " bytes");
    }
    [[nodiscard]] static std::unique_ptr<SharedRoom> make_room(std::size_t bytes) try {
        return std::make_unique<SharedRoom>(bytes, std::make_shared<WeightStore>(), RoomWeights::of_parts);
    } catch (std::bad_alloc const&) {
        no_memory(bytes);
    }
    static void check_count(const char* what, std::size_t given, std::size_t wanted) noexcept {
        if (given == wanted) [[likely]]
            return;
        std::fprintf(stderr, "primsel: run() was called with %zu %s; it takes %zu\n", given, what, wanted);
        std::abort();
    }

    executor executor_;
    JointPlans plans_;
    std::vector<Graph> graphs_;
    std::unique_ptr<SharedRoom> room_;
    std::vector<std::unique_ptr<Program>> programs_;
    Program* in_use_ = nullptr;
    int number_ = 0;
    DynamicMemory memory_;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
