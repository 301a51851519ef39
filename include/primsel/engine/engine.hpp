#pragma once

#include <primsel/engine/kernels_for.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/engine/slow_build.hpp>
#include <primsel/engine/tensor_arguments.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/plan/print.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Makes the plan of an engine with those policies: for a simplified graph, some kernels and so many workers. See
/// docs/engine/planner.md.
template <class P, class Policies>
concept PlannerFor = requires(P const& planner, Graph const& graph, Kernels const& kernels, std::size_t workers) {
    { planner.template plan<Policies>(graph, kernels, workers) } -> std::same_as<Plan>;
};

/// The ways to tell an engine how to plan.
template <class T, class Policies>
concept HowToPlan = std::same_as<T, PlanOptions> || std::same_as<T, Plan> || PlannerFor<T, Policies>;

namespace engine::detail {

/// The part of an engine that depends on policies and compiled kernels, but not on the network.
template <class Policies, class Compiled>
class EngineOf {
public:
    using Executor = typename Policies::executor;

    template <class How>
    EngineOf(Graph const& graph, Weights const& weights, How const& how, Executor run_on);

    /// srcs and dsts: spans of floats, or views of tensors.
    template <class Src, class Dst>
    void run(std::span<const Src> srcs, std::span<const Dst> dsts) noexcept {
        check_count("inputs", srcs.size(), src_data_.size());
        check_count("results", dsts.size(), dst_data_.size());
        for (std::size_t i = 0; i < srcs.size(); ++i) {
            input(i).demand(srcs[i]);
            check_count("floats of input", srcs[i].size(), program_.in_floats(i));
            src_data_[i] = srcs[i].data();
        }
        for (std::size_t i = 0; i < dsts.size(); ++i) {
            result(i).demand(dsts[i]);
            check_count("floats of result", dsts[i].size(), program_.out_floats(i));
            dst_data_[i] = dsts[i].data();
        }
        program_.run(src_data_, dst_data_, executor_);
    }

    template <class Images>
    void run(Images& images, std::span<const std::uint8_t> bytes, std::span<const std::span<float>> dsts) noexcept {
        check_count("bytes", bytes.size(), images.size());
        check_count("results", dsts.size(), dst_data_.size());
        for (std::size_t i = 0; i < dsts.size(); ++i) {
            check_count("floats of result", dsts[i].size(), program_.out_floats(i));
            dst_data_[i] = dsts[i].data();
        }
        images.run(program_, bytes.data(), dst_data_, executor_);
    }

    [[nodiscard]] Graph const& graph() const { return graph_; }
    [[nodiscard]] Plan const& plan() const { return plan_; }
    [[nodiscard]] Program const& program() const { return program_; }
    [[nodiscard]] std::size_t workers() const { return executor_.concurrency(); }
    [[nodiscard]] WantedTensor input(std::size_t i) const noexcept {
        return {"input", i, program_.in_shapes()[i], program_.in_floats(i)};
    }
    [[nodiscard]] WantedTensor result(std::size_t i) const noexcept {
        return {"result", i, program_.out_shapes()[i], program_.out_floats(i)};
    }
    /// Throws error for another number of inputs or results.
    void check_counts(std::size_t inputs, std::size_t results) const {
        if (inputs == src_data_.size() && results == dst_data_.size()) return;
        fail("engine: ", inputs, " inputs and ", results, " results; run() takes ", src_data_.size(), " and ",
             dst_data_.size());
    }

private:
    [[nodiscard]] static Graph compiled(Graph graph) {
        for (Node const& node : graph.nodes()) {
            if (!Compiled::layer(node.layer.index()) && !std::holds_alternative<InputParams>(node.layer)) {
                fail("engine: layer ", node.name, " is a ", layer_kind(node.layer),
                     ", which the network type has not; Engine<Graph> runs every graph");
            }
        }
        return graph;
    }
    [[nodiscard]] static Kernels kernels() { return policy_kernels<Policies, Compiled>(); }
    template <class How>
    [[nodiscard]] static Plan plan_for(Graph const& graph, Weights const& weights, How const& how,
                                       std::size_t workers) {
        if constexpr (std::same_as<How, Plan>) {
            return how;
        } else if constexpr (std::same_as<How, PlanOptions> &&
                             requires { Policies::options_for(graph, weights, how); }) {
            return Predict<>({}, {}, Policies::options_for(graph, weights, how))
                .template plan<Policies>(graph, kernels(), workers);
        } else if constexpr (std::same_as<How, PlanOptions>) {
            return Predict<>({}, {}, how).template plan<Policies>(graph, kernels(), workers);
        } else {
            return how.template plan<Policies>(graph, kernels(), workers);
        }
    }
    static void check_count(const char* what, std::size_t given, std::size_t wanted) noexcept {
        if (given == wanted) [[likely]]
            return;
        std::fprintf(stderr, "primsel: run() was called with %zu %s; it takes %zu\n", given, what, wanted);
        std::abort();
    }

