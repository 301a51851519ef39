#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/cost/op_coefficients.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/network/graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

struct AnyLayerAtAll {
    [[nodiscard]] constexpr bool operator()(AnyLayer const&) const { return true; }
};

/// Times the layers of networks that are no convolutions, and the passes that add bias and activation after those that
/// are: what OpRegression learns from. Works on this machine, on one thread.
template <CostModel Model = Measured>
class OpSampler {
public:
    explicit OpSampler(Kernels kernels, Model timer = Model(15))
        : kernels_(std::move(kernels)), timer_(std::move(timer)) {}

    /// The layers of a simplified graph for which wanted(layer) holds, each in each layout: for one image, of a step of
    /// training for its batch. What does the same as one before is not timed again. Seconds to a minute for a
    /// network.
    template <class Wanted = AnyLayerAtAll>
    void add(Graph const& graph, Wanted const& wanted = {}) {
        const bool layer_by_layer = goes_layer_by_layer(graph);
        for (std::size_t node = 0; node < graph.size(); ++node) {
            if (!wanted(graph[node].layer)) continue;
            const std::vector<Shape> inputs = graph.input_shapes(node);
            for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
                const OpQuery query{&graph[node].layer,
                                    inputs,
                                    graph[node].shape,
                                    layout,
                                    {.batch = layer_by_layer ? graph.batch() : 1, .layer_by_layer = layer_by_layer}};
                OpTime time{.op = std::string(layer_kind(graph[node].layer)),
                            .layout = std::string(kernels_.layouts[layout].name),
                            .batch = query.run.batch,
                            .work = Analytical::work(kernels_, query),
                            .rows = op_rows(kernels_, query)};
                const Amounts amounts{time.work.bytes, time.work.working_set, time.work.operations, time.work.weights,
                                      time.rows * query.run.batch};
                if (!seen_.emplace(time.op, time.layout, amounts).second) continue;
                timer_.predict(kernels_, std::span(&query, 1), std::span(&time.seconds, 1));
                times_.push_back(std::move(time));
            }
        }
    }

    /// Returns the times measured so far.
    [[nodiscard]] std::vector<OpTime> const& times() const { return times_; }

private:
    using Amounts = std::array<double, 5>;

    Kernels kernels_;
    Model timer_;
    std::vector<OpTime> times_;
    std::set<std::tuple<std::string, std::string, Amounts>> seen_;
};

}  // namespace primsel::inline PRIMSEL_ABI::measure
