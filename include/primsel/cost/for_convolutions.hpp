#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>

#include <concepts>
#include <span>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Predicts seconds of convolutions and of nothing else.
template <class M>
concept ConvolutionCostModel =
    requires(M& model, Kernels const& kernels, std::span<const ConvQuery> convs, std::span<double> seconds) {
        { M::name } -> std::convertible_to<std::string_view>;
        model.predict(kernels, convs, seconds);
    };

/// Makes a CostModel of a model that predicts convolutions alone: Analytical predicts layout transforms and other
/// layers.
template <ConvolutionCostModel Model>
class ForConvolutions {
public:
    static constexpr std::string_view name = Model::name;

    ForConvolutions()
        requires std::default_initializable<Model>
    = default;
    explicit ForConvolutions(Model model) : model_(std::move(model)) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) {
        model_.predict(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) {
        rest_.predict(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) {
        rest_.predict(kernels, queries, seconds);
    }

private:
    Model model_;
    Analytical rest_;
};

}  // namespace primsel::inline PRIMSEL_ABI
