#pragma once

#include <primsel/core/error.hpp>
#include <primsel/search/parameter.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// A value for each parameter of a space, in its order.
struct SearchPoint {
    std::vector<Value> values;
    friend bool operator==(SearchPoint const&, SearchPoint const&) = default;
};

/// The parameters of a search.
class Space {
public:
    /// Throws error where there is no parameter, or two of one name.
    explicit Space(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {
        if (parameters_.empty()) fail("a space without parameters");
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            for (std::size_t before = 0; before < i; ++before) {
                if (parameters_[before].name() == parameters_[i].name()) {
                    fail("two parameters are called ", parameters_[i].name());
                }
            }
        }
    }

    [[nodiscard]] std::vector<Parameter> const& parameters() const { return parameters_; }
    /// The number of points; 0 if they are uncountable or the number overflows.
    [[nodiscard]] std::size_t count() const {
        std::size_t count = 1;
        for (Parameter const& parameter : parameters_) {
            const std::size_t factor = parameter.count();
            if (factor == 0 || count > std::numeric_limits<std::size_t>::max() / factor) return 0;
            count *= factor;
        }
        return count;
    }
    [[nodiscard]] bool has(SearchPoint const& point) const {
        if (point.values.size() != parameters_.size()) return false;
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            if (!parameters_[i].has(point.values[i])) return false;
        }
        return true;
    }
    /// Throws error where the space has no such point.
    void check(SearchPoint const& point) const {
        if (!has(point)) fail("the point ", text(point), " is not in the space");
    }

    /// The point with these shares, one for each parameter.
    [[nodiscard]] SearchPoint at(std::span<const double> shares) const {
        SearchPoint point;
        for (std::size_t i = 0; i < parameters_.size(); ++i) point.values.push_back(parameters_[i].at(shares[i]));
        return point;
    }
    [[nodiscard]] std::vector<double> shares_of(SearchPoint const& point) const {
        std::vector<double> shares;
        for (std::size_t i = 0; i < parameters_.size(); ++i) shares.push_back(parameters_[i].share_of(point.values[i]));
        return shares;
    }
    /// The value of the parameter of that name. Throws error where there is none.
    [[nodiscard]] Value const& value(SearchPoint const& point, std::string_view name) const {
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            if (parameters_[i].name() == name) return point.values.at(i);
        }
        fail("there is no parameter ", name);
    }
    /// The point as text, such as "rate=0.1 kind=Filters". Different points have different texts.
    [[nodiscard]] std::string text(SearchPoint const& point) const {
        std::string text;
        for (std::size_t i = 0; i < point.values.size(); ++i) {
            if (i > 0) text += ' ';
            text += join(i < parameters_.size() ? parameters_[i].name() : "?", '=', text_of(point.values[i]));
        }
        return text;
    }

    friend bool operator==(Space const&, Space const&) = default;

private:
    std::vector<Parameter> parameters_;
};

/// Turns a point into numbers to learn from. A parameter with ordered values is its share. Any other has one number for
/// each value: 1 / sqrt(2) for the point's value, else 0, so that two values are at distance 1, like the ends of a
/// share. Constants have none.
class PointFeatures {
public:
    explicit PointFeatures(Space const& space) : space_(space) {
        for (Parameter const& parameter : space_.parameters()) {
            first_.push_back(count_);
            if (parameter.count() != 1) count_ += parameter.is_ordered() ? 1 : parameter.count();
        }
        first_.push_back(count_);
    }

    [[nodiscard]] std::size_t count() const { return count_; }
    /// The index of a parameter's first feature; the parameter's features end where those of the next begin.
    [[nodiscard]] std::size_t first(std::size_t parameter) const { return first_[parameter]; }

    /// The features of a point with these shares.
    [[nodiscard]] std::vector<double> of(std::span<const double> shares) const {
        std::vector<double> features(count_, 0.0);
        for (std::size_t i = 0; i < shares.size(); ++i) {
            const std::size_t columns = first_[i + 1] - first_[i];
            if (columns == 0) continue;
            if (space_.parameters()[i].is_ordered()) {
                features[first_[i]] = shares[i];
            } else {
                features[first_[i] + space_.parameters()[i].place_of(shares[i])] = 0.70710678118654752;
            }
        }
        return features;
    }
    [[nodiscard]] std::vector<double> of(SearchPoint const& point) const { return of(space_.shares_of(point)); }

private:
    Space space_;
    std::vector<std::size_t> first_;
    std::size_t count_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
