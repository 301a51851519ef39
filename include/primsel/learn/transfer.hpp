// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/cost/learned_cost.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/correction.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::learn {

/// The logarithms of measured over predicted: a row a sample, NaN where either is missing.
template <Regression Source>
[[nodiscard]] FloatTable deviations(Source const& source, FloatTable const& features, FloatTable targets) {
    const FloatTable predicted = source.predict(features);
    for (std::size_t i = 0; i < targets.values.size(); ++i) targets.values[i] -= predicted.values[i];
    return targets;
}

/// A model of one machine for another, corrected by a few samples of the other: each target by a factor
/// (FactorCorrection), by what was learned of how samples deviate (DeviationCorrection), or by what they show to be
/// best (ChosenCorrection).
template <Regression Source, Correction By>
class Transferred {
public:
    /// Its name in files.
    static constexpr std::string_view kind = By::kind;

    Transferred() = default;
    Transferred(Source source, By correction) : source_(std::move(source)), correction_(std::move(correction)) {}

    [[nodiscard]] FloatTable predict(FloatTable const& features) const {
        FloatTable result = source_.predict(features);
        correction_.correct(features, result);
        return result;
    }

    /// Reads or writes the model; `features` and `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        source_.archive(archive, features, targets);
        correction_.archive(archive, features, targets);
    }

    [[nodiscard]] By const& correction() const { return correction_; }

private:
    Source source_;
    By correction_;
};

/// Transfers a model to another machine by samples of that machine, a row each; `targets` are logarithms of seconds,
/// NaN where nothing was measured. The arguments after the first are for the correction's own fit:
/// transfer<FactorCorrection>(source, features, targets), transfer<DeviationCorrection>(source, features, targets,
/// labels, executor).
template <Correction By, Regression Source, class... Options>
[[nodiscard]] Transferred<Source, By> transfer(Source source, FloatTable const& features, FloatTable const& targets,
                                               Options&&... options) {
    const FloatTable left = deviations(source, features, targets);
    By correction = By::fit({features, targets, left}, std::forward<Options>(options)...);
    return {std::move(source), std::move(correction)};
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
