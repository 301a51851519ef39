#pragma once

#include <primsel/engine/policies.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/plan/print.hpp>

#include <concepts>
#include <cstddef>
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

/// What an engine may be given to plan by.
template <class T, class Policies>
concept HowToPlan = std::same_as<T, PlanOptions> || std::same_as<T, Plan> || PlannerFor<T, Policies>;

/// A network ready to run on this machine: constructing it predicts, solves, packs the weights and books the memory,
/// and may throw error; run only executes. Net is a Network type, or Graph for a network that comes from elsewhere.
template <class Net, class Policies>
class Engine {
    static_assert(NetworkType<Net> || std::same_as<Net, Graph>,
                  "primsel: Engine<Net> takes a type that inherits from primsel::Network, or primsel::Graph");
    static_assert(detail::CheckPolicies<Policies>::value);
    using Chosen = detail::ChosenPolicies<Policies>;

public:
    using executor = typename Chosen::executor;
    using cost_model = typename Chosen::cost_model;

    /// For a Network type. `how` is a planner (Predict, Calibrate, or a type of your own), a Plan that was made before,
    /// or PlanOptions, with which the engine predicts and solves by itself.
    template <HowToPlan<Chosen> How = PlanOptions>
        requires NetworkType<Net>
    explicit Engine(Weights const& weights, How const& how = {}, executor run_on = {})
        : Engine(Net::graph(), weights, how, std::move(run_on)) {}
    /// For any graph, and for a batch of more than one image.
    template <HowToPlan<Chosen> How = PlanOptions>
    Engine(Graph const& graph, Weights const& weights, How const& how = {}, executor run_on = {})
        : Engine(Simplified{simplify(graph)}, weights, how, std::move(run_on)) {}

    /// For a network of one input and one result. src: batch() images of in_shape() in the first layout (chw), one
    /// after the other; dst: as many results of out_shape(). They must not overlap. Never throws, allocates nothing,
    /// and gives the same bits for the same images on every call and for every number of threads. Spans of any other
    /// size are a bug of the caller's: it stops the program with a message.
    void run(std::span<const float> src, std::span<float> dst) noexcept { run(std::span(&src, 1), std::span(&dst, 1)); }
    /// The same for any number of inputs and results, in the order of in_shapes() and out_shapes().
    void run(std::span<const std::span<const float>> srcs, std::span<const std::span<float>> dsts) noexcept {
        check_count("inputs", srcs.size(), src_data_.size());
        check_count("results", dsts.size(), dst_data_.size());
        for (std::size_t i = 0; i < srcs.size(); ++i) {
            check_count("floats of input", srcs[i].size(), program_.in_floats(i));
            src_data_[i] = srcs[i].data();
        }
        for (std::size_t i = 0; i < dsts.size(); ++i) {
            check_count("floats of result", dsts[i].size(), program_.out_floats(i));
            dst_data_[i] = dsts[i].data();
        }
        program_.run(src_data_, dst_data_, executor_);
    }

    [[nodiscard]] Plan const& plan() const { return plan_; }
    /// The simplified graph that runs.
    [[nodiscard]] Graph const& graph() const { return graph_; }
    /// Of the first image and the first result.
    [[nodiscard]] Shape in_shape() const { return in_shapes().at(0); }
    [[nodiscard]] Shape out_shape() const { return out_shapes().at(0); }
    [[nodiscard]] std::vector<Shape> const& in_shapes() const { return program_.in_shapes(); }
    [[nodiscard]] std::vector<Shape> const& out_shapes() const { return program_.out_shapes(); }
    [[nodiscard]] int batch() const { return program_.batch(); }
    [[nodiscard]] Program const& program() const { return program_; }

    [[nodiscard]] static Kernels kernels() { return policy_kernels<Chosen>(); }

private:
    struct Simplified {
        Graph graph;
    };
    template <class How>
    Engine(Simplified simplified, Weights const& weights, How const& how, executor run_on)
        : executor_(std::move(run_on)),
          graph_(std::move(simplified.graph)),
          plan_(plan_for(graph_, how, executor_.concurrency())),
          program_(graph_, kernels(), plan_, weights, executor_.concurrency()),
          src_data_(in_shapes().size()),
          dst_data_(out_shapes().size()) {}

    [[nodiscard]] static Plan plan_for(Graph const& graph, auto const& planner, std::size_t workers) {
        return planner.template plan<Chosen>(graph, kernels(), workers);
    }
    [[nodiscard]] static Plan plan_for(Graph const& graph, PlanOptions const& options, std::size_t workers) {
        return plan_for(graph, Predict<>({}, {}, options), workers);
    }
    [[nodiscard]] static Plan plan_for(Graph const&, Plan const& plan, std::size_t) { return plan; }
    static void check_count(const char* what, std::size_t given, std::size_t wanted) noexcept {
        if (given == wanted) [[likely]]
            return;
        std::fprintf(stderr, "primsel: run() was called with %zu %s; it takes %zu\n", given, what, wanted);
        std::abort();
    }

    executor executor_;
    Graph graph_;
    Plan plan_;
    Program program_;
    std::vector<const float*> src_data_;
    std::vector<float*> dst_data_;
};

}  // namespace primsel::inline PRIMSEL_ABI
