#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/cost/op_coefficients.hpp>
#include <primsel/cost/pretrained/ops_avx2.hpp>
#include <primsel/cost/pretrained/ops_avx512.hpp>
#include <primsel/cost/pretrained/ops_sse4_2.hpp>
#include <primsel/kernels/machine.hpp>

#include <concepts>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// What `primsel pretrain --ops` writes into a header: coefficients that were fitted to the times of kernels of one
/// Arch.
template <class M>
concept OpModel = requires {
    { M::arch } -> std::convertible_to<std::string_view>;
    std::span<const OpCoefficients>(M::ops);
};

/// Analytical for convolutions and changes of layout, with no knowledge but this machine's speeds. For other layers the
/// same terms, with coefficients fitted to what was measured at the factory: by the first of Models that is of the
/// kernels' Arch; without one, Analytical too.
template <OpModel... Models>
class SemiEmpirical {
public:
    static constexpr std::string_view name = "semi-empirical";

    SemiEmpirical() = default;
    explicit SemiEmpirical(Machine const& machine) : analytical_(machine) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) const {
        analytical_.predict(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) const {
        analytical_.predict(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) const {
        predict_ops(coefficients_of(kernels.arch), analytical_, kernels, queries, seconds);
    }

private:
    [[nodiscard]] static std::span<const OpCoefficients> coefficients_of([[maybe_unused]] std::string_view arch) {
        std::span<const OpCoefficients> coefficients;
        static_cast<void>(((arch == Models::arch && (coefficients = Models::ops, true)) || ...));
        return coefficients;
    }

    Analytical analytical_;
};

/// With the coefficients that come with the library.
using SemiEmpiricalCosts = SemiEmpirical<pretrained::ops_avx512, pretrained::ops_avx2, pretrained::ops_sse4_2>;

}  // namespace primsel::inline PRIMSEL_ABI
