// Files of causal networks, in the forms that exporters write, run as streams.
#include "models.hpp"

#include <primsel/engine/engine.hpp>
#include <primsel/engine/stream.hpp>
#include <primsel/onnx/import.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace import_streams {

using namespace models;

namespace {

constexpr int samples = 150;

std::vector<float> drawn(std::size_t count, std::uint32_t seed) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal(0.0F, 0.3F);
    std::vector<float> values(count);
    for (float& value : values) value = normal(bits);
    return values;
}

/// Checks that blocks of 7 samples give the bits of the whole signal. Samples are mono, so that axes do not matter.
void check(std::string const& bytes) {
    const ps::OnnxModel model = ps::parse_onnx("file", shared(bytes));
    ps::Engine<ps::Graph, ps::StreamPolicies> engine(model.graph, model.weights);
    ps::Stream<> stream(model.graph, model.weights, {.largest_block = 16});
    const std::vector<float> signal = drawn(samples, 9);
    std::vector<float> whole(engine.out_shape().size()), blocks(samples);
    engine.run(std::span<const float>(signal), std::span<float>(whole));
    for (std::size_t at = 0; at < blocks.size(); at += 7) {
        const std::size_t count = std::min<std::size_t>(7, blocks.size() - at);
        stream.run(std::span<const float>(signal).subspan(at, count), std::span(blocks).subspan(at, count));
    }
    REQUIRE(whole.size() + static_cast<std::size_t>(stream.late()) == blocks.size());
    CHECK(std::vector(blocks.begin() + stream.late(), blocks.end()) == whole);
}

}  // namespace

TEST_CASE("streams of an LSTM and a GRU, images first, as PyTorch writes them") {
    for (const std::string op : {"LSTM", "GRU"}) {
        constexpr int hidden = 5;
        const int rows = (op == "LSTM" ? 4 : 3) * hidden;
        Model model({1, samples, 1}, 17);
        model.floats("w", {1, rows, 1}, drawn(static_cast<std::size_t>(rows), 1))
            .floats("r", {1, rows, hidden}, drawn(static_cast<std::size_t>(rows * hidden), 2))
            .floats("b", {1, 2 * rows}, drawn(static_cast<std::size_t>(2 * rows), 3))
            .floats("head", {hidden, 1}, drawn(hidden, 4))
            .floats("bias", {1}, {0.25F})
            .integers("axes", {1});
        model.node("Transpose", {"x"}, {"steps"}, {{"perm", Ints{1, 0, 2}}}, "to steps")
            .node(op, {"steps", "w", "r", "b"}, {"all"}, {{"hidden_size", std::int64_t{hidden}}}, "recurrent")
            .node("Squeeze", {"all", "axes"}, {"rows"}, {}, "squeeze")
            .node("Transpose", {"rows"}, {"images"}, {{"perm", Ints{1, 0, 2}}}, "to images")
            .node("MatMul", {"images", "head"}, {"product"}, {}, "product")
            .node("Add", {"product", "bias"}, {"sum"}, {}, "sum")
            .node("Add", {"sum", "x"}, {"y"}, {}, "skip");
        CAPTURE(op);
        check(model.bytes());
    }
}

TEST_CASE("streams of dilated convolutions with padding, with crops and with neither") {
    for (const std::string form : {"pads", "Pad", "crop", "none"}) {
        CAPTURE(form);
        constexpr int channels = 6, dilation = 5, reach = 2 * dilation;
        Model model({1, 1, samples}, 17);
        model.floats("w1", {channels, 1, 3}, drawn(channels * 3, 1))
            .floats("w2", {1, channels, 3}, drawn(channels * 3, 2))
            .integers("pads", {0, 0, reach, 0, 0, 0})
            .integers("begin", {0})
            .integers("end", {-reach})
            .integers("axis", {2});
        std::string at = "x";
        for (const std::string layer : {"1", "2"}) {
            Ints pads{form == "pads" || form == "crop" ? reach : 0, form == "crop" ? reach : 0};
            if (form == "Pad") {
                model.node("Pad", {at, "pads"}, {"padded" + layer}, {}, "pad" + layer);
                at = "padded" + layer;
            }
            model.node("Conv", {at, "w" + layer}, {"conv" + layer}, {{"dilations", Ints{dilation}}, {"pads", pads}},
                       "conv" + layer);
            at = "conv" + layer;
            if (form == "crop") {
                model.node("Slice", {at, "begin", "end", "axis"}, {"crop" + layer}, {}, "crop" + layer);
                at = "crop" + layer;
            }
            model.node("Tanh", {at}, {layer == "2" ? "y" : "tanh"}, {}, "tanh" + layer);
            at = "tanh";
        }
        check(model.bytes());
    }
}

}  // namespace import_streams
