#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/train/training_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Places of values that are to be zero, by the weights' names.
using ZeroWeights = std::map<std::string, std::vector<std::size_t>, std::less<>>;

/// The weights of a network while they change: a copy of its own of each, that stays where it is. Weights that are
/// shared are one copy; a transposed one follows its owner.
class Parameters {
public:
    /// Throws error, as engines do, when the weights do not fit the network.
    Parameters(Graph const& graph, Weights const& initial) {
        check_weights(graph, initial);
        const auto owners = weight_owners(graph);
        for (auto const& [name, tensor] : initial) {
            const auto owner = owners.find(name);
            if (owner != owners.end() && !owner->second.transposed) continue;
            add(name, tensor.dims, std::vector<float>(tensor.values.begin(), tensor.values.end()));
            if (owner != owners.end()) transposed_.push_back({owner->second.name, name});
        }
        for (auto const& [name, owner] : owners) {
            if (!owner.transposed) add_shared(name, initial.at(name).dims, owner.name);
        }
    }
    Parameters(Parameters const&) = delete;
    Parameters& operator=(Parameters const&) = delete;
    Parameters(Parameters&&) = default;
    Parameters& operator=(Parameters&&) = default;

    void add(std::string const& name, std::vector<std::int64_t> dims, std::vector<float> values) {
        auto owner = std::make_shared<std::vector<float>>(std::move(values));
        values_.emplace(name, std::span<float>(*owner));
        const std::span<const float> view(*owner);
        weights_.add(name, WeightTensor{std::move(dims), view, std::move(owner)});
    }
    /// Adds what a step of training reads beside the network's weights: the seed of dropout, where it has one, running
    /// statistics as one, constants, and the weights of layers that are computed twice, under their second name.
    Parameters& complete(Graph const& step, std::string const& seed) {
        if (!seed.empty() && !values_.contains(seed)) add(seed, {2}, {0.0F, 0.0F});
        for (Node const& node : step.nodes()) {
            const bool made = std::holds_alternative<ParameterParams>(node.layer) &&
                              (node.name.ends_with(running_suffix) || node.name.ends_with(identity_suffix) ||
                               node.name.ends_with(zero_suffix));
            if (!made || values_.contains(node.name)) continue;
            std::vector<float> values(node.shape.size());
            if (node.name.ends_with(identity_suffix)) std::fill(values.begin() + node.shape.c / 2, values.end(), 1.0F);
            add(node.name, {node.shape.c}, std::move(values));
        }
        for (WeightSpec const& spec : weight_specs(step)) {
            if (values_.contains(spec.name)) continue;
            std::string first = spec.name;
            first.erase(first.rfind(again_suffix), again_suffix.size());
            add_shared(spec.name, weights_.at(first).dims, first);
        }
        join_running();
        return *this;
    }
    /// After a change of running statistics: what `complete` made of them follows.
    void join_running() {
        for (auto const& [name, values] : values_) {
            if (!name.ends_with(running_suffix)) continue;
            const std::string layer = name.substr(0, name.size() - running_suffix.size());
            const std::span<const float> mean = (*this)[layer + ".running_mean"];
            std::ranges::copy(mean, values.begin());
            std::ranges::copy((*this)[layer + ".running_var"],
                              values.begin() + static_cast<std::ptrdiff_t>(mean.size()));
        }
    }
    /// After a change of weights: transposed ones follow their owners.
    void join_transposed() {
        for (auto const& [owner, name] : transposed_) {
            const std::size_t rows = network::matrix_rows(weights_.at(owner).dims);
            const std::span<const float> values = (*this)[owner];
            network::transpose_into(values.data(), rows, values.size() / rows, (*this)[name].data());
        }
    }
    /// Throws error when there is no such weight.
    [[nodiscard]] std::span<float> operator[](std::string_view name) const {
        const auto found = values_.find(name);
        if (found == values_.end()) fail("weight ", name, ": missing");
        return found->second;
    }
    /// As they are now and will be: they change with the parameters.
    [[nodiscard]] Weights const& view() const { return weights_; }
    /// Those that the network needs, as they are now: of shared ones only the owners.
    [[nodiscard]] Weights copy_own(Graph const& graph) const {
        Weights copied;
        for (WeightSpec const& spec : own_weight_specs(graph)) {
            WeightTensor const& tensor = weights_.at(spec.name);
            copied.add(spec.name, tensor.dims, std::vector<float>(tensor.values.begin(), tensor.values.end()));
        }
        return copied;
    }
    /// The same, with those that share them.
    [[nodiscard]] Weights copy(Graph const& graph) const { return with_shared(graph, copy_own(graph)); }
    /// The floats that they take.
    [[nodiscard]] std::size_t floats() const {
        std::map<const float*, std::size_t> stored;
        for (auto const& [name, values] : values_) stored.emplace(values.data(), values.size());
        std::size_t floats = 0;
        for (auto const& [place, size] : stored) floats += size;
        return floats;
    }

private:
    /// Another name of a weight.
    void add_shared(std::string const& name, std::vector<std::int64_t> dims, std::string const& owner) {
        values_.emplace(name, (*this)[owner]);
        weights_.add(name, network::shared_tensor(weights_.at(owner), std::move(dims), false));
    }

    struct Transposed {
        std::string owner, name;
    };
    std::vector<Transposed> transposed_;
    std::map<std::string, std::span<float>, std::less<>> values_;
    Weights weights_;
};

}  // namespace primsel::inline PRIMSEL_ABI
