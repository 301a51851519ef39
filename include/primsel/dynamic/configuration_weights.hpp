#pragma once

#include <primsel/core/error.hpp>
#include <primsel/dynamic/configuration.hpp>
#include <primsel/dynamic/detail/weight_block.hpp>
#include <primsel/network/weights.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// The weights of a sub-network. A weight that the sub-network has whole shares the values of `weights`; of any other
/// its rows and columns are copied. Throws error, naming the weight, if one is missing or has other dimensions.
[[nodiscard]] inline Weights configuration_weights(Graph const& whole, Weights const& weights,
                                                   Configuration const& configuration) {
    Weights part(weights.source());
    detail::each_block(whole, configuration, [&](detail::WeightBlock const& block) {
        WeightTensor const& tensor = weights.at(block.name);
        block.check(tensor);
        if (block.is_whole()) return part.add(block.name, tensor);
        std::vector<float> values;
        block.each([&](std::size_t at) { values.push_back(tensor.values[at]); });
        part.add(block.name, block.dims, std::move(values));
    });
    return part;
}

/// The whole network's weights, with the sub-network's weights `part` written over the rows and columns that it has.
/// Throws error as configuration_weights, and if a weight of `part` is missing or has another number of values.
[[nodiscard]] inline Weights with_configuration(Graph const& whole, Weights const& weights,
                                                Configuration const& configuration, Weights const& part) {
    Weights result(weights.source());
    detail::each_block(whole, configuration, [&](detail::WeightBlock const& block) {
        WeightTensor const& tensor = weights.at(block.name);
        block.check(tensor);
        const std::span<const float> own = part.at(block.name).values;
        if (own.size() != block.count()) {
            fail("configuration: weight ", block.name, " has ", own.size(), " values, not ", block.count());
        }
        std::vector<float> values(tensor.values.begin(), tensor.values.end());
        std::size_t next = 0;
        block.each([&](std::size_t at) { values[at] = own[next++]; });
        result.add(block.name, tensor.dims, std::move(values));
    });
    for (auto const& [name, tensor] : weights) {
        if (result.find(name) == nullptr) result.add(name, tensor);
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
