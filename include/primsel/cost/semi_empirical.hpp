#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/conv_coefficients.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/cost/op_coefficients.hpp>
#include <primsel/cost/pretrained/convs.hpp>
#include <primsel/cost/pretrained/ops_avx2.hpp>
#include <primsel/cost/pretrained/ops_avx512.hpp>
#include <primsel/cost/pretrained/ops_sse4_2.hpp>
#include <primsel/cost/pretrained/ops_training_avx512.hpp>
#include <primsel/machine/machine.hpp>

#include <algorithm>
#include <concepts>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Coefficients of ops, fitted to times of kernels of one Arch. `primsel pretrain --ops` writes them into a header.
template <class M>
concept OpModel = requires {
    { M::arch } -> std::convertible_to<std::string_view>;
    std::span<const OpCoefficients>(M::ops);
};

/// Coefficients of primitives, sorted by id, fitted to times of several machines and instruction sets. `primsel
/// pretrain --convolutions` writes them into a header.
template <class M>
concept ConvModel = requires { std::span<const ConvCoefficients>(M::convolutions); };

/// Weighs Analytical's terms, for the speeds of this machine, by coefficients that were fitted in advance. Convolutions
/// use the first of Models that is a non-empty ConvModel. Other layers use the OpModels of the kernels' Arch; if
/// several have the layer, the last one counts; so do layout transforms. Layers on elements of 8 or 16 bits that have
/// none use those of the first OpModel: Analytical's terms miss the conversions of such elements on every Arch.
/// The rest gets the predictions of Analytical.
template <class... Models>
    requires((ConvModel<Models> || OpModel<Models>) && ...)
class SemiEmpirical {
public:
    static constexpr std::string_view name = "semi-empirical";

    SemiEmpirical() = default;
    explicit SemiEmpirical(Machine const& machine) : analytical_(machine) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) const {
        predict_convolutions(convolutions(), analytical_, kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) const {
        analytical_.predict(kernels, queries, seconds);
        predict_fitted_ops(borrowed_ops(kernels.arch), analytical_, kernels, queries, seconds, true);
        (predict_fitted_ops(ops_of<Models>(kernels.arch), analytical_, kernels, queries, seconds), ...);
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) const {
        analytical_.predict(kernels, queries, seconds);
        predict_fitted_ops(borrowed_ops(kernels.arch), analytical_, kernels, queries, seconds, true);
        (predict_fitted_ops(ops_of<Models>(kernels.arch), analytical_, kernels, queries, seconds), ...);
    }

private:
    template <class M>
    [[nodiscard]] static std::span<const ConvCoefficients> convolutions_of() {
        if constexpr (ConvModel<M>) {
            static_assert(std::ranges::is_sorted(M::convolutions, {}, &ConvCoefficients::primitive));
            return M::convolutions;
        }
        return {};
    }
    [[nodiscard]] static std::span<const ConvCoefficients> convolutions() {
        std::span<const ConvCoefficients> result;
        static_cast<void>(((result = convolutions_of<Models>(), !result.empty()) || ...));
        return result;
    }
    /// Returns those of the first OpModel, unless it is one of this Arch.
    [[nodiscard]] static std::span<const OpCoefficients> borrowed_ops([[maybe_unused]] std::string_view arch) {
        std::span<const OpCoefficients> first;
        static_cast<void>(((first = ops_of<Models>({}), !first.empty()) || ...));
        const bool own = (... || (ops_of<Models>(arch).data() == first.data()));
        return own ? std::span<const OpCoefficients>{} : first;
    }
    /// Returns those of any Arch where none is named.
    template <class M>
    [[nodiscard]] static std::span<const OpCoefficients> ops_of([[maybe_unused]] std::string_view arch) {
        if constexpr (OpModel<M>) {
            static_assert(std::ranges::is_sorted(M::ops, {}, &OpCoefficients::op));
            if (arch.empty() || arch == M::arch) return M::ops;
        }
        return {};
    }

    Analytical analytical_;
};

/// SemiEmpirical with the coefficients that come with the library.
using SemiEmpiricalCosts = SemiEmpirical<pretrained::convs, pretrained::ops_avx512, pretrained::ops_avx2,
                                         pretrained::ops_sse4_2, pretrained::ops_training_avx512>;

}  // namespace primsel::inline PRIMSEL_ABI
