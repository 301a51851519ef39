#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <primsel/network/fingerprint.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/onnx/import.hpp>
#include <random>
#include <sstream>

#include "../network/evaluate.hpp"
#include "random_graph.hpp"

namespace onnx_roundtrip {

namespace ps = primsel;
using evaluate::Image;
using evaluate::Images;

namespace {

ps::OnnxOptions options_of(int batch) {
    ps::OnnxOptions options;
    options.batch = batch;
    return options;
}
/// Written and read again.
ps::OnnxModel again(ps::Graph const& graph, ps::Weights const& weights, ps::OnnxExportOptions const& options = {}) {
    const std::string bytes = ps::to_onnx(graph, weights, options);
    auto owner = std::make_shared<ps::AlignedBuffer>(bytes.size() / sizeof(float) + 1);
    const auto copy = std::as_writable_bytes(owner->span()).first(bytes.size());
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    return ps::parse_onnx("model", {copy, std::move(owner)}, options_of(graph.batch()));
}

std::string text(ps::Graph const& graph) {
    std::ostringstream out;
    out << graph;
    return out.str();
}

/// A graph like another, its layers changed one by one.
template <class Change>
ps::Graph rebuilt(ps::Graph const& graph, Change const& change) {
    ps::Graph result(graph.batch());
    for (ps::Node const& node : graph.nodes()) result.add(node.name, change(node), node.inputs, node.epilogue);
    result.set_outputs(graph.outputs());
    return result;
}

/// The structure of what simplify leaves.
std::string simple_structure(ps::Graph const& graph) { return ps::structure(ps::simplify(graph)); }

/// The graph in the words of ONNX: scales as batch normalisation, sums of equal shapes as such. After everything that
/// is not read comes a layer, so that no result is an identity.
ps::Graph in_onnx_words(ps::Graph const& graph) {
    ps::Graph result = rebuilt(graph, [&graph](ps::Node const& node) -> ps::AnyLayer {
        if (std::holds_alternative<ps::ScaleParams>(node.layer)) return ps::BatchNormParams{0.0F};
        const auto* binary = std::get_if<ps::BinaryParams>(&node.layer);
        const bool sum = binary != nullptr && binary->kind == ps::BinaryKind::add &&
                         graph[node.inputs[0]].shape == graph[node.inputs[1]].shape;
        return sum ? ps::AnyLayer(ps::AddParams{}) : node.layer;
    });
    std::vector<bool> read(graph.size(), false);
    for (ps::Node const& node : graph.nodes()) {
        for (const std::size_t input : node.inputs) read[input] = true;
    }
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (read[i]) continue;
        ends.push_back(result.add("end" + std::to_string(i), ps::ActivationParams{ps::ActivationKind::tanh}, {i}));
    }
    result.set_outputs(ends);
    return result;
}

/// All results of a graph for images that depend on the inputs' names alone.
Images results(ps::Graph const& graph, ps::Weights const& weights) {
    Images nodes, outputs;
    for (ps::Node const& node : graph.nodes()) {
        Images inputs;
        for (const std::size_t input : node.inputs) inputs.push_back(nodes[input]);
        if (std::holds_alternative<ps::InputParams>(node.layer)) {
            std::mt19937 bits(static_cast<unsigned char>(node.name.back()));
            std::normal_distribution<float> normal;
            Image image(node.shape);
            for (double& value : image.data) value = normal(bits);
            nodes.push_back(image);
        } else {
            nodes.push_back(evaluate::layer(node, inputs, weights));
        }
    }
    for (const std::size_t output : graph.outputs()) outputs.push_back(nodes[output]);
    return outputs;
}

bool close(Image const& a, Image const& b) {
    double largest = 1.0, error = 0.0;
    for (std::size_t i = 0; i < b.data.size(); ++i) {
        largest = std::max(largest, std::abs(b.data[i]));
        if (std::isnan(a.data[i]) != std::isnan(b.data[i])) return false;
        if (!std::isnan(b.data[i])) error = std::max(error, std::abs(a.data[i] - b.data[i]));
    }
    return error < 1e-5 * largest;
}

}  // namespace

TEST_CASE("every network of the zoo is the same after a file") {
    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        CAPTURE(entry.name);
        const ps::Graph graph = entry.graph(2);
        ps::Weights weights;
        for (ps::WeightSpec const& spec : ps::weight_specs(graph)) {
            std::size_t size = 1;
            for (const std::int64_t dim : spec.dims) size *= static_cast<std::size_t>(dim);
            weights.add(spec.name, spec.dims, std::vector<float>(size, 1.0F));
        }
        const ps::OnnxModel model = again(graph, weights);
        CHECK_MESSAGE(simple_structure(model.graph) == simple_structure(graph), text(model.graph));
    }
}

