#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// A primitive's seconds as a sum of Analytical's terms (ConvTerms) with fitted coefficients. They are near 1 wherever
/// the roofline is right, and so mean the same on any machine and for any instruction set.
struct ConvCoefficients {
    /// Its matrix products, its other steps, its weights' way from memory, its calls.
    static constexpr std::size_t terms = 4;
    using Terms = std::array<double, terms>;
    /// The coefficients of a primitive that was never measured. Those of products and other steps are the
    /// roofline's. Those of weights and calls are choices between the roofline's and the medians over the primitives in
    /// bench/profiles, which are 0.54 and 2.2 if nothing pulls them (test/cost/pretrained.cpp).
    static constexpr Terms usual{1, 1, 0.7, 1.5};

    std::string_view primitive;
    Terms values{};  // none negative
};

[[nodiscard]] constexpr ConvCoefficients::Terms as_terms(ConvTerms const& of) {
    return {of.products, of.rest, of.weights, of.calls};
}

/// Predicts convolutions by coefficients that are sorted by their primitives. Primitives without coefficients take what
/// Analytical says, and so do grouped convolutions, which profiles lack: their steps have other proportions.
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
        seconds[i] = of.times * sum + of.besides;
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
