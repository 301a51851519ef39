// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/learn/process_posterior.hpp>
#include <primsel/search/acquisition.hpp>
#include <primsel/search/detail/draw.hpp>
#include <primsel/search/detail/warp.hpp>
#include <primsel/search/searcher.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search::detail {

/// The values of the objectives, then those of the constraints.
[[nodiscard]] inline std::vector<double> columns_of(Outcome const& outcome) {
    std::vector<double> columns = outcome.objectives;
    columns.insert(columns.end(), outcome.constraints.begin(), outcome.constraints.end());
    return columns;
}

/// Scores points by all outcomes that were told.
template <class Known>
class Prospects {
public:
    /// At least one trial must have succeeded.
    Prospects(SeenPoints const& seen, PointFeatures const& features, std::size_t objectives, std::size_t constraints,
              Known const& known)
        : space_(seen.space()),
          features_(features),
          objectives_(objectives),
          columns_(objectives + constraints),
          known_(known) {
        std::vector<std::vector<double>> rows;
        for (auto const& [point, outcome] : seen.told()) rows.push_back(columns_of(outcome));
        give_failed_the_worst(seen, rows);
        const std::vector<double> computed = known_columns(seen.told()[0].first);
        for (std::size_t i = 0; i < columns_; ++i) learned_.push_back(is_nan(computed[i]));
        learn(seen, rows);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (!seen.told()[i].second.failed()) take_as_tried(rows[i]);
        }
        suppose(seen.waiting());
        if (objectives_ == 2) set_reference();
    }

    /// The logarithm of each point's expected improvement times its probability of being feasible; -infinity or nearly
    /// so if it has no prospect.
    [[nodiscard]] std::vector<double> scores(std::vector<std::vector<double>> const& all_shares) const {
        std::vector<Guess> guesses = guess(all_shares);
        std::vector<double> scores;
        for (Guess const& guess : guesses) {
            double score = 0;
            for (std::size_t i = objectives_; i < columns_; ++i) {
                score += log_probability_of_feasible(guess.mean[i], guess.deviation[i]);
            }
            if (objectives_ == 1 && is_finite(best_)) {
                score += log_expected_improvement(guess.mean[0], guess.deviation[0], best_);
            } else if (objectives_ == 2) {
                const double area = expected_hypervolume_improvement(front_, reference_, {guess.mean[0], guess.mean[1]},
                                                                     {guess.deviation[0], guess.deviation[1]});
                score += std::log(area);
            }
            scores.push_back(score);
        }
        return scores;
    }
    /// The shares of the best points so far.
    [[nodiscard]] std::vector<std::vector<double>> best_tried(SeenPoints const& seen, std::size_t count) const {
        std::vector<std::pair<double, std::size_t>> order;
        for (std::size_t i = 0; i < seen.told().size(); ++i) {
            Outcome const& outcome = seen.told()[i].second;
            if (!outcome.feasible()) continue;
            const Pair pair{outcome.objectives[0], objectives_ == 2 ? outcome.objectives[1] : 0};
            const bool on_front = objectives_ == 1 || std::ranges::find(front_, pair) != front_.end();
            if (on_front) order.emplace_back(pair.first, i);
        }
        std::ranges::sort(order);
        std::vector<std::vector<double>> best;
        const std::size_t stride = objectives_ == 2 ? std::max<std::size_t>(order.size() / count, 1) : 1;
        for (std::size_t i = 0; i < order.size() && best.size() < count; i += stride) {
            best.push_back(space_.shares_of(seen.told()[order[i].second].first));
        }
        return best;
    }

