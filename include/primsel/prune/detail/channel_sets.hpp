#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune::detail {

/// Disjoint sets of channels, each with the reason why it must stay, if there is one.
class ChannelSets {
public:
    [[nodiscard]] std::size_t add(std::string fixed = {}) {
        parents_.push_back(parents_.size());
        fixed_.push_back(std::move(fixed));
        return parents_.size() - 1;
    }
    [[nodiscard]] std::vector<std::size_t> add_many(int count, std::string const& fixed = {}) {
        std::vector<std::size_t> channels;
        for (int i = 0; i < count; ++i) channels.push_back(add(fixed));
        return channels;
    }
    [[nodiscard]] std::size_t size() const { return parents_.size(); }
    [[nodiscard]] std::size_t root(std::size_t channel) {
        while (parents_[channel] != channel) channel = parents_[channel] = parents_[parents_[channel]];
        return channel;
    }
    void join(std::size_t a, std::size_t b) {
        a = root(a), b = root(b);
        if (a == b) return;
        if (fixed_[a].empty()) fixed_[a] = std::move(fixed_[b]);
        parents_[b] = a;
    }
    void fix(std::size_t channel, std::string const& why) {
        std::string& known = fixed_[root(channel)];
        if (known.empty()) known = why;
    }
    [[nodiscard]] std::string const& fixed(std::size_t root) const { return fixed_[root]; }

private:
    std::vector<std::size_t> parents_;
    std::vector<std::string> fixed_;
};

}  // namespace primsel::inline PRIMSEL_ABI::prune::detail
