#pragma once

#include <primsel/core/error.hpp>
#include <primsel/search/detail/draw.hpp>
#include <primsel/search/supernet.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// Options of evolve(). The defaults are those of Cai et al. 2020 and Rajagopal and Bouganis 2021, section 6.4.
struct EvolutionOptions {
    std::size_t population = 100, iterations = 500;
    /// The share of a population that become parents of the next.
    double parents = 0.25;
    /// The share of children made by mutation; the others are crossed from two parents.
    double mutants = 0.5;
    /// The probability that a mutant chooses anew at a place.
    double mutation = 0.1;
    /// The most attempts to make a child that keeps the bounds.
    std::size_t tries = 100;
    /// Sub-networks of the first population, if they keep the bounds.
    std::vector<Subnet> start{};
    std::uint64_t seed = 1;
};

struct ScoredSubnet {
    Subnet subnet;
    double score = 0;
    friend bool operator==(ScoredSubnet const&, ScoredSubnet const&) = default;
};

/// The result of a search.
struct Evolution {
    /// The last population and its parents, the best first. All keep the bounds, and all are different.
    std::vector<ScoredSubnet> best;
    /// The number of sub-networks that were judged, and of those that kept the bounds.
    std::size_t asked = 0, kept = 0;
};

/// Ignores the report of an iteration and goes on.
struct IgnoreIterations {
    bool operator()(std::size_t, ScoredSubnet const&) const { return true; }
};

namespace detail {

/// A population, and how the next one is made from it.
template <class Judge>
class Breeder {
public:
    Breeder(std::span<const std::size_t> choices, Judge& judge, EvolutionOptions const& options)
        : choices_(choices), judge_(judge), options_(options), draw_(options.seed, 0) {}

    void begin() {
        for (Subnet const& subnet : options_.start) {
            check_subnet(choices_, subnet);
            take(subnet);
        }
        for (std::size_t i = 0; i < options_.population * options_.tries; ++i) {
            if (members_.size() >= options_.population) break;
            take(random());
        }
        if (members_.empty()) fail("search: of ", asked_, " sub-networks none keeps the bounds");
        sort();
    }
    void next() {
        const auto parents = static_cast<std::size_t>(options_.parents * static_cast<double>(options_.population));
        members_.resize(std::min(members_.size(), std::max<std::size_t>(parents, 1)));
        const std::size_t count = members_.size();
        const auto mutants = static_cast<std::size_t>(options_.mutants * static_cast<double>(options_.population));
        for (std::size_t child = 0; child < options_.population; ++child) {
            for (std::size_t i = 0; i < options_.tries; ++i) {
                Subnet const& parent = members_[draw_.below(count)].subnet;
                if (take(child < mutants ? mutated(parent) : crossed(parent, members_[draw_.below(count)].subnet))) {
                    break;
                }
            }
        }
        sort();
    }
    [[nodiscard]] ScoredSubnet const& best() const { return members_.front(); }
    [[nodiscard]] Evolution result() && { return {std::move(members_), asked_, kept_}; }

private:
    bool take(Subnet subnet) {
        ++asked_;
        const std::optional<double> score = judge_(std::as_const(subnet));
        if (!score) return false;
        ++kept_;
        members_.push_back({std::move(subnet), *score});
        return true;
    }
    void sort() {
        std::ranges::sort(members_, [](ScoredSubnet const& a, ScoredSubnet const& b) {
            return a.score != b.score ? a.score > b.score : a.subnet < b.subnet;
        });
        members_.erase(std::unique(members_.begin(), members_.end()), members_.end());
    }
    [[nodiscard]] std::uint8_t choice(std::size_t place) {
        return static_cast<std::uint8_t>(draw_.below(choices_[place]));
    }
    [[nodiscard]] Subnet random() {
        Subnet subnet(choices_.size());
        for (std::size_t i = 0; i < subnet.size(); ++i) subnet[i] = choice(i);
        return subnet;
    }
    [[nodiscard]] Subnet mutated(Subnet subnet) {
        for (std::size_t i = 0; i < subnet.size(); ++i) {
            if (draw_.uniform() < options_.mutation) subnet[i] = choice(i);
        }
        return subnet;
    }
    [[nodiscard]] Subnet crossed(Subnet subnet, Subnet const& other) {
        for (std::size_t i = 0; i < subnet.size(); ++i) {
            if (draw_.below(2) == 1) subnet[i] = other[i];
        }
        return subnet;
    }

    std::span<const std::size_t> choices_;
    Judge& judge_;
    EvolutionOptions const& options_;
    Draw draw_;
    std::vector<ScoredSubnet> members_;
    std::size_t asked_ = 0, kept_ = 0;
};

}  // namespace detail

/// Searches a supernet by evolution. The best of a population become parents; mutation and crossover of them make the
/// next. judge(Subnet const&) returns a score, the more the better, or nothing if a bound is broken. report(iterations
/// done, the best) is called after each iteration and returns whether to go on. The same seed gives the same result.
/// Throws error if no sub-network that keeps the bounds is found for the first population, or an option is impossible.
template <class Judge, class Report = IgnoreIterations>
    requires std::convertible_to<std::invoke_result_t<Judge&, Subnet const&>, std::optional<double>>
[[nodiscard]] Evolution evolve(std::span<const std::size_t> choices, Judge&& judge,
                               EvolutionOptions const& options = {}, Report&& report = {}) {
    const auto is_share = [](double value) { return value >= 0 && value <= 1; };
    if (choices.empty() || std::ranges::find(choices, std::size_t{0}) != choices.end()) {
        fail("search: a supernet without choices");
    }
    if (options.population < 2 || options.tries < 1 || !is_share(options.parents) || !is_share(options.mutants) ||
        !is_share(options.mutation)) {
        fail("search: impossible options of an evolution");
    }
    detail::Breeder<std::remove_reference_t<Judge>> breeder(choices, judge, options);
    breeder.begin();
    for (std::size_t i = 0; i < options.iterations; ++i) {
        breeder.next();
        if (!report(i + 1, breeder.best())) break;
    }
    return std::move(breeder).result();
}

}  // namespace primsel::inline PRIMSEL_ABI::search
