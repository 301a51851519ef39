#pragma once

#include "experiments.hpp"
#include "journal.hpp"
#include "plot.hpp"

#include <primsel/core/statistics.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reproduce {

/// A number, or none while the experiment is not finished.
using Value = std::optional<double>;
/// Keys from an experiment's result down to a number.
using Path = std::vector<std::string_view>;

/// The median.
[[nodiscard]] inline Value middle(std::vector<double> const& values) {
    return values.empty() ? std::nullopt : Value(ps::quantile(values, 0.5));
}

/// The findings of the experiments so far.
struct Findings {
    World const& world;
    Effort const& effort;
    Journal const& journal;

    [[nodiscard]] Value value(std::string const& experiment, Path const& path) const {
        std::optional<ps::JsonCursor> at = journal.find(experiment);
        for (const std::string_view key : path) {
            if (at) at = at->find(key);
        }
        return at ? Value(at->number()) : std::nullopt;
    }
    template <class Name>
    [[nodiscard]] Value over_seeds(Name const& name, Path const& path) const {
        std::vector<double> values;
        for (std::uint64_t seed = effort.seed; seed < effort.seed + effort.seeds(); ++seed) {
            if (const Value one = value(name(seed), path)) values.push_back(*one);
        }
        return middle(values);
    }
    /// The same of a part of what each found.
    template <class Name>
    [[nodiscard]] Value over_seeds(Name const& name, Path const& path, std::string_view part) const {
        std::vector<double> values;
        for (std::uint64_t seed = effort.seed; seed < effort.seed + effort.seeds(); ++seed) {
            std::optional<ps::JsonCursor> at = journal.find(name(seed));
            if (at) at = at->find(part);
            for (const std::string_view key : path) {
                if (at) at = at->find(key);
            }
            if (at) values.push_back(at->number());
        }
        return middle(values);
    }
    [[nodiscard]] Value of_model(Kind kind, Platform const& platform, Path const& path) const {
        return over_seeds([&](std::uint64_t seed) { return model_experiment(kind, platform.name, seed); }, path);
    }
    [[nodiscard]] std::vector<double> of_subsets(Method method, int fraction, Path const& path) const {
        std::vector<double> values;
        for (std::size_t i = 0; i < subsets(effort); ++i) {
            if (const Value one = value(subset_experiment(method, fraction, i), path)) values.push_back(*one);
        }
        return values;
    }
    [[nodiscard]] std::string const& source() const { return world.source.name; }
    [[nodiscard]] std::string const& target() const { return world.target.name; }
    [[nodiscard]] std::string_view colour(Kind kind) const { return colours[static_cast<std::size_t>(kind)]; }
};

}  // namespace reproduce
