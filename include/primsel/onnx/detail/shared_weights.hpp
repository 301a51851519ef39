// Which weights of a model are one weight: those that layers read from one tensor of the file.
//
// Exporters also merge tensors that are equal by chance: running statistics, biases and factors of a network that was
// not trained yet. Statistics are therefore never shared. A tensor that has one value everywhere is shared only among
// layers that are known by another weight to be one: a bias with the kernel beside it, a factor with the kernel of the
// layer before.
#pragma once

#include <primsel/network/graph.hpp>
#include <primsel/network/weight_specs.hpp>
#include <primsel/network/weights.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// Finds weights whose elements lie in the same place, or, of transposed matrices, come from there.
class SharedWeightFinder {
public:
    /// origins: where the elements of a transposed matrix come from, by where they lie.
    SharedWeightFinder(Graph const& graph, Weights const& weights,
                       std::map<StoredFloats::Place, StoredFloats::Place> const& origins)
        : graph_(graph) {
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (WeightSpec const& spec : weight_specs(graph, graph[i])) {
                WeightTensor const& tensor = weights.at(spec.name);
                const bool statistics = spec.name.ends_with(".running_mean") || spec.name.ends_with(".running_var");
                if (statistics || tensor.values.empty()) continue;
                const StoredFloats::Place place = tensor.values.place();
                const auto origin = origins.find(place);
                const bool transposed = origin != origins.end();
                const Place key{transposed ? origin->second : place, tensor.values.size()};
                places_[key].push_back({spec.name, i, transposed, is_kernel(spec.dims), &tensor});
            }
        }
    }

    [[nodiscard]] SharedWeights run() {
        for (bool kernels : {true, false}) {
            for (auto const& [place, readers] : places_) {
                if (readers.size() > 1) share(readers, kernels);
            }
        }
        return std::move(shared_);
    }

private:
    /// And how many elements there are.
    using Place = std::pair<StoredFloats::Place, std::size_t>;
    struct Reader {
        std::string weight;
        std::size_t node;
        bool transposed, kernel;
        const WeightTensor* tensor;
    };

    void share(std::vector<Reader> const& readers, bool kernels) {
        const bool one_value = has_one_value(*readers.front().tensor);
        if (one_value && kernels) return;
        std::map<std::string, std::vector<const Reader*>> groups;  // by what else makes layers one
        for (Reader const& reader : readers) {
            if (reader.kernel != kernels) continue;
            const std::string of = one_value ? role_of(reader) : "all";
            if (!of.empty()) groups[of].push_back(&reader);
        }
        for (auto const& [of, group] : groups) {
            if (group.size() < 2) continue;
            for (const Reader* reader : group) {
                shared_.emplace(reader->weight, SharedWeight{group.front()->weight, reader->transposed});
            }
        }
    }
    /// Not a vector, such as a bias; a parameter has three axes whatever it is.
    [[nodiscard]] static bool is_kernel(std::vector<std::int64_t> const& dims) {
        const auto axes = std::ranges::count_if(dims, [](std::int64_t dim) { return dim > 1; });
        return dims.size() == 3 ? axes > 1 : dims.size() > 1;
    }
    [[nodiscard]] static bool has_one_value(WeightTensor const& tensor) {
        // All are equal when each equals the next.
        const auto bytes = tensor.values.bytes();
        return std::memcmp(bytes.data(), bytes.data() + sizeof(float), bytes.size() - sizeof(float)) == 0;
    }
    /// The shared kernel of the layer, or the nearest before it, and what the weight is to it; "" where it is not
    /// shared.
    [[nodiscard]] std::string role_of(Reader const& reader) const {
        std::size_t node = reader.node;
        for (int distance = 0;; ++distance) {
            for (WeightSpec const& spec : weight_specs(graph_, graph_[node])) {
                if (spec.dims.size() < 2) continue;
                const auto found = shared_.find(spec.name);
                if (found == shared_.end()) return "";
                return join(reader.weight.substr(graph_[reader.node].name.size()), ' ', distance, " behind ",
                            found->second.group);
            }
            if (graph_[node].inputs.size() != 1) return "";
            node = graph_[node].inputs[0];
        }
    }

    Graph const& graph_;
    std::map<Place, std::vector<Reader>> places_;
    SharedWeights shared_;
};

[[nodiscard]] inline SharedWeights shared_weights(Graph const& graph, Weights const& weights,
                                                  std::map<StoredFloats::Place, StoredFloats::Place> const& origins) {
    return SharedWeightFinder(graph, weights, origins).run();
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
