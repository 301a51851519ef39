// Layers of the user's own, as the operators that OnnxExportOptions names.
#pragma once

#include <primsel/onnx/detail/layer_writer.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

inline void write_layer(LayerWriter& layer, OwnLayerParams const&) {
    for (OnnxOwnOperator const& entry : layer.own_operators()) {
        std::optional<OnnxAttributes> attributes;
        if (entry.attributes != nullptr) attributes = entry.attributes(layer.node().layer);
        if (!attributes) continue;
        Names inputs;
        for (std::size_t i = 0; i < layer.node().inputs.size(); ++i) inputs.push_back(layer.image(i));
        std::string const& name = layer.node().name;
        for (WeightSpec const& spec : weight_specs(layer.graph(), layer.node())) {
            StoredFloats const& stored = layer.weights().at(spec.name).values;
            std::vector<float> values(stored.size());
            stored.read(0, values);
            const std::string suffix = spec.name == name ? "weight" : spec.name.substr(name.size() + 1);
            inputs.push_back(layer.weight(suffix, spec.dims, values));
        }
        (void)layer.step(entry.name, std::move(inputs), std::move(*attributes), entry.domain);
        return;
    }
    layer.refuse("no operator of OnnxExportOptions::own_operators writes it");
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
