#pragma once

#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/cost/op_coefficients.hpp>
#include <primsel/measure/drawn_layers.hpp>
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
            add({graph[node].layer, graph.input_shapes(node), graph[node].shape, layer_by_layer ? graph.batch() : 1},
                layer_by_layer);
        }
    }
    /// One layer in each layout, unless the same was timed before.
    void add(DrawnLayer const& drawn, bool layer_by_layer = false) {
        for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
            const OpQuery query{&drawn.layer,
                                drawn.inputs,
                                drawn.output,
                                layout,
                                {.batch = drawn.batch, .layer_by_layer = layer_by_layer}};
            OpTime time{.op = std::string(layer_kind(drawn.layer)),
                        .layout = std::string(kernels_.layouts[layout].name),
                        .batch = drawn.batch,
                        .work = Analytical::work(kernels_, query),
                        .what = drawn.text()};
            time.form = time.work.counts.form;
            if (time.work.weights <= l2_floats / 4 * sizeof(float)) {  // Measured leaves them in the caches
                time.work.counts.bytes += time.work.weights, time.work.working_set += time.work.weights;
                time.work.weights = 0;
            }
            if (!is_finite(time.work.counts.operations)) continue;  // no plan takes this layout
            if (!seen_.insert(key_of(time)).second) continue;
            timer_.predict(kernels_, std::span(&query, 1), std::span(&time.seconds, 1));
            if (time.seconds > 0) times_.push_back(std::move(time));  // else it does not run in this layout
        }
    }

    /// Each layout transform of an image, unless the same was timed before.
    void add_transforms(Shape shape) {
        for (std::size_t i = 0; i < kernels_.layouts.size() * kernels_.layouts.size(); ++i) {
            const TransformQuery query{shape, i / kernels_.layouts.size(), i % kernels_.layouts.size()};
            if (query.from == query.to || kernels_.same_placement(shape, query.from, query.to)) continue;
            OpTime time{.op = "transform",
                        .layout = std::string(kernels_.layouts[query.from].name),
                        .work = Analytical::work(kernels_, query),
                        .what = join(shape)};
            time.form = time.work.counts.form;
            if (!seen_.insert(key_of(time)).second) continue;
            timer_.predict(kernels_, std::span(&query, 1), std::span(&time.seconds, 1));
            times_.push_back(std::move(time));
        }
    }
    /// A layer that was timed before.
    void skip(OpTime const& time) { seen_.insert(key_of(time)); }

    /// Returns the times measured so far.
    [[nodiscard]] std::vector<OpTime> const& times() const { return times_; }

private:
    using Amounts = std::array<double, 6>;
    using Key = std::tuple<std::string, std::string, std::string, Amounts>;

    [[nodiscard]] static Key key_of(OpTime const& time) {
        OpCounts const& counts = time.work.counts;
        return {time.op, time.layout, time.form,
                Amounts{counts.bytes, time.work.working_set, counts.operations, counts.scalars, time.work.weights,
                        counts.rows * time.batch}};
    }

    Kernels kernels_;
    Model timer_;
    std::vector<OpTime> times_;
    std::set<Key> seen_;
};

}  // namespace primsel::inline PRIMSEL_ABI::measure
