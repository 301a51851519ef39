#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/forecast/network_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// How far a kind of model was off in cross-validation: the mean of |forecast - measured| / measured. NaN where the
/// samples cannot be divided so.
struct ValidatedError {
    std::string_view kind;
    /// Each family of networks (family_of) forecast from the others; more than eight in eight parts.
    double other_networks = 0;
    /// A fifth of the networks forecast from the others, thinned ones of the same families among them.
    double other_widths = 0;

    /// Kinds are compared by this, the mean of what is known.
    [[nodiscard]] double mean() const {
        if (is_nan(other_networks)) return other_widths;
        return is_nan(other_widths) ? other_networks : (other_networks + other_widths) / 2;
    }
};

namespace detail {

/// The part of each sample by network: networks that are equal but for the batch are in one part.
struct SampleParts {
    std::vector<std::size_t> family, width;
    std::size_t families = 0, widths = 0;

    explicit SampleParts(std::span<const NetworkLoad> loads) {
        std::vector<std::uint64_t> known_families;
        std::vector<std::pair<std::uint64_t, double>> known_networks;
        const auto place = [](auto& known, auto const& of) {
            const auto found = std::ranges::find(known, of);
            if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
            known.push_back(of);
            return known.size() - 1;
        };
        for (NetworkLoad const& load : loads) {
            double weights = 0;
            for (LayerWork const& layer : load.layers) weights += layer.weights;
            const std::uint64_t of = family_of(load.layers);
            family.push_back(place(known_families, of));
            width.push_back(place(known_networks, std::pair(of, weights)));
        }
        // Sub-networks of a supernet may all be families of their own.
        families = std::min<std::size_t>(8, known_families.size());
        for (std::size_t& part : family) part %= std::max<std::size_t>(families, 1);
        widths = std::min<std::size_t>(5, known_networks.size());
        for (std::size_t& part : width) part %= std::max<std::size_t>(widths, 1);
    }
};

/// The mean error over the samples, each forecast from the other parts; NaN where there is one part.
template <NetworkModel Model>
[[nodiscard]] double validated(std::span<const NetworkLoad> loads, std::span<const double> values,
                               std::vector<std::size_t> const& part, std::size_t parts) {
    if (parts < 2) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (std::size_t out = 0; out < parts; ++out) {
        std::vector<NetworkLoad> known;
        std::vector<double> known_values;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            if (part[i] != out) known.push_back(loads[i]), known_values.push_back(values[i]);
        }
        const Model model = Model::fit(known, known_values);
        for (std::size_t i = 0; i < loads.size(); ++i) {
            if (part[i] == out) sum += std::abs(model.predict(loads[i]).value / values[i] - 1);
        }
    }
    return sum / static_cast<double>(loads.size());
}

}  // namespace detail

/// The errors of a kind of model in cross-validation within the samples.
template <NetworkModel Model>
[[nodiscard]] ValidatedError cross_validate(std::span<const NetworkLoad> loads, std::span<const double> values) {
    detail::check_samples(loads, values);
    const detail::SampleParts parts(loads);
    return {Model::kind, detail::validated<Model>(loads, values, parts.family, parts.families),
            detail::validated<Model>(loads, values, parts.width, parts.widths)};
}

/// The one of several models that cross-validation within the samples finds best; the first where samples of one
/// network tell nothing.
template <NetworkModel... Models>
class ChosenModel {
public:
    static constexpr std::string_view kind = "chosen";

    [[nodiscard]] static ChosenModel fit(std::span<const NetworkLoad> loads, std::span<const double> values) {
        ChosenModel model;
        model.errors_ = {cross_validate<Models>(loads, values)...};
        std::size_t best = 0;
        for (std::size_t i = 1; i < sizeof...(Models); ++i) {
            if (model.errors_[i].mean() < model.errors_[best].mean()) best = i;
        }
        model.choose(best);
        core::visit([&]<class Model>(Model& of) { of = Model::fit(loads, values); }, model.model_);
        return model;
    }

    /// A model that was chosen otherwise, fitted to the samples, with its errors in cross-validation.
    template <NetworkModel Model>
    [[nodiscard]] static ChosenModel fit_only(std::span<const NetworkLoad> loads, std::span<const double> values) {
        ChosenModel model;
        model.errors_ = {cross_validate<Model>(loads, values)};
        model.model_ = Model::fit(loads, values);
        return model;
    }

    [[nodiscard]] Estimate predict(NetworkLoad const& load) const {
        return core::visit([&](auto const& model) { return model.predict(load); }, model_);
    }
    /// The kind that was chosen.
    [[nodiscard]] std::string_view chosen() const {
        return core::visit([]<class Model>(Model const&) { return Model::kind; }, model_);
    }
    /// The errors of all kinds, in their order; none for a model that was read.
    [[nodiscard]] std::span<const ValidatedError> errors() const { return errors_; }

    void archive(Archive& archive) {
        std::size_t index = model_.index();
        archive(index);
        archive.require(index < sizeof...(Models), "a model at place ", index);
        if (archive.reads()) choose(index);
        core::visit([&](auto& model) { model.archive(archive); }, model_);
    }

private:
    void choose(std::size_t index) {
        std::size_t at = 0;
        ((at++ == index ? static_cast<void>(model_.template emplace<Models>()) : void()), ...);
    }

    std::variant<Models...> model_;
    std::vector<ValidatedError> errors_;
};

}  // namespace primsel::inline PRIMSEL_ABI::forecast
