// The parts of imported models that tests look at.
#pragma once

#include "../network/evaluate.hpp"
#include "models.hpp"

#include <doctest/doctest.h>

#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/onnx/import.hpp>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace imported {

using namespace models;
using evaluate::Image;

inline ps::OnnxModel parse(std::string const& bytes, ps::OnnxOptions const& options = {}) {
    ps::OnnxModel model = ps::parse_onnx("file", shared(bytes), options);
    ps::check_weights(model.graph, model.weights);
    ps::check_weights(ps::simplify(model.graph), model.weights);
    return model;
}
inline std::string refusal(std::string const& bytes, ps::OnnxOptions const& options = {}) {
    try {
        (void)parse(bytes, options);
        return "";
    } catch (ps::error const& fault) {
        return fault.what();
    }
}
inline std::vector<float> numbers(std::size_t count, unsigned seed = 1) {
    std::mt19937 bits(seed);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(static_cast<int>(bits() % 17) - 8) / 4.0F;
    return values;
}
inline std::vector<std::string> kinds(ps::Graph const& graph) {
    std::vector<std::string> kinds;
    for (ps::Node const& node : graph.nodes()) kinds.emplace_back(ps::layer_kind(node.layer));
    return kinds;
}
using Strings = std::vector<std::string>;

/// The first result of a model of one input, image by image, as its simplified graph computes it.
inline std::vector<double> run(ps::OnnxModel const& model, std::vector<float> const& x) {
    const ps::Graph graph = ps::simplify(model.graph);
    const std::size_t size = graph[graph.input()].shape.size();
    std::vector<double> result;
    for (std::size_t first = 0; first < x.size(); first += size) {
        Image image(graph[graph.input()].shape);
        for (std::size_t i = 0; i < size; ++i) image.data[i] = static_cast<double>(x[first + i]);
        const Image out = evaluate::graph(graph, image, model.weights);
        result.insert(result.end(), out.data.begin(), out.data.end());
    }
    return result;
}
/// All results of a model, each image by image, as its simplified graph computes them from its inputs.
inline std::vector<std::vector<double>> run_inputs(ps::OnnxModel const& model,
                                                   std::vector<std::vector<float>> const& inputs) {
    const ps::Graph graph = ps::simplify(model.graph);
    std::vector<std::vector<double>> outputs(graph.outputs().size());
    for (std::size_t image = 0; image < static_cast<std::size_t>(graph.batch()); ++image) {
        evaluate::Images results;
        std::size_t next = 0;
        for (ps::Node const& node : graph.nodes()) {
            evaluate::Images read;
            for (const std::size_t input : node.inputs) read.push_back(results[input]);
            if (!std::holds_alternative<ps::InputParams>(node.layer)) {
                results.push_back(evaluate::layer(node, read, model.weights));
                continue;
            }
            Image& src = results.emplace_back(node.shape);
            std::vector<float> const& values = inputs.at(next++);
            for (std::size_t i = 0; i < src.data.size(); ++i) {
                src.data[i] = static_cast<double>(values.at(image * src.data.size() + i));
            }
        }
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            Image const& result = results[graph.outputs()[i]];
            outputs[i].insert(outputs[i].end(), result.data.begin(), result.data.end());
        }
    }
    return outputs;
}
inline bool is_close(std::vector<double> const& a, std::vector<double> const& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!(std::abs(a[i] - b[i]) <= 1e-5 * (1 + std::abs(b[i])))) return false;
    }
    return true;
}

using Line = std::vector<double>;
inline std::vector<std::string_view> kinds_of(ps::OnnxModel const& model) {
    std::vector<std::string_view> kinds;
    for (ps::Node const& node : model.graph.nodes()) kinds.push_back(ps::layer_kind(node.layer));
    return kinds;
}
using Kinds = std::vector<std::string_view>;

}  // namespace imported
