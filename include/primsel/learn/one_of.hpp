#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/cost/table.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI::learn {

/// One of several regressions, for what reads them from files: one type of cost model serves them all. Each says its
/// `kind` and has `archive(Archive&, features, targets)`.
template <class... Regressions>
class OneOf {
public:
    /// The name of each in files.
    static constexpr std::array<std::string_view, sizeof...(Regressions)> kinds{Regressions::kind...};

    OneOf() = default;
    template <class R>
        requires(std::same_as<R, Regressions> || ...)
    // NOLINTNEXTLINE(google-explicit-constructor): a regression is meant to convert
    OneOf(R regression) : regression_(std::move(regression)) {}

    [[nodiscard]] std::string_view kind() const { return kinds[regression_.index()]; }
    [[nodiscard]] FloatTable predict(FloatTable const& features) const {
        return visit([&](auto const& regression) { return regression.predict(features); });
    }
    /// The regression, if it is of this type; else null.
    template <class R>
    [[nodiscard]] const R* get_if() const {
        return std::get_if<R>(&regression_);
    }
    /// Calls the function with the regression that this is.
    template <class Function>
    [[nodiscard]] auto visit(Function&& function) const {
        return core::visit(std::forward<Function>(function), regression_);
    }

    /// Reads or writes the model; `features` and `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        std::string name(kind());
        archive(name);
        const auto known = std::ranges::find(kinds, name);
        archive.require(known != kinds.end(), "a regression of the kind '", name,
                        "', which this version does not know here");
        if (archive.reads()) {
            choose(static_cast<std::size_t>(known - kinds.begin()), std::index_sequence_for<Regressions...>{});
        }
        core::visit([&](auto& regression) { regression.archive(archive, features, targets); }, regression_);
    }

private:
    template <std::size_t... i>
    void choose(std::size_t index, std::index_sequence<i...>) {
        ((index == i ? (void)regression_.template emplace<i>() : void()), ...);
    }

    std::variant<Regressions...> regression_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
