#pragma once

#include <primsel/engine/policies.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/plan/print.hpp>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// A network ready to run on this machine: constructing it predicts, solves, packs the weights and books the memory,
/// and may throw error; run only executes. Net is a Network type, or Graph for a network that comes from elsewhere.
template <class Net, class Policies>
class Engine {
    static_assert(NetworkType<Net> || std::same_as<Net, Graph>,
                  "primsel: Engine<Net> takes a type that inherits from primsel::Network, or primsel::Graph");
    static_assert(detail::CheckPolicies<Policies>::value);

public:
    using executor = typename Policies::executor;
    using cost_model = typename Policies::cost_model;

    /// For a Network type.
    explicit Engine(Weights const& weights, PlanOptions const& options = {}, executor run_on = {})
        requires NetworkType<Net>
        : Engine(Net::graph(), weights, options, std::move(run_on)) {}
    /// With a plan that was made before, in place of predicting and solving.
    Engine(Weights const& weights, Plan plan, executor run_on = {})
        requires NetworkType<Net>
        : Engine(Net::graph(), weights, std::move(plan), std::move(run_on)) {}

    /// For any graph, and for a batch of more than one image.
    Engine(Graph const& graph, Weights const& weights, PlanOptions const& options = {}, executor run_on = {})
        : Engine(Simplified{simplify(graph)}, weights, options, std::move(run_on)) {}
    Engine(Graph const& graph, Weights const& weights, Plan plan, executor run_on = {})
        : Engine(Simplified{simplify(graph)}, weights, std::move(plan), std::move(run_on)) {}

    /// src: batch() images of in_shape() in the first layout (chw), one after the other; dst: as many results of
    /// out_shape(). They must not overlap. Never throws, allocates nothing, and gives the same bits for the same images
    /// on every call and for every number of threads. Spans of any other size are a bug of the caller's: it stops the
    /// program with a message.
    void run(std::span<const float> src, std::span<float> dst) noexcept {
        if (src.size() != program_.in_floats() || dst.size() != program_.out_floats()) [[unlikely]] {
            std::fprintf(stderr, "primsel: run() takes %zu floats and gives %zu; it was called with %zu and %zu\n",
                         program_.in_floats(), program_.out_floats(), src.size(), dst.size());
            std::abort();
        }
        program_.run(src.data(), dst.data(), executor_);
    }

    [[nodiscard]] Plan const& plan() const { return plan_; }
    /// The simplified graph that runs.
    [[nodiscard]] Graph const& graph() const { return graph_; }
    [[nodiscard]] Shape in_shape() const { return program_.in_shape(); }
    [[nodiscard]] Shape out_shape() const { return program_.out_shape(); }
    [[nodiscard]] int batch() const { return program_.batch(); }
    [[nodiscard]] Program const& program() const { return program_; }

    [[nodiscard]] static Kernels kernels() {
        return make_kernels<typename Policies::primitives, typename Policies::arch, typename Policies::layouts>();
    }

private:
    struct Simplified {
        Graph graph;
    };
    Engine(Simplified simplified, Weights const& weights, PlanOptions const& options, executor run_on)
        : executor_(std::move(run_on)),
          graph_(std::move(simplified.graph)),
          plan_(make_own_plan(graph_, options)),
          program_(graph_, kernels(), plan_, weights, executor_.concurrency()) {}
    Engine(Simplified simplified, Weights const& weights, Plan plan, executor run_on)
        : executor_(std::move(run_on)),
          graph_(std::move(simplified.graph)),
          plan_(std::move(plan)),
          program_(graph_, kernels(), plan_, weights, executor_.concurrency()) {}

    [[nodiscard]] static Plan make_own_plan(Graph const& graph, PlanOptions const& options) {
        cost_model model{};
        return make_plan(graph, kernels(), model, typename Policies::solver{}, options);
    }

    executor executor_;
    Graph graph_;
    Plan plan_;
    Program program_;
};

}  // namespace primsel::inline PRIMSEL_ABI
