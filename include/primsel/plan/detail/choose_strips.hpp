// What convolutions take in strips of rows, and which of a plan's are cheaper so.
#pragma once

#include <primsel/cost/cost_model.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/detail/run_size.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/plan/plan_options.hpp>
#include <primsel/plan/strips.hpp>
#include <primsel/primitive/rows_of.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// What a model says that convolutions take in strips of so many rows, of a network whose run is of that size.
///
/// Each strip is a convolution of its own, whose weights lie near but for the first strip. It reads and writes what is
/// near; but the image of the first layer and the result of the last are where they would be otherwise, and keep their
/// share of what the whole layer takes longer. What models of convolutions hardly see is how far it is to a tensor that
/// L2 does not hold: half of what a change of its layout takes longer than one of its strips, as kernels fetch ahead.
template <CostModel Model>
[[nodiscard]] double strip_seconds(Kernels const& kernels, Model& model, std::span<const StripLayer> layers, int rows,
                                   int batch, RunSize const& run) {
    const std::size_t count = layers.size(), layout = *kernels.find_layout_if_any(hwc::name);
    double near_bytes = 4.0 * static_cast<double>(strip_floats(layers, rows));
    std::vector<Rows> out(count);
    std::vector<double> strips(count);
    int made = rows;
    for (std::size_t i = count; i-- > 0;) {
        ConvShape const& s = layers[i].shape;
        made = std::min(made, s.out_h());
        const int first = (s.out_h() - made) / 2;
        out[i] = {first, first + made};
        strips[i] = static_cast<double>(batch) * s.out_h() / made;
        made *= s.stride_h;
        near_bytes += 4.0 * static_cast<double>(s.kernel_size());
    }
    std::vector<ConvQuery> convs;
    std::vector<TransformQuery> moves;
    for (std::size_t i = 0; i < count; ++i) {
        const ConvShape part = rows_of(layers[i].shape, out[i]);
        convs.push_back({.shape = part, .primitive = layers[i].primitive, .run_bytes = near_bytes});
        convs.push_back({.shape = part,
                         .primitive = layers[i].primitive,
                         .run_bytes = run.stored(),
                         .run_operations = run.operations()});
        if (i + 1 == count || layout == 0) continue;
        moves.push_back({layers[i].shape.out_shape(), 1, layout, 0});
        moves.push_back({part.out_shape(), 1, layout, 0});
    }
    std::vector<double> conv_seconds(convs.size()), move_seconds(moves.size());
    model.predict(kernels, std::span<const ConvQuery>(convs), std::span(conv_seconds));
    model.predict(kernels, std::span<const TransformQuery>(moves), std::span(move_seconds));
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double near = conv_seconds[2 * i], far = conv_seconds[2 * i + 1];
        double seconds = (strips[i] - 1) * near + far;
        const auto in = static_cast<double>(layers[i].shape.in_shape().size()),
                   result = 2.0 * static_cast<double>(layers[i].shape.out_shape().size());
        const double share = (i == 0 ? in : 0.0) + (i + 1 == count ? result : 0.0);
        seconds += std::max(0.0, layers[i].seconds - seconds) * share / (in + result);
        sum += seconds;
        if (2 * i + 1 < moves.size()) {
            sum -= 0.5 * std::max(0.0, batch * move_seconds[2 * i] - strips[i] * move_seconds[2 * i + 1]);
        }
    }
    return std::max(sum, 0.0);
}

/// Finds the convolutions of a plan that are cheaper together, and writes them into it.
template <CostModel Model>
class StripChooser {
public:
    /// Strips are taken where they take at most so much of the time of the layers by themselves.
    StripChooser(Plan& plan, Graph const& graph, Kernels const& kernels, Model& model, RunSize const& run,
                 double worthwhile)
        : plan_(plan), graph_(graph), kernels_(kernels), model_(model), run_(run), worthwhile_(worthwhile) {}

    void choose() {
        const std::vector<std::size_t> readers = count_readers(graph_);
        std::vector<StripLayer> chain;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            const auto layer = strip_layer(graph_, kernels_, plan_.layers[i], i);
            if (layer) chain.push_back(*layer);
            if (layer && read_by_next(graph_, i, readers)) continue;
            divide(chain, (layer ? i + 1 : i) - chain.size());
            chain.clear();
        }
    }

private:
    struct Part {
        std::size_t first = 0;                                     ///< of the chain
        int rows = 0;                                              ///< 0: a layer by itself
        double seconds = std::numeric_limits<double>::infinity();  ///< of it and of all before
        double own = 0;
    };

    /// The cheapest division of a chain, which begins at this node, into layers by themselves and strips.
    void divide(std::span<const StripLayer> chain, std::size_t node) {
        if (chain.size() < 2) return;
        std::vector<Part> upto(chain.size() + 1);
        upto[0].seconds = 0;
        for (std::size_t end = 1; end <= chain.size(); ++end) {
            consider(upto, end, {end - 1, 0, 0, chain[end - 1].seconds});
            for (std::size_t count = 2; count <= std::min(end, most_strip_layers); ++count) {
                // What is between two layers of strips is too large for L2 to hold it beside other things.
                ConvShape const& joint = chain[end - count].shape;
                if (joint.out_shape().size() < l2_floats / 2) break;
                const std::span<const StripLayer> layers = chain.subspan(end - count, count);
                const int rows = best_strip_rows(layers);
                if (rows == 0) continue;
                const double seconds = strip_seconds(kernels_, model_, layers, rows, graph_.batch(), run_);
                double apart = 0;
                for (StripLayer const& layer : layers) apart += layer.seconds;
                if (seconds < worthwhile_ * apart) consider(upto, end, {end - count, rows, 0, seconds});
            }
        }
        write(upto, chain.size(), node);
    }
    static void consider(std::vector<Part>& upto, std::size_t end, Part part) {
        part.seconds = upto[part.first].seconds + part.own;
        if (part.seconds < upto[end].seconds) upto[end] = part;
    }
    void write(std::vector<Part> const& upto, std::size_t end, std::size_t node) {
        if (end == 0) return;
        Part const& part = upto[end];
        write(upto, part.first, node);
        if (part.rows == 0) return;
        PlannedStrips& strips = plan_.strips.emplace_back();
        strips.rows = part.rows, strips.seconds = part.own;
        for (std::size_t i = node + part.first; i < node + end; ++i) {
            strips.layers.push_back(plan_.layers[i].name);
            plan_.total_seconds -= plan_.layers[i].seconds;
        }
        plan_.total_seconds += part.own;
    }

    Plan& plan_;
    Graph const& graph_;
    Kernels const& kernels_;
    Model& model_;
    RunSize const& run_;
    double worthwhile_;
};

/// Unless the options forbid it, or the images of the graph go together, as in a step of training, which reads again
/// what lies between.
template <CostModel Model>
void choose_strips(Plan& plan, Graph const& graph, Kernels const& kernels, Model& model, PlanOptions const& options,
                   RunSize const& run) {
    if (!options.strips || goes_together(graph) || !kernels.find_layout_if_any(hwc::name)) return;
    // No prediction is better than some per cent; and threads make rows at the borders of their bands twice, and share
    // out whole layers more evenly.
    const double worthwhile = options.workers == 1 ? 0.97 : 0.9;
    StripChooser<Model>(plan, graph, kernels, model, run, worthwhile).choose();
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