    Executor executor_;
    Graph graph_;
    Plan plan_;
    Program program_;
    std::vector<const float*> src_data_;
    std::vector<float*> dst_data_;
};

// Not inline, so that instantiate.hpp keeps it out of other translation units.
template <class Policies, class Compiled>
template <class How>
EngineOf<Policies, Compiled>::EngineOf(Graph const& graph, Weights const& weights, How const& how, Executor run_on)
    : executor_(std::move(run_on)),
      graph_(compiled(simplify(graph))),
      plan_(plan_for(graph_, weights, how, executor_.concurrency())),
      program_(graph_, kernels(), plan_, weights, executor_.concurrency(), executor_),
      src_data_(program_.in_shapes().size()),
      dst_data_(program_.out_shapes().size()) {
    if constexpr (requires { requires Policies::warns_of_slow_build; }) warn_of_slow_build();
}

}  // namespace engine::detail

/// A network ready to run on this machine: constructing it predicts, solves, packs the weights and books the memory,
/// and may throw error; run only executes. Net is a Network type, or Graph for a network that comes from elsewhere.
template <class Net, class Policies>
class Engine {
    static_assert(NetworkType<Net> || std::same_as<Net, Graph>,
                  "primsel: Engine<Net> takes a type that inherits from primsel::Network, or primsel::Graph");
    static_assert(engine::CheckPolicies<Policies>::value);
    using Chosen = engine::ChosenPolicies<Policies>;

public:
    using executor = typename Chosen::executor;
    using cost_model = typename Chosen::cost_model;
    /// The layout of images and results.
    using image_layout = typename engine::FirstLayout<typename Chosen::layouts>::type;

    /// For a Network type. `how` is a planner (Predict, Calibrate, or a type of your own), a Plan that was made before,
    /// or PlanOptions, with which the engine predicts and solves by itself.
    template <HowToPlan<Chosen> How = PlanOptions>
        requires NetworkType<Net>
    explicit Engine(Weights const& weights, How const& how = {}, executor run_on = {})
        : Engine(Net::graph(), weights, how, std::move(run_on)) {}
    /// For a graph of another batch or size, made from the network type; any graph if Net is Graph.
    template <HowToPlan<Chosen> How = PlanOptions>
    Engine(Graph const& graph, Weights const& weights, How const& how = {}, executor run_on = {})
        : engine_(graph, weights, how, std::move(run_on)) {}

    /// For a network of one input and one result. src: batch() images of in_shape() in the first layout (chw), one
    /// after the other; dst: as many results of out_shape(). They must not overlap. Never throws, allocates nothing,
    /// and gives the same bits for the same images on every call and for every number of threads of one plan. Spans of
    /// any other size are a bug of the caller's: it stops the program with a message.
    void run(std::span<const float> src, std::span<float> dst) noexcept { run(std::span(&src, 1), std::span(&dst, 1)); }
    /// Runs a network of any number of inputs and results, in the order of in_shapes() and out_shapes().
    void run(std::span<const std::span<const float>> srcs, std::span<const std::span<float>> dsts) noexcept {
        engine_.run(srcs, dsts);
    }