private:
    struct Guess {
        std::vector<double> mean, deviation;
    };

    /// Gives failed trials the worst value of each column among the others.
    void give_failed_the_worst(SeenPoints const& seen, std::vector<std::vector<double>>& rows) const {
        for (std::size_t column = 0; column < columns_; ++column) {
            double worst = -std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < rows.size(); ++i) {
                if (!seen.told()[i].second.failed()) worst = std::max(worst, rows[i][column]);
            }
            for (std::size_t i = 0; i < rows.size(); ++i) {
                if (seen.told()[i].second.failed()) rows[i][column] = worst;
            }
        }
    }
    /// The computed values of a point; NaN for those that are learned.
    [[nodiscard]] std::vector<double> known_columns(SearchPoint const& point) const {
        std::vector<double> columns(columns_, std::numeric_limits<double>::quiet_NaN());
        const Outcome computed = known_(point);
        const std::size_t constraints = columns_ - objectives_;
        for (std::size_t i = 0; i < std::min(objectives_, computed.objectives.size()); ++i) {
            columns[i] = computed.objectives[i];
        }
        for (std::size_t i = 0; i < std::min(constraints, computed.constraints.size()); ++i) {
            columns[objectives_ + i] = computed.constraints[i];
        }
        return columns;
    }
    [[nodiscard]] Eigen::MatrixXd matrix_of(std::vector<std::vector<double>> const& all_shares) const {
        Eigen::MatrixXd matrix(all_shares.size(), features_.count());
        for (std::size_t row = 0; row < all_shares.size(); ++row) {
            const std::vector<double> features = features_.of(all_shares[row]);
            for (std::size_t i = 0; i < features.size(); ++i) {
                matrix(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(i)) = features[i];
            }
        }
        return matrix;
    }
    void learn(SeenPoints const& seen, std::vector<std::vector<double>>& rows) {
        std::vector<std::vector<double>> shares;
        for (auto const& [point, outcome] : seen.told()) shares.push_back(space_.shares_of(point));
        const Eigen::MatrixXd points = matrix_of(shares);
        for (std::size_t column = 0; column < columns_; ++column) {
            posteriors_.emplace_back();
            if (!learned_[column]) continue;
            Eigen::VectorXd values(rows.size());
            for (std::size_t i = 0; i < rows.size(); ++i) values[static_cast<Eigen::Index>(i)] = rows[i][column];
            // A single objective may be warped, since only its order matters. A constraint must keep its zero, and two
            // objectives their areas.
            if (column == 0 && objectives_ == 1) {
                values = warped(values);
                for (std::size_t i = 0; i < rows.size(); ++i) rows[i][0] = values[static_cast<Eigen::Index>(i)];
            }
            posteriors_.back() = learn::ProcessPosterior::fit(points, values);
        }
    }
    void take_as_tried(std::vector<double> const& columns) {
        for (std::size_t i = 0; i < objectives_; ++i) {
            worst_[i] = std::max(worst_[i], columns[i]), least_[i] = std::min(least_[i], columns[i]);
        }
        for (std::size_t i = objectives_; i < columns_; ++i) {
            if (columns[i] > 0) return;
        }
        best_ = std::min(best_, columns[0]);
        if (objectives_ == 2) {
            front_.push_back({columns[0], columns[1]});
            front_ = front_of(std::move(front_));
        }
    }
    /// Takes trials under way to come out as expected.
    void suppose(std::vector<SearchPoint> const& waiting) {
        if (waiting.empty()) return;
        std::vector<std::vector<double>> shares;
        for (SearchPoint const& point : waiting) shares.push_back(space_.shares_of(point));
        const std::vector<Guess> guesses = guess(shares);
        const Eigen::MatrixXd points = matrix_of(shares);
        for (std::size_t column = 0; column < columns_; ++column) {
            if (!learned_[column]) continue;
            Eigen::VectorXd values(guesses.size());
            for (std::size_t i = 0; i < guesses.size(); ++i) {
                values[static_cast<Eigen::Index>(i)] = guesses[i].mean[column];
            }
            posteriors_[column] = posteriors_[column]->with(points, values);
        }
        for (Guess const& guess : guesses) take_as_tried(guess.mean);
    }
    /// The reference point lies a tenth of the range beyond the worst values.
    void set_reference() {
        const auto beyond = [&](std::size_t i) {
            const double range = worst_[i] - least_[i];
            return worst_[i] + (range > 0 ? 0.1 * range : std::max(1e-3 * std::abs(worst_[i]), 1e-12));
        };
        reference_ = {beyond(0), beyond(1)};
    }
    [[nodiscard]] std::vector<Guess> guess(std::vector<std::vector<double>> const& all_shares) const {
        std::vector<Guess> guesses(all_shares.size(),
                                   {std::vector<double>(columns_, 0.0), std::vector<double>(columns_, 0.0)});
        const Eigen::MatrixXd points = matrix_of(all_shares);
        bool computes = false;
        for (std::size_t column = 0; column < columns_; ++column) {
            computes = computes || !learned_[column];
            if (!learned_[column]) continue;
            const learn::ProcessPosterior::Beliefs beliefs = posteriors_[column]->at(points);
            for (std::size_t i = 0; i < guesses.size(); ++i) {
                guesses[i].mean[column] = beliefs.mean[static_cast<Eigen::Index>(i)];
                guesses[i].deviation[column] = std::sqrt(beliefs.variance[static_cast<Eigen::Index>(i)]);
            }
        }
        for (std::size_t i = 0; computes && i < guesses.size(); ++i) {
            const SearchPoint point = space_.at(all_shares[i]);
            const std::vector<double> computed = known_columns(point);
            std::vector<double> deviations;
            if constexpr (requires { known_.deviations(point); }) deviations = columns_of(known_.deviations(point));
            for (std::size_t column = 0; column < columns_; ++column) {
                if (learned_[column]) continue;
                guesses[i].mean[column] = computed[column];
                if (column < deviations.size()) guesses[i].deviation[column] = deviations[column];
            }
        }
        return guesses;
    }

    Space const& space_;
    PointFeatures const& features_;
    std::size_t objectives_, columns_;
    Known const& known_;
    std::vector<bool> learned_;
    std::vector<std::optional<learn::ProcessPosterior>> posteriors_;
    double best_ = std::numeric_limits<double>::infinity();
    std::vector<Pair> front_;
    Pair reference_;
    double worst_[2] = {-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    double least_[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
};

struct AcquireOptions {
    std::size_t candidates = 512, rounds = 24;
};

/// Finds the unseen point with the best score: from many points everywhere and some near the best ones, by random steps
/// that shrink when they do not help.
template <class Prospects>
class Acquire {
public:
    Acquire(SeenPoints const& seen, Prospects const& prospects, Draw& draw)
        : seen_(seen), space_(seen.space()), prospects_(prospects), draw_(draw) {}

    [[nodiscard]] std::optional<SearchPoint> best(AcquireOptions const& options) {
        std::vector<std::vector<double>> shares;
        const EvenPoints even(space_.parameters().size(), draw_);
        for (std::size_t i = 0; i < options.candidates; ++i) add(shares, even.at(i));
        for (std::vector<double> const& near : prospects_.best_tried(seen_, 8)) {
            for (std::size_t i = 0; i < options.candidates / 32; ++i) add(shares, moved(near, i % 2 == 0 ? 0.1 : 0.02));
        }
        std::vector<Place> starts = places(shares);
        std::ranges::stable_sort(starts, [](Place const& a, Place const& b) { return a.score > b.score; });
        starts.resize(std::min<std::size_t>(starts.size(), 6));
        for (std::size_t round = 0; round < options.rounds && !starts.empty(); ++round) improve(starts);
        const auto best = std::ranges::max_element(starts, {}, &Place::score);
        if (best == starts.end() || !(best->score > -std::numeric_limits<double>::infinity())) return std::nullopt;
        return space_.at(best->shares);
    }

private:
    struct Place {
        std::vector<double> shares;
        double score = 0, step = 0.1;
    };
    static constexpr std::size_t tries = 12;

    /// Adds the shares of the point at `shares`, unless it has been seen.
    bool add(std::vector<std::vector<double>>& all, std::vector<double> const& shares) const {
        const SearchPoint point = space_.at(shares);
        if (seen_.contains(point)) return false;
        all.push_back(space_.shares_of(point));
        return true;
    }
    [[nodiscard]] std::vector<Place> places(std::vector<std::vector<double>> const& shares) const {
        const std::vector<double> scores = prospects_.scores(shares);
        std::vector<Place> places;
        for (std::size_t i = 0; i < shares.size(); ++i) places.push_back({shares[i], scores[i]});
        return places;
    }
    [[nodiscard]] std::vector<double> moved(std::vector<double> shares, double step) {
        const double some = std::max(0.4, 2 / static_cast<double>(shares.size()));
        for (std::size_t i = 0; i < shares.size(); ++i) {
            auto const& parameter = space_.parameters()[i];
            if (draw_.uniform() >= (parameter.is_ordered() ? some : 0.2)) continue;
            const double least = parameter.count() == 0 ? 0 : 1 / static_cast<double>(parameter.count());
            shares[i] = parameter.is_ordered()
                            ? std::clamp(shares[i] + std::max(step, least) * draw_.normal(), 0.0, 1.0)
                            : draw_.uniform();
        }
        return shares;
    }
    void improve(std::vector<Place>& starts) {
        std::vector<std::vector<double>> shares;
        std::vector<std::size_t> of;
        for (std::size_t i = 0; i < starts.size(); ++i) {
            for (std::size_t n = 0; n < tries; ++n) {
                if (add(shares, moved(starts[i].shares, starts[i].step))) of.push_back(i);
            }
            starts[i].step *= 0.6;
        }
        if (shares.empty()) return;
        const std::vector<double> scores = prospects_.scores(shares);
        for (std::size_t n = 0; n < scores.size(); ++n) {
            Place& start = starts[of[n]];
            if (scores[n] > start.score) {
                start.step = std::min(start.step / 0.6 * 1.2, 0.2);
                start.score = scores[n], start.shares = shares[n];
            }
        }
    }

    SeenPoints const& seen_;
    Space const& space_;
    Prospects const& prospects_;
    Draw& draw_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search::detail
