#pragma once

#include <primsel/io/safetensors.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/prepare.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Maps the names of tensors of another program to those of a network. The rules are applied in order, each to the
/// result of those before it.
class NameMap {
public:
    /// Replaces `from` at the beginning of names by `to`: prefix("module.", "").
    NameMap& prefix(std::string from, std::string to) { return add({Rule::prefix, std::move(from), std::move(to)}); }
    /// Renames a single tensor.
    NameMap& rename(std::string from, std::string to) { return add({Rule::rename, std::move(from), std::move(to)}); }
    /// Leaves out tensors whose names begin with `prefix`: ignore("aux1.").
    NameMap& ignore(std::string prefix) { return add({Rule::ignore, std::move(prefix), {}}); }

    /// The name in the network, or nothing for a tensor that is left out.
    [[nodiscard]] std::optional<std::string> operator()(std::string name) const {
        for (auto const& [rule, from, to] : rules_) {
            if (rule == Rule::rename) {
                if (name == from) name = to;
            } else if (name.starts_with(from)) {
                if (rule == Rule::ignore) return std::nullopt;
                name.replace(0, from.size(), to);
            }
        }
        return name;
    }

private:
    enum class Rule { prefix, rename, ignore };
    struct Entry {
        Rule rule;
        std::string from, to;
    };
    NameMap& add(Entry entry) {
        rules_.push_back(std::move(entry));
        return *this;
    }

    std::vector<Entry> rules_;
};

namespace io::detail {
/// Whether the dimensions are equal but for ones at the end, as those of a dense layer's and a 1x1 convolution's
/// weights.
[[nodiscard]] inline bool same_but_for_ones(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
    while (!a.empty() && a.back() == 1) a.pop_back();
    while (!b.empty() && b.back() == 1) b.pop_back();
    return a == b;
}
}  // namespace io::detail

/// The weights of a network from the tensors of a PyTorch state dict, whose memory they share. Names go through the
/// map. Counts of training steps (`num_batches_tracked`) are left out. Shapes may differ in ones at the end, such as k
/// x c for k x c x 1 x 1. Of weights that the graph shares, one is enough. Throws error, naming every tensor that is
/// missing, of a wrong shape or unknown to the network, and for two tensors that get the same name.
[[nodiscard]] inline Weights state_dict(Weights const& tensors, Graph const& graph, NameMap const& map = {}) {
    std::map<std::string, std::vector<std::int64_t>> needed;
    for (WeightSpec& spec : weight_specs(graph)) needed.emplace(std::move(spec.name), std::move(spec.dims));

    Weights weights(tensors.source());
    std::map<std::string, std::string> origins;
    for (auto const& [original, tensor] : tensors) {
        std::optional<std::string> name = map(original);
        if (!name || io::is_step_count(*name)) continue;
        const auto [origin, is_new] = origins.emplace(*name, original);
        if (!is_new) fail(tensors.source(), ": ", origin->second, " and ", original, " both become ", *name);
        WeightTensor renamed = tensor;
        const auto spec = needed.find(*name);
        if (spec == needed.end()) {
            if (*name != original) *name += ", there " + original;
        } else if (io::detail::same_but_for_ones(renamed.dims, spec->second)) {
            renamed.dims = spec->second;
        }
        weights.add(*name, std::move(renamed));
    }
    for (auto const& [original, description] : tensors.unread()) {
        if (const std::optional<std::string> name = map(original)) weights.add_unread(*name, description);
    }
    weights = with_shared(graph, std::move(weights));
    check_weights(graph, weights);
    return weights;
}

/// The same from a safetensors file. Throws error as read_safetensors and state_dict do.
[[nodiscard]] inline Weights read_state_dict(std::string const& path, Graph const& graph, NameMap const& map = {}) {
    return state_dict(read_safetensors(path), graph, map);
}
template <NetworkType Net>
[[nodiscard]] Weights read_state_dict(std::string const& path, NameMap const& map = {}) {
    return read_state_dict(path, Net::graph(), map);
}

}  // namespace primsel::inline PRIMSEL_ABI
