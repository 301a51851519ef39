// Seconds of a convolution in a chain that is computed in strips.
#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/plan/questions.hpp>
#include <primsel/plan/strips.hpp>
#include <primsel/primitive/rows_of.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::plan::detail {

/// A primitive for a layer, and its seconds for the layer by itself.
struct PricedPrimitive {
    std::size_t primitive = 0;
    double seconds = 0;
};

/// The convolution that a layer of a chain is in each strip, and how many strips there are.
struct StripOfLayer {
    ConvShape shape{};
    double times = 1;
};
[[nodiscard]] inline StripOfLayer strip_of_layer(StripChain const& chain, std::size_t place, int batch) {
    int rows = chain.rows;
    for (std::size_t i = chain.shapes.size() - 1; i > place; --i) {
        rows = std::min(rows, chain.shapes[i].out_h()) * chain.shapes[i].stride_h;
    }
    ConvShape const& whole = chain.shapes[place];
    rows = std::min(rows, whole.out_h());
    const int first = (whole.out_h() - rows) / 2;
    return {rows_of(whole, {first, first + rows}), static_cast<double>(batch) * whole.out_h() / rows};
}
/// The factor on the seconds that models predict for strips. They must promise to save 3 % on one thread and 10 % on
/// several; both figures are choices, not measurements. Models err by some per cent on strips: YuNet-s took 1.05 of the
/// time with them where a gain was predicted (bench/results/2026-11-26-strips.md). Several threads compute the rows at
/// the borders of their bands twice, and share out whole layers more evenly.
[[nodiscard]] inline double strip_doubt(std::size_t workers) { return workers == 1 ? 1 / 0.97 : 1 / 0.9; }

/// Seconds that a layer of a chain takes in its strips by each of these primitives.
///
/// Each strip is a convolution of its own. All but the first read weights that L2 holds. Images and results between the
/// layers are near; the image of the first layer and the result of the last are where they would be otherwise, and keep
/// their share of what the whole layer takes longer than its strips. The share is by bytes, and a result counts twice,
/// because a write first reads the cache line. Models of convolutions hardly see how far it is to a tensor that L2 does
/// not hold. What a change of its layout takes longer than one of its strips stands for that, less the share that
/// prefetching hides (Analytical::hidden).
template <CostModel Model>
[[nodiscard]] std::vector<double> strip_seconds(Questions const& ask, Model& model, StripChain const& chain,
                                                std::size_t place, std::size_t workers,
                                                std::span<const PricedPrimitive> primitives) {
    Kernels const& kernels = ask.kernels();
    const std::size_t count = chain.shapes.size(), layout = *kernels.find_layout_if_any(hwc::name);
    const RunContext run = ask.context(chain.first + place);
    const StripOfLayer strip = strip_of_layer(chain, place, run.batch);
    double near_bytes = 4.0 * static_cast<double>(strip_floats(chain.shapes, chain.rows));
    for (ConvShape const& shape : chain.shapes) near_bytes += 4.0 * static_cast<double>(shape.kernel_size());
    std::vector<ConvQuery> convs;
    for (PricedPrimitive const& each : primitives) {
        convs.push_back({strip.shape, each.primitive, {.weight_reuse_bytes = near_bytes, .apart = run.apart}});
        convs.push_back({strip.shape,
                         each.primitive,
                         {.weight_reuse_bytes = run.weight_reuse_bytes,
                          .weight_reuse_operations = run.weight_reuse_operations,
                          .apart = run.apart}});
    }
    // Threads share strips as they share the whole layer.
    std::vector<ConvQuery> alone;
    for (PricedPrimitive const& each : primitives) {
        alone.push_back(ask.conv(chain.first + place, each.primitive));
        alone.back().run.threads = 1;
    }
    std::vector<double> conv_seconds(convs.size()), alone_seconds(alone.size());
    if (workers > 1) model.predict(kernels, std::span<const ConvQuery>(alone), std::span(alone_seconds));
    model.predict(kernels, std::span<const ConvQuery>(convs), std::span(conv_seconds));
    double saved = 0;
    if (place + 1 < count && layout != 0) {
        const std::vector<TransformQuery> moves{{chain.shapes[place].out_shape(), layout, 0, {.apart = run.apart}},
                                                {strip.shape.out_shape(), layout, 0, {.apart = run.apart}}};
        std::vector<double> seconds(moves.size());
        model.predict(kernels, std::span<const TransformQuery>(moves), std::span(seconds));
        saved = (1 - Analytical::hidden) * std::max(0.0, run.batch * seconds[0] - strip.times * seconds[1]);
    }
    const auto in = static_cast<double>(chain.shapes[place].in_shape().size()),
               out = 2.0 * static_cast<double>(chain.shapes[place].out_shape().size());
    const double far_share = ((place == 0 ? in : 0.0) + (place + 1 == count ? out : 0.0)) / (in + out);
    std::vector<double> result;
    for (std::size_t i = 0; i < primitives.size(); ++i) {
        const double near = conv_seconds[2 * i], far = conv_seconds[2 * i + 1];
        const double shared = workers > 1 && alone_seconds[i] > 0 ? primitives[i].seconds / alone_seconds[i] : 1;
        const double strips = shared * ((strip.times - 1) * near + far);
        const double longer = std::max(0.0, primitives[i].seconds - strips);
        result.push_back(strip_doubt(workers) * std::max(0.0, strips + far_share * longer - shared * saved));
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::plan::detail
