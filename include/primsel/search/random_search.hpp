#pragma once

#include <primsel/search/detail/draw.hpp>
#include <primsel/search/searcher.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

namespace detail {

/// The first unseen point of a countable space, from a drawn one on; nothing if there is none or the space is not
/// countable.
[[nodiscard]] inline std::optional<SearchPoint> any_unseen(SeenPoints const& seen, Draw& draw) {
    const std::size_t count = seen.space().count();
    if (count == 0 || seen.all()) return std::nullopt;
    auto const& parameters = seen.space().parameters();
    const std::size_t start = draw.below(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t number = (start + i) % count;
        SearchPoint point;
        for (auto const& parameter : parameters) {
            point.values.push_back(parameter.nth(number % parameter.count()));
            number /= parameter.count();
        }
        if (!seen.contains(point)) return point;
    }
    return std::nullopt;
}

/// Draws points evenly until one is unseen. After 64 attempts, as in a small space that is almost used up, takes any
/// unseen one.
[[nodiscard]] inline std::optional<SearchPoint> draw_unseen(SeenPoints const& seen, Draw& draw) {
    if (seen.all()) return std::nullopt;
    for (int attempt = 0; attempt < 64; ++attempt) {
        std::vector<double> shares(seen.space().parameters().size());
        for (double& share : shares) share = draw.uniform();
        SearchPoint point = seen.space().at(shares);
        if (!seen.contains(point)) return point;
    }
    return any_unseen(seen, draw);
}

}  // namespace detail

/// Proposes points drawn by the seed, uniform in each parameter's shares.
class RandomSearch {
public:
    explicit RandomSearch(Space space, std::uint64_t seed = 1) : seen_(std::move(space)), seed_(seed) {}

    [[nodiscard]] Space const& space() const { return seen_.space(); }
    [[nodiscard]] std::optional<SearchPoint> ask() {
        detail::Draw draw(seed_, seen_.size());
        std::optional<SearchPoint> point = detail::draw_unseen(seen_, draw);
        if (!point) return std::nullopt;
        return seen_.wait_for(std::move(*point));
    }
    void tell(SearchPoint const& point, Outcome const& outcome) { seen_.tell(point, outcome); }

private:
    SeenPoints seen_;
    std::uint64_t seed_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
