#pragma once

#include <primsel/cost/cost_model.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/plan/detail/reuse_distance.hpp>
#include <primsel/plan/detail/run_size.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The questions that a graph puts to cost models, each with the context of the run. Whoever prices a layer or a change
/// of layout of a graph asks here, so that all of them ask the same. Graph and kernels must outlive this.
class Questions {
public:
    /// For a run on so many threads, while `apart` such runs take place.
    Questions(Graph const& graph, Kernels const& kernels, std::size_t threads = 1, std::size_t apart = 1)
        : Questions(graph, kernels, plan::detail::RunSize(graph, kernels), threads, apart) {}
    /// For a graph that runs in turns with others, to which it belongs, and shares weights with them: the largest says
    /// how far a run is from the next use of its weights.
    Questions(Graph const& graph, Kernels const& kernels, plan::detail::RunSize run, std::size_t threads = 1,
              std::size_t apart = 1)
        : graph_(&graph),
          kernels_(&kernels),
          run_(std::move(run)),
          threads_(static_cast<int>(threads)),
          apart_(static_cast<int>(apart)),
          layer_by_layer_(goes_layer_by_layer(graph)) {
        if (threads == 0 || apart == 0) fail("a plan for 0 threads");
        for (std::size_t i = 0; i < graph.size(); ++i) {
            inputs_.push_back(graph.input_shapes(i));
            tasks_.push_back(conv_task(graph, i));
        }
        const auto in_place = [&kernels](AnyLayer const& layer) { return kernels.op(layer, 0).in_place; };
        callers_ = plan::detail::callers_tensors(graph);
        data_reuse_ = layer_by_layer_ ? plan::detail::data_reuse_bytes(graph, in_place)
                                      : plan::detail::callers_reuse_bytes(graph, callers_);
    }

    [[nodiscard]] Graph const& graph() const { return *graph_; }
    [[nodiscard]] Kernels const& kernels() const { return *kernels_; }

    /// Shapes that layer i reads.
    [[nodiscard]] std::span<const Shape> inputs(std::size_t i) const { return inputs_[i]; }
    /// Layer i must need a primitive (conv_task), and this one must support it.
    [[nodiscard]] ConvQuery conv(std::size_t i, std::size_t primitive) const {
        ConvTask const& task = *tasks_[i];
        PrimitiveEntry const& entry = kernels_->primitives[primitive];
        const ConvShape shape = shape_for(entry, task);
        RunContext run = context(i);
        run.packs = task.packs;
        run.weight_reuse_bytes = run_.packed(shape, entry.packed_bytes(shape), entry.precision);
        return {shape, primitive, run};
    }
    /// The answer refers to this object.
    [[nodiscard]] OpQuery op(std::size_t i, std::size_t layout) const {
        return {&(*graph_)[i].layer, inputs_[i], (*graph_)[i].shape, layout, context(i)};
    }
    /// Changes the layout of the result of layer i.
    [[nodiscard]] TransformQuery transform(std::size_t i, std::size_t from, std::size_t to) const {
        return {(*graph_)[i].shape,
                from,
                to,
                {.batch = graph_->batch(),
                 .layer_by_layer = layer_by_layer_,
                 .data_reuse_bytes = callers_[i] && !layer_by_layer_ ? data_reuse_[i] : 0,
                 .threads = threads_,
                 .apart = apart_}};
    }
    /// The run that layer i is part of, whose weights are as they are stored.
    [[nodiscard]] RunContext context(std::size_t i) const {
        return {.batch = graph_->batch(),
                .layer_by_layer = layer_by_layer_,
                .data_reuse_bytes = data_reuse_[i],
                .weight_reuse_bytes = run_.stored(),
                .weight_reuse_operations = run_.operations(),
                .threads = threads_,
                .apart = apart_};
    }

private:
    Graph const* graph_;
    Kernels const* kernels_;
    plan::detail::RunSize run_;
    int threads_, apart_;
    bool layer_by_layer_;
    std::vector<std::vector<Shape>> inputs_;
    std::vector<std::optional<ConvTask>> tasks_;
    std::vector<bool> callers_;
    std::vector<double> data_reuse_;
};

}  // namespace primsel::inline PRIMSEL_ABI
