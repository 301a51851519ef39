// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/cost/archive.hpp>
#include <primsel/cost/forest.hpp>
#include <primsel/cost/gaussian_process.hpp>
#include <primsel/cost/linear.hpp>
#include <primsel/cost/mlp.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// Any of the regressions, for what reads them from files: one type of cost model serves them all.
class AnyRegression {
public:
    using Variant = std::variant<LinearRegression, Mlp, Forest, BoostedTrees, GaussianProcess>;
    /// What each is called in files, in the variant's order.
    static constexpr std::array<std::string_view, std::variant_size_v<Variant>> kinds{"linear", "mlp", "forest",
                                                                                      "boosted", "gp"};

    AnyRegression() = default;
    template <class R>
        requires(!std::same_as<R, AnyRegression> && std::constructible_from<Variant, R>)
    // NOLINTNEXTLINE(google-explicit-constructor): a regression is meant to convert
    AnyRegression(R regression) : regression_(std::move(regression)) {}

    [[nodiscard]] std::string_view kind() const { return kinds[regression_.index()]; }
    [[nodiscard]] Table predict(Table const& features) const {
        return std::visit([&](auto const& regression) { return regression.predict(features); }, regression_);
    }

    /// Of so many features and targets.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        std::string name(kind());
        archive(name);
        const auto known = std::ranges::find(kinds, name);
        archive.require(known != kinds.end(), "a regression of the kind '", name,
                        "', which this version does not know");
        if (archive.reads())
            choose(static_cast<std::size_t>(known - kinds.begin()), std::make_index_sequence<kinds.size()>{});
        std::visit([&](auto& regression) { regression.archive(archive, features, targets); }, regression_);
    }

private:
    template <std::size_t... i>
    void choose(std::size_t index, std::index_sequence<i...>) {
        ((index == i ? (void)regression_.template emplace<i>() : void()), ...);
    }

    Variant regression_;
};

}  // namespace primsel::inline PRIMSEL_ABI
