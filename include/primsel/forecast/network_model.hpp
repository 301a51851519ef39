#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/forecast/features.hpp>
#include <primsel/forecast/layer_work.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// The question to a network model: a network at a batch size.
struct NetworkLoad {
    int batch = 1;
    /// The paper's, of the convolutions.
    NetworkFeatures features;
    /// All layers.
    std::vector<LayerWork> layers;
    /// A step of training, or a run.
    bool training = true;
};
[[nodiscard]] inline NetworkLoad network_load(Graph const& graph, int batch, bool training = true) {
    return {batch, network_features(graph, batch), layer_works(graph), training};
}
/// The load of a network of which only the convolutions are known (see layer_works).
[[nodiscard]] inline NetworkLoad network_load(std::span<const ConvSizes> convolutions, int batch, bool training = true,
                                              bool batch_norms = true) {
    return {batch, network_features(convolutions, batch), layer_works(convolutions, batch_norms), training};
}

/// A forecast and how far it may be off: one standard deviation, in the same unit.
struct Estimate {
    double value = 0, deviation = 0;
};

/// Predicts one attribute of a network (seconds or bytes) from measurements of other networks. All values are positive.
///
/// A minimal model:
///     struct Proportional {
///         static constexpr std::string_view kind = "proportional";
///         double factor = 0;
///         static Proportional fit(std::span<const primsel::forecast::NetworkLoad> loads,
///                                 std::span<const double> values) {
///             return {values[0] / loads[0].features(13)};
///         }
///         primsel::forecast::Estimate predict(primsel::forecast::NetworkLoad const& load) const {
///             return {factor * load.features(13), 0};
///         }
///         void archive(primsel::Archive& archive) { archive(factor); }
///     };
template <class M>
concept NetworkModel =
    std::default_initializable<M> && requires(M& model, NetworkLoad const& load, std::span<const NetworkLoad> loads,
                                              std::span<const double> values, Archive& archive) {
        { M::kind } -> std::convertible_to<std::string_view>;
        { M::fit(loads, values) } -> std::same_as<M>;
        { std::as_const(model).predict(load) } -> std::same_as<Estimate>;
        model.archive(archive);
    };

namespace detail {

/// Throws error where there is nothing to learn from, or a value that is not positive.
inline void check_samples(std::span<const NetworkLoad> loads, std::span<const double> values) {
    if (loads.empty()) fail("forecast: nothing to learn from");
    if (loads.size() != values.size()) fail("forecast: ", loads.size(), " networks and ", values.size(), " values");
    for (const double value : values) {
        if (is_nan(value) || !(value > 0) || !is_finite(value)) fail("forecast: a measured value of ", value);
    }
}

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI::forecast
