#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Fitted coefficients of one primitive: its seconds are the sum of coefficient * term over Analytical's terms
/// (ConvTerms). A coefficient is near 1 where the roofline is right. Coefficients have no unit, so one set serves all
/// machines and instruction sets.
struct ConvCoefficients {
    /// Matrix products, other steps, traffic of the weights, calls: as_terms has this order.
    static constexpr std::size_t terms = 4;
    using Terms = std::array<double, terms>;
    /// The coefficients towards which fits are regularised. Those of products and other steps are the roofline's, 1.
    /// Those of weights and calls are choices between 1 and the medians over the primitives in bench/profiles, which
    /// are 0.69 and 1.9 without regularisation (test/cost/pretrained.cpp).
    static constexpr Terms usual{1, 1, 0.7, 1.5};

    std::string_view primitive;
    Terms values{};  // none negative
};

[[nodiscard]] constexpr ConvCoefficients::Terms as_terms(ConvTerms const& of) {
    return {of.products, of.rest, of.weights, of.calls};
}

/// Predicts seconds[i] for queries[i]. `coefficients` must be sorted by primitive id. Primitives without coefficients,
/// and all grouped convolutions, get Analytical's prediction: the profiles that coefficients are fitted to have no
/// grouped convolutions.
inline void predict_convolutions(std::span<const ConvCoefficients> coefficients, Analytical const& analytical,
                                 Kernels const& kernels, std::span<const ConvQuery> queries,
                                 std::span<double> seconds) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const ConvTerms of = analytical.terms(kernels, queries[i]);
        seconds[i] = Analytical::seconds(of);
        if (queries[i].shape.groups > 1) continue;
        const std::string_view id = kernels.primitives[queries[i].primitive].id;
        const auto found = std::ranges::lower_bound(coefficients, id, {}, &ConvCoefficients::primitive);
        if (found == coefficients.end() || found->primitive != id) continue;
        const ConvCoefficients::Terms terms = as_terms(of);
        double sum = 0;
        for (std::size_t j = 0; j < terms.size(); ++j) sum += found->values[j] * terms[j];
        seconds[i] = of.times * (sum + of.loops) + of.besides;
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
