#pragma once

#include <primsel/core/number_text.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/plan_options.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The error of a network's result when one layer alone computes in less than floats, for each type that the layer can
/// run in: the sum of the squared differences from the result in floats over the sum of that result's squares. The
/// roundings of different layers are nearly independent, so squared errors add up; the square root of their sum is the
/// error relative to the RMS of the result.
struct LayerError {
    /// Nothing for a type that the layer cannot run in, or that was not measured.
    std::optional<double> bf16 = std::nullopt, int8 = std::nullopt;

    [[nodiscard]] std::optional<double> in(Precision precision) const {
        switch (precision) {
            case Precision::float32:
                return 0.0;
            case Precision::bf16:
                return bf16;
            case Precision::int8:
                return int8;
            case Precision::f16:
                break;
        }
        return std::nullopt;
    }
    friend bool operator==(LayerError const&, LayerError const&) = default;
};

/// The errors of a (simplified) graph's layers, by name: measure_layer_errors.
using LayerErrors = std::map<std::string, LayerError, std::less<>>;

/// Returns the bounds that keep plans of the graph to these precisions of its layers or more precise ones, for
/// PlanOptions::layer_precisions: one for each layer that has an error in a less precise type. The reason says how
/// large that error is.
[[nodiscard]] inline std::vector<LayerPrecision> layer_precisions(Graph const& graph,
                                                                  std::span<const Precision> precisions,
                                                                  LayerErrors const& errors) {
    std::vector<LayerPrecision> bounds;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const auto found = errors.find(graph[i].name);
        if (found == errors.end()) continue;
        std::string reason;
        for (const Precision less : {Precision::bf16, Precision::int8}) {
            const std::optional<double> error = found->second.in(less);
            if (less <= precisions[i] || !error) continue;
            reason += (reason.empty() ? "" : ", ") + core::rounded_text(100 * std::sqrt(*error), 2) + " % in " +
                      std::string(to_string_view(less));
        }
        if (reason.empty()) continue;
        bounds.push_back({graph[i].name, precisions[i],
                          "within the error budget the layer stays in " + std::string(to_string_view(precisions[i])) +
                              "; its error alone: " + reason});
    }
    return bounds;
}

}  // namespace primsel::inline PRIMSEL_ABI