TEST_CASE("random graphs compute the same after a file") {
    int graphs = 0;
    for (unsigned seed = 0; seed < 600; ++seed) {
        const ps::Graph graph = random_graph::draw(seed, 12);
        ++graphs;
        CAPTURE(seed);
        CAPTURE(text(graph));
        const ps::Weights weights = ps::random_weights(graph, seed);
        const ps::OnnxExportOptions options{.opset = 13 + static_cast<int>(seed % 9), .open_batch = seed % 2 == 0};
        const ps::OnnxModel model = again(graph, weights, options);
        CAPTURE(text(model.graph));
        CHECK_NOTHROW(ps::check_weights(model.graph, model.weights));
        const Images expected = results(graph, weights), got = results(model.graph, model.weights);
        REQUIRE(got.size() == expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(close(got[i], expected[i]));
    }
    CHECK(graphs > 300);
}

TEST_CASE("random graphs are the same after a file") {
    int graphs = 0;
    for (unsigned seed = 0; seed < 4000; ++seed) {
        const ps::Graph graph = in_onnx_words(random_graph::draw(seed, 6, 2));
        // Import folds constants, and joins reorderings otherwise than simplify does; ceil_mode may become padding.
        const bool changes = std::ranges::any_of(graph.nodes(), [&graph](ps::Node const& node) {
            const auto* pool = std::get_if<ps::PoolParams>(&node.layer);
            const auto* indices = std::get_if<ps::MaxPoolIndicesParams>(&node.layer);
            const auto* binary = std::get_if<ps::BinaryParams>(&node.layer);
            if (binary != nullptr && binary->kind == ps::BinaryKind::prelu) {
                if (graph[node.inputs[0]].shape != node.shape) return true;  // what is stretched is so before
            }
            if (std::holds_alternative<ps::ResizeParams>(node.layer) && graph[node.inputs[0]].shape == node.shape) {
                return true;  // import leaves out what changes no size
            }
            const auto* transposed = std::get_if<ps::ConvTransposeParams>(&node.layer);
            if (transposed != nullptr && transposed->stride == ps::Extent{1}) return true;  // becomes a convolution
            // Layers that ONNX has no operator for are written as several.
            const auto* lrn = std::get_if<ps::LrnParams>(&node.layer);
            const auto* function = std::get_if<ps::ActivationParams>(&node.layer);
            if ((lrn != nullptr && lrn->size % 2 == 0) || std::holds_alternative<ps::TopKParams>(node.layer) ||
                (function != nullptr && function->kind == ps::ActivationKind::truncate) ||
                (binary != nullptr &&
                 (binary->kind == ps::BinaryKind::modulo || binary->kind == ps::BinaryKind::keep))) {
                return true;
            }
            return std::holds_alternative<ps::ConstantParams>(node.layer) ||
                   std::holds_alternative<ps::ReshapeParams>(node.layer) ||
                   std::holds_alternative<ps::FlattenParams>(node.layer) ||
                   std::holds_alternative<ps::ChannelShuffleParams>(node.layer) ||
                   std::holds_alternative<ps::AsStridedParams>(node.layer) || (pool != nullptr && pool->ceil_mode) ||
                   (indices != nullptr && indices->pool.ceil_mode);
        });
        if (changes) continue;
        ++graphs;
        CAPTURE(seed);
        const ps::OnnxModel model = again(graph, ps::random_weights(graph, seed));
        CAPTURE(text(ps::simplify(graph)));
        CHECK_MESSAGE(simple_structure(model.graph) == simple_structure(graph), text(ps::simplify(model.graph)));
    }
    CHECK(graphs > 200);
}

TEST_CASE("normalisations are written as several layers, which simplify finds again") {
    const ps::StandardizeParams of_channels{.along_c = true, .epsilon = 1e-3F},
        of_pixels{.along_h = true, .along_w = true, .epsilon = 1e-3F},
        mean_square{.along_w = true, .epsilon = 1e-3F, .centres = false},
        of_places{.along_w = true, .epsilon = 1e-3F, .scales = true, .shifts = true},
        of_groups{.along_c = true, .along_h = true, .along_w = true, .groups = 2, .epsilon = 1e-3F};
    for (ps::StandardizeParams const& params : {of_channels, of_pixels, mean_square, of_places, of_groups}) {
        for (const int opset : {13, 18, 21}) {
            CAPTURE(opset);
            ps::Graph graph;
            std::vector<std::size_t> inputs{graph.add("x", ps::InputParams{{.c = 4, .h = 5, .w = 6}}, {})};
            if (params.scales) {
                for (const char* name : {"a", "b"}) inputs.push_back(graph.add(name, ps::ConstantParams{{.w = 6}}, {}));
            }
            ps::Epilogue epilogue{.clamp = ps::relu_clamp};
            if (!params.scales) {
                epilogue.folded = {{"scale", ps::ScaleParams{}, params.groups}, {"norm", ps::BatchNormParams{}, 1}};
            }
            graph.add("y", params, inputs, epilogue);
            CAPTURE(text(graph));
            const ps::Weights weights = ps::random_weights(graph, 1);
            const ps::OnnxModel model = again(graph, weights, {.opset = opset});
            CHECK(close(results(model.graph, model.weights)[0], results(graph, weights)[0]));
            ps::Graph const simple = ps::simplify(model.graph);
            CHECK(std::ranges::count(simple.nodes(), ps::AnyLayer(params), &ps::Node::layer) == 1);
            CHECK(simple.size() == graph.size());
        }
    }
}

TEST_CASE("a scale that leads to a size after rounding comes back as it was") {
    for (const float scale : {0.37F, 0.77F, 0.123F, 1.3F, 2.9F}) {
        CAPTURE(scale);
        ps::Graph graph;
        const std::size_t x = graph.add("x", ps::InputParams{{.c = 2, .h = 20, .w = 21}}, {});
        const int h = static_cast<int>(20.0F / scale), w = static_cast<int>(21.0F / scale);
        graph.add("y", ps::ResizeParams{.size = {h, w}, .scale_h = scale, .scale_w = scale}, {x});
        CHECK(simple_structure(again(graph, {}).graph) == simple_structure(graph));
    }
}

}  // namespace onnx_roundtrip
