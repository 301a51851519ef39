#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/search/space.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// The outcome of a trial.
struct Outcome {
    /// Values to be minimised. One that is not finite means that the trial failed.
    std::vector<double> objectives;
    /// Values that must be at most 0 for a feasible point.
    std::vector<double> constraints{};

    [[nodiscard]] bool failed() const {
        const auto broken = [](double value) { return !is_finite(value); };
        return std::ranges::any_of(objectives, broken) || std::ranges::any_of(constraints, broken);
    }
    [[nodiscard]] bool feasible() const {
        return !failed() && std::ranges::all_of(constraints, [](double value) { return value <= 0; });
    }
    friend bool operator==(Outcome const&, Outcome const&) = default;
};

/// Proposes the points to try. A proposal depends only on the searcher's seed, on its proposals so far and on what it
/// was told, in that order. It may be told of points that it did not propose, such as those of an interrupted search.
/// ask() may be called several times before tell(); no point is proposed twice. A searcher that learns from outcomes
/// may have correct(point, outcome), which replaces one that it was told: a measurement says more than a prediction.
///
/// A minimal model:
///     struct Mine {
///         primsel::search::Space all;
///         std::optional<primsel::search::SearchPoint> ask();  // nothing if every point has been proposed
///         void tell(primsel::search::SearchPoint const& point, primsel::search::Outcome const& outcome);
///         primsel::search::Space const& space() const { return all; }
///     };
template <class S>
concept Searcher = requires(S searcher, S const& constant, SearchPoint const& point, Outcome const& outcome) {
    { searcher.ask() } -> std::same_as<std::optional<SearchPoint>>;
    searcher.tell(point, outcome);
    { constant.space() } -> std::same_as<Space const&>;
};

/// The points that a searcher proposed or was told of.
class SeenPoints {
public:
    explicit SeenPoints(Space space) : space_(std::move(space)) {}

    [[nodiscard]] Space const& space() const { return space_; }
    [[nodiscard]] std::size_t size() const { return seen_.size(); }
    [[nodiscard]] bool contains(SearchPoint const& point) const { return seen_.contains(space_.text(point)); }
    /// Whether no other point is left.
    [[nodiscard]] bool all() const { return space_.count() != 0 && seen_.size() >= space_.count(); }

    void propose(SearchPoint const& point) { seen_.try_emplace(space_.text(point)); }
    /// Throws error if the point is not in the space.
    void tell(SearchPoint const& point, Outcome const& outcome) {
        space_.check(point);
        bool& told = seen_[space_.text(point)];
        if (!told) std::erase(waiting_, point);
        told = true;
        told_.emplace_back(point, outcome);
    }
    /// Replaces the outcome that was last told of the point; nothing if there is none.
    void correct(SearchPoint const& point, Outcome const& outcome) {
        for (std::size_t i = told_.size(); i-- > 0;) {
            if (told_[i].first != point) continue;
            told_[i].second = outcome;
            return;
        }
    }
    /// The points proposed and not yet told of, in order.
    [[nodiscard]] std::vector<SearchPoint> const& waiting() const { return waiting_; }
    [[nodiscard]] std::vector<std::pair<SearchPoint, Outcome>> const& told() const { return told_; }
    /// Proposes the point and adds it to the waiting ones.
    [[nodiscard]] SearchPoint wait_for(SearchPoint point) {
        propose(point);
        waiting_.push_back(point);
        return point;
    }

private:
    Space space_;
    std::map<std::string, bool> seen_;  // whether it was told
    std::vector<SearchPoint> waiting_;
    std::vector<std::pair<SearchPoint, Outcome>> told_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