    /// The same with tensors, Tensor or TensorView, which know their layout and shape; one of the two may be a span. A
    /// tensor in another layout than image_layout is an error at compile time. Another shape or batch is a bug of the
    /// caller's as above; check_tensors throws for it instead.
    template <class Src, class Dst>
        requires TensorArguments<Src, Dst>
    void run(Src&& src, Dst&& dst) noexcept {
        static_assert(engine::check_arguments<image_layout, Src, Dst>());
        engine_.input(0).demand(src);
        engine_.result(0).demand(dst);
        run(engine::floats_of_src(src), engine::floats_of_dst(dst));
    }
    /// The same for any number of inputs and results.
    void run(std::span<const TensorView<const float, image_layout>> srcs,
             std::span<const TensorView<float, image_layout>> dsts) noexcept {
        engine_.run(srcs, dsts);
    }
    /// Throws error, naming the shapes, where run would stop the program for these tensors. For images whose size is
    /// known only at run time, to be called once before the first run.
    template <class Src, class Dst>
        requires TensorArguments<Src, Dst>
    void check_tensors(Src const& src, Dst const& dst) const {
        static_assert(engine::check_arguments<image_layout, Src, Dst>());
        engine_.check_counts(1, 1);
        engine_.input(0).check(src);
        engine_.result(0).check(dst);
    }
    void check_tensors(std::span<const TensorView<const float, image_layout>> srcs,
                       std::span<const TensorView<float, image_layout>> dsts) const {
        engine_.check_counts(srcs.size(), dsts.size());
        for (std::size_t i = 0; i < srcs.size(); ++i) engine_.input(i).check(srcs[i]);
        for (std::size_t i = 0; i < dsts.size(); ++i) engine_.result(i).check(dsts[i]);
    }

    /// Runs a network of one input on the bytes of its images; see Pixels (engine/pixels.hpp), which was made for this
    /// engine.
    template <class Images>
    void run(Images& images, std::span<const std::uint8_t> bytes, std::span<float> dst) noexcept {
        run(images, bytes, std::span<const std::span<float>>(&dst, 1));
    }
    template <class Images>
    void run(Images& images, std::span<const std::uint8_t> bytes, std::span<const std::span<float>> dsts) noexcept {
        engine_.run(images, bytes, dsts);
    }

    [[nodiscard]] Plan const& plan() const { return engine_.plan(); }
    /// The number of threads that share a run.
    [[nodiscard]] std::size_t workers() const { return engine_.workers(); }
    /// The simplified graph that runs.
    [[nodiscard]] Graph const& graph() const { return engine_.graph(); }
    /// Shapes of the first image and the first result.
    [[nodiscard]] Shape in_shape() const { return in_shapes().at(0); }
    [[nodiscard]] Shape out_shape() const { return out_shapes().at(0); }
    [[nodiscard]] std::vector<Shape> const& in_shapes() const { return program().in_shapes(); }
    [[nodiscard]] std::vector<Shape> const& out_shapes() const { return program().out_shapes(); }
    [[nodiscard]] int batch() const { return program().batch(); }
    [[nodiscard]] Program const& program() const { return engine_.program(); }

    [[nodiscard]] static Kernels kernels() { return policy_kernels<Chosen, KernelsFor<Net>>(); }

private:
    engine::detail::EngineOf<Chosen, KernelsFor<Net>> engine_;
};

#ifdef PRIMSEL_EXTERN_KERNELS
extern template engine::detail::EngineOf<DefaultPolicies, CompileAll>::EngineOf(Graph const&, Weights const&,
                                                                                PlanOptions const&, Sequential);
#endif

}  // namespace primsel::inline PRIMSEL_ABI
