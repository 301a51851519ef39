// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/learn/chosen_correction.hpp>
#include <primsel/learn/forest.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/linear.hpp>
#include <primsel/learn/mlp.hpp>
#include <primsel/learn/mlp_each.hpp>
#include <primsel/learn/one_of.hpp>
#include <primsel/learn/transfer.hpp>

#include <concepts>
#include <optional>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Any of the regressions that learn from one machine: what may be transferred to another.
class SourceRegression : public OneOf<LinearRegression, Mlp, MlpEach, Forest, BoostedTrees, GaussianProcess> {
public:
    using OneOf::OneOf;
};

/// Any of the regressions. Those that were transferred hold the one they began with, which was not: files nest no
/// deeper.
class AnyRegression
    : public OneOf<LinearRegression, Mlp, MlpEach, Forest, BoostedTrees, GaussianProcess,
                   Transferred<SourceRegression, FactorCorrection>, Transferred<SourceRegression, DeviationCorrection>,
                   Transferred<SourceRegression, ChosenCorrection>> {
public:
    using OneOf::OneOf;

    /// Returns the regression as the source of a transfer, or nullopt if it was transferred already.
    [[nodiscard]] std::optional<SourceRegression> source() const {
        return visit([]<class R>(R const& regression) -> std::optional<SourceRegression> {
            if constexpr (std::constructible_from<SourceRegression, R>) return SourceRegression(regression);
            return std::nullopt;
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
