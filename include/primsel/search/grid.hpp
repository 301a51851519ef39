#pragma once

#include <primsel/core/error.hpp>
#include <primsel/search/searcher.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// Proposes each combination of some values of each parameter; the last parameter changes fastest. A parameter with at
/// most `levels` values has all of them; any other has `levels` values spread evenly from end to end.
class Grid {
public:
    /// Throws error for fewer than two levels, or if the number of combinations overflows.
    explicit Grid(Space space, std::size_t levels = 5) : seen_(std::move(space)) {
        if (levels < 2) fail("a grid needs at least two levels, not ", levels);
        for (Parameter const& parameter : seen_.space().parameters()) {
            const std::size_t count = parameter.count() == 0 ? levels : std::min(levels, parameter.count());
            std::vector<Value>& values = values_.emplace_back();
            for (std::size_t i = 0; i < count; ++i) {
                Value value = count == parameter.count()
                                  ? parameter.nth(i)
                                  : parameter.at(static_cast<double>(i) / static_cast<double>(count - 1));
                if (values.empty() || values.back() != value) values.push_back(std::move(value));
            }
            if (size_ > std::numeric_limits<std::size_t>::max() / values.size()) fail("a grid of too many points");
            size_ *= values.size();
        }
    }

    [[nodiscard]] Space const& space() const { return seen_.space(); }
    [[nodiscard]] std::size_t size() const { return size_; }

    [[nodiscard]] std::optional<SearchPoint> ask() {
        for (; next_ < size_; ++next_) {
            SearchPoint point = at(next_);
            if (!seen_.contains(point)) return seen_.wait_for(std::move(point));
        }
        return std::nullopt;
    }
    void tell(SearchPoint const& point, Outcome const& outcome) { seen_.tell(point, outcome); }

private:
    [[nodiscard]] SearchPoint at(std::size_t number) const {
        SearchPoint point;
        point.values.resize(values_.size());
        for (std::size_t i = values_.size(); i-- > 0; number /= values_[i].size()) {
            point.values[i] = values_[i][number % values_[i].size()];
        }
        return point;
    }

    SeenPoints seen_;
    std::vector<std::vector<Value>> values_;
    std::size_t size_ = 1, next_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
