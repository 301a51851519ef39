#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/base64.hpp>
#include <primsel/core/error.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/standardizer.hpp>
#include <primsel/cost/table.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A multi-layer perceptron that was trained elsewhere and only predicts. It is kept as text, to stand in a header:
/// weights as 16-bit integers, with a scale for each output of each layer. Needs no other library.
class CompactMlp {
public:
    /// outputs x inputs weights, row after row, and a bias an output.
    struct Layer {
        std::size_t inputs = 0;
        std::vector<float> weights, bias;
    };

    CompactMlp() = default;
    /// ReLU stands between layers. Weights are rounded to 16 bits.
    CompactMlp(Standardizer inputs, Standardizer outputs, std::vector<Layer> layers)
        : inputs_(std::move(inputs)), outputs_(std::move(outputs)), layers_(std::move(layers)) {
        for (Layer& layer : layers_) {
            for (std::size_t row = 0; row < layer.bias.size(); ++row) {
                const std::span<float> weights(layer.weights.data() + row * layer.inputs, layer.inputs);
                const float scale = scale_of(weights);
                for (float& weight : weights) weight = scale * static_cast<float>(rounded(weight, scale));
            }
        }
    }

    /// What text() gave; `name` is what errors call it. Throws error for anything else.
    [[nodiscard]] static CompactMlp parse(std::string name, std::string_view text) {
        const std::vector<std::byte> bytes = from_base64(name, text);
        Archive archive(std::move(name), bytes);
        CompactMlp model;
        model.exchange(archive);
        archive.finish();
        return model;
    }
    [[nodiscard]] std::string text() const {
        Archive archive("compact perceptron");
        CompactMlp(*this).exchange(archive);
        return to_base64(archive.bytes());
    }

    [[nodiscard]] std::size_t features() const { return inputs_.columns(); }
    [[nodiscard]] std::size_t targets() const { return outputs_.columns(); }

    /// A row of targets for each row of features.
    [[nodiscard]] Table predict(Table const& features) const {
        Table values = inputs_.forward(features);
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            Layer const& layer = layers_[i];
            Table next(values.rows(), layer.bias.size(), 0.0F);
            for (std::size_t row = 0; row < values.rows(); ++row) {
                for (std::size_t output = 0; output < next.columns; ++output) {
                    next(row, output) = sum(layer, output, values.row(row));
                    if (i + 1 < layers_.size()) next(row, output) = std::max(next(row, output), 0.0F);
                }
            }
            values = std::move(next);
        }
        return outputs_.back(std::move(values));
    }

private:
    /// In eight parts that do not wait for each other.
    [[nodiscard]] static float sum(Layer const& layer, std::size_t output, std::span<const float> values) {
        constexpr std::size_t parts = 8;
        std::array<float, parts> sums{};
        const float* const weights = layer.weights.data() + output * layer.inputs;
        std::size_t i = 0;
        for (; i + parts <= values.size(); i += parts) {
            for (std::size_t part = 0; part < parts; ++part) sums[part] += weights[i + part] * values[i + part];
        }
        float total = layer.bias[output];
        for (; i < values.size(); ++i) total += weights[i] * values[i];
        for (const float part : sums) total += part;
        return total;
    }

    static constexpr float largest = 32767;
    [[nodiscard]] static float scale_of(std::span<const float> weights) {
        float most = 0;
        for (const float weight : weights) most = std::max(most, std::abs(weight));
        return most > 0 ? most / largest : 1;
    }
    [[nodiscard]] static std::int16_t rounded(float weight, float scale) {
        return static_cast<std::int16_t>(std::lround(std::clamp(weight / scale, -largest, largest)));
    }

    void exchange(Archive& archive) {
        std::size_t depth = layers_.size();
        archive(inputs_, outputs_, depth);
        archive.require(depth > 0 && depth < 64, "a perceptron of ", depth, " layers");
        layers_.resize(depth);
        std::size_t width = inputs_.columns();
        for (Layer& layer : layers_) {
            std::vector<float> scales;
            std::vector<std::int16_t> weights;
            if (!archive.reads()) {
                for (std::size_t row = 0; row < layer.bias.size(); ++row) {
                    const std::span<const float> all(layer.weights.data() + row * layer.inputs, layer.inputs);
                    scales.push_back(scale_of(all));
                    for (const float weight : all) weights.push_back(rounded(weight, scales.back()));
                }
            }
            archive(layer.bias, scales, weights);
            archive.require(scales.size() == layer.bias.size() && weights.size() == width * scales.size(),
                            "a layer of ", weights.size(), " weights, ", scales.size(), " scales and ",
                            layer.bias.size(), " biases behind ", width, " values");
            if (archive.reads()) {
                layer.inputs = width;
                layer.weights.resize(weights.size());
                for (std::size_t i = 0; i < weights.size(); ++i) {
                    layer.weights[i] = scales[i / width] * static_cast<float>(weights[i]);
                }
            }
            width = layer.bias.size();
        }
        archive.require(width == outputs_.columns(), "a perceptron whose layers end with ", width, " values, not ",
                        outputs_.columns());
    }

    Standardizer inputs_, outputs_;
    std::vector<Layer> layers_;
};

}  // namespace primsel::inline PRIMSEL_ABI
