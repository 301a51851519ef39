#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// Fitted coefficients of one op in one layout: its seconds are the sum of coefficient * term (see op_terms). The op
/// "conv" is the pass that adds bias and activation to a convolution.
struct OpCoefficients {
    /// The call, the memory traffic and the arithmetic of all images, the traffic of the weights, and the contiguous
    /// rows of all images.
    static constexpr std::size_t terms = 5;
    using Terms = std::array<double, terms>;

    std::string_view op, layout;
    Terms values{};  // none negative
};

/// One timed op: its layout, its work for one image, and the seconds of the whole batch.
struct OpTime {
    std::string op, layout;
    int batch = 1;
    OpWork work{};
    /// The number of contiguous rows of one image (see op_rows).
    double rows = 0;
    double seconds = 0;
};

/// Returns the terms that OpCoefficients::values multiply: {1, batch * memory, batch * arithmetic, weights, batch *
/// rows}. The first and the last are counts, the others seconds; `rows` is that of one image.
[[nodiscard]] inline OpCoefficients::Terms op_terms(OpTerms const& of, int batch, double rows) {
    return {1, batch * of.memory, batch * of.arithmetic, of.weights, batch * rows};
}
/// Returns the number of contiguous rows that the op's loops run over for one image: the pixels in hwc, c * h in other
/// layouts. It is that of the larger of output and first input, or of the output alone for ConvParams.
[[nodiscard]] inline double op_rows(Kernels const& kernels, OpQuery const& query) {
    const bool pass = std::holds_alternative<ConvParams>(*query.layer),
               by_pixel = kernels.layouts[query.layout].name == hwc::name;
    const auto rows_of = [&](Shape const& shape) {
        return static_cast<double>(by_pixel ? shape.pixels()
                                            : static_cast<std::size_t>(shape.c) * static_cast<std::size_t>(shape.h));
    };
    const double rows = rows_of(query.output);
    return pass || query.inputs.empty() ? rows : std::max(rows, rows_of(query.inputs[0]));
}

/// Overwrites seconds[i] for each query whose op has coefficients in its layout. Leaves the others, and ops without any
/// work, as they are.
inline void predict_fitted_ops(std::span<const OpCoefficients> fitted, Analytical const& analytical,
                               Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const std::string_view op = layer_kind(*queries[i].layer), layout = kernels.layouts[queries[i].layout].name;
        const auto found = std::ranges::find_if(
            fitted, [&](OpCoefficients const& entry) { return entry.op == op && entry.layout == layout; });
        if (found == fitted.end()) continue;
        const OpCoefficients::Terms parts =
            op_terms(analytical.terms(kernels, queries[i]), queries[i].run.batch, op_rows(kernels, queries[i]));
        if (parts[1] + parts[2] + parts[3] == 0) continue;  // nothing is done
        double sum = 0;
        for (std::size_t j = 0; j < OpCoefficients::terms; ++j) sum += found->values[j] * parts[j];
        // A lower bound for shapes unlike those that the coefficients are fitted to. A tenth of the roofline is a
        // choice: no time in bench/profiles is below 0.36 of it (bench/results/2026-11-28-cost-coefficients.md).
        seconds[i] = std::max(sum, 0.1 * std::max(parts[1], parts[2]));
    }
}
/// Predicts seconds[i] for queries[i]: by coefficients, or by Analytical for ops that have none in their layout.
inline void predict_ops(std::span<const OpCoefficients> fitted, Analytical const& analytical, Kernels const& kernels,
                        std::span<const OpQuery> queries, std::span<double> seconds) {
    analytical.predict(kernels, queries, seconds);
    predict_fitted_ops(fitted, analytical, kernels, queries, seconds);
}

}  // namespace primsel::inline PRIMSEL_ABI
