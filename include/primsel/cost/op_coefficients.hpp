#pragma once

#include <primsel/core/work.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/shape.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// Fitted coefficients of one op in one layout and form (OpCounts::form): its seconds are the sum of coefficient * term
/// (see op_terms). The op "conv" is the pass that adds bias and activation to a convolution.
struct OpCoefficients {
    /// The call, the memory traffic and the vector arithmetic of all images, the traffic of the weights, the starts of
    /// inner loops and the scalar arithmetic of all images.
    static constexpr std::size_t terms = 6;
    using Terms = std::array<double, terms>;

    std::string_view op, layout;
    Terms values{};  // none negative
    std::string_view form{};
};

/// One timed op: its layout and form, its work for one image, and the seconds of the whole batch. `what` describes
/// layer and shapes.
struct OpTime {
    std::string op{}, layout{}, form{};
    int batch = 1;
    OpWork work{};
    double seconds = 0;
    std::string what{};
};

/// Returns the terms that OpCoefficients::values multiply: {1, batch * memory, batch * arithmetic, weights, batch *
/// rows, batch * scalar}. The first and the rows are counts, the others seconds; `rows` is that of one image.
[[nodiscard]] inline OpCoefficients::Terms op_terms(OpTerms const& of, int batch, double rows) {
    return {1, batch * of.memory, batch * of.arithmetic, of.weights, batch * rows, batch * of.scalar};
}

namespace cost::detail {
/// Returns the layout whose coefficients one without any takes: elements of float16 take as many bytes and conversions
/// as those of bfloat16.
[[nodiscard]] constexpr std::string_view fitted_like(std::string_view layout) {
    return layout == "hwc_f16" ? "hwc_bf16" : layout;
}
/// Returns the seconds by the coefficients of an op, or `otherwise` if it has none in the layout and form, or if there
/// is nothing to do. `fitted` is sorted by op.
[[nodiscard]] inline double fitted_seconds(std::span<const OpCoefficients> fitted, Analytical const& analytical,
                                           Kernels const& kernels, std::string_view op, std::string_view layout,
                                           auto const& query, double otherwise) {
    auto each = std::ranges::lower_bound(fitted, op, {}, &OpCoefficients::op);
    if (each == fitted.end() || each->op != op) return otherwise;
    const OpWork work = Analytical::work(kernels, query);
    const std::string_view form = work.counts.form;
    const OpCoefficients* found = nullptr;
    for (; each != fitted.end() && each->op == op; ++each) {
        const bool own = each->layout == layout && each->form == form;
        if (own || (each->layout == fitted_like(layout) && each->form == fitted_like(form))) found = &*each;
        if (own) break;
    }
    if (found == nullptr) return otherwise;
    const OpTerms terms = analytical.terms(kernels, work);
    const OpCoefficients::Terms parts = op_terms(terms, query.run.batch, work.counts.rows / work.at_work);
    if (parts[1] + parts[2] + parts[3] + parts[5] == 0) return otherwise;
    double sum = 0;
    for (std::size_t j = 0; j < OpCoefficients::terms; ++j) sum += found->values[j] * parts[j];
    // A lower bound for shapes unlike those that the coefficients are fitted to: a tenth of the roofline is a choice.
    return std::max(sum, 0.1 * std::max(parts[1], parts[2])) + terms.loop;
}
/// A dense layer on a batch, asked for as the layer on rows that computes it: the images share the weights that are
/// loaded, which the counts of one image do not know.
struct DenseOnBatch {
    AnyLayer layer;
    Shape in;
    OpQuery query;

    /// Returns whether it is one that has a layer on rows with counts.
    bool ask(Kernels const& kernels, OpQuery const& of, bool has_float_tensors) {
        const auto* const dense = std::get_if<DenseParams>(of.layer);
        if (dense == nullptr || of.run.batch == 1 || of.inputs[0].size() > max_extent) return false;
        const auto layout = has_float_tensors ? kernels.find_layout_if_any(chw::name) : of.layout;
        layer = DenseRowsParams{.k = dense->k, .bias = dense->bias};
        if (!layout || kernels.op(layer, *layout).work == nullptr) return false;
        in = {.c = 1, .h = of.run.batch, .w = static_cast<int>(of.inputs[0].size())};
        query = of;
        query.layer = &layer, query.inputs = {&in, 1}, query.layout = *layout;
        query.output = {.c = 1, .h = of.run.batch, .w = dense->k};
        query.run.batch = 1;
        return true;
    }
};
}  // namespace cost::detail

/// Overwrites seconds[i] for each query whose op has coefficients in its layout and form. Leaves the others, and ops
/// without any work, as they are; with `only_narrow` also those on floats. `fitted` is sorted by op.
inline void predict_fitted_ops(std::span<const OpCoefficients> fitted, Analytical const& analytical,
                               Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds,
                               bool only_narrow = false) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
        cost::detail::DenseOnBatch on_batch;
        const bool asked = on_batch.ask(kernels, queries[i], kernels.layouts[queries[i].layout].epilogue != nullptr);
        OpQuery const& query = asked ? on_batch.query : queries[i];
        // An op of which the weights alone are not floats, and which has no coefficients of its own, takes as long as
        // that of floats, but for the bytes of its weights.
        const auto tensors = kernels.op_tensors(*query.layer, query.layout);
        if (!tensors) continue;
        for (const std::size_t layout : {*tensors, query.layout}) {
            if (only_narrow && kernels.layouts[layout].precision == Precision::float32) continue;
            seconds[i] = cost::detail::fitted_seconds(fitted, analytical, kernels, layer_kind(*query.layer),
                                                      kernels.layouts[layout].name, query, seconds[i]);
            if (layout == query.layout) break;
        }
    }
}
/// The same for layout transforms: the op "transform" in the layout that is read.
inline void predict_fitted_ops(std::span<const OpCoefficients> fitted, Analytical const& analytical,
                               Kernels const& kernels, std::span<const TransformQuery> queries,
                               std::span<double> seconds, bool only_narrow = false) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
        if (only_narrow && kernels.layouts[queries[i].from].precision == Precision::float32) continue;
        seconds[i] = cost::detail::fitted_seconds(fitted, analytical, kernels, "transform",
                                                  kernels.layouts[queries[i].from].name, queries[i], seconds[i]);
    }
}
/// Predicts seconds[i] for queries[i]: by coefficients, or by Analytical for ops that have none in their layout.
inline void predict_ops(std::span<const OpCoefficients> fitted, Analytical const& analytical, Kernels const& kernels,
                        std::span<const OpQuery> queries, std::span<double> seconds) {
    analytical.predict(kernels, queries, seconds);
    predict_fitted_ops(fitted, analytical, kernels, queries, seconds);
}

}  // namespace primsel::inline PRIMSEL_ABI
