// Networks that run block by block: any blocks give the bits of the whole signal.
#include "../allocations.hpp"

#include <primsel/engine/engine.hpp>
#include <primsel/engine/stream.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace engine_stream_tests {

namespace ps = primsel;

namespace {

std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(bits);
    return values;
}

enum class Padding { of_convolution, of_pad, cropped, none };

/// Dilated convolutions with gates, residuals and skips, as WaveNet (van den Oord et al. 2016) has them.
ps::Graph wavenet(int samples, int inputs, int channels, int kernel, std::vector<int> const& dilations, Padding padding,
                  bool gated) {
    ps::Graph graph;
    std::size_t x = graph.add("image", ps::InputParams{{inputs, 1, samples}}, {});
    x = graph.add("first", ps::ConvParams{.k = channels, .kernel = {1, 1}}, {x});
    std::vector<std::size_t> skips;
    for (std::size_t i = 0; i < dilations.size(); ++i) {
        const std::string name = "layer" + std::to_string(i);
        const int reach = (kernel - 1) * dilations[i];
        ps::ConvParams conv{.k = gated ? 2 * channels : channels, .kernel = {1, kernel}, .dilation = {1, dilations[i]}};
        std::size_t y = x;
        if (padding == Padding::of_convolution) conv.padding = {0, 0, reach, 0};
        if (padding == Padding::cropped) conv.padding = {0, 0, reach, reach};
        if (padding == Padding::of_pad) y = graph.add(name + ".pad", ps::PadParams{.padding = {0, 0, reach, 0}}, {y});
        y = graph.add(name + ".conv", conv, {y});
        if (padding == Padding::cropped) {
            y = graph.add(name + ".crop", ps::SliceParams{0, samples, ps::Axis::w}, {y});
        }
        if (gated) {
            const std::size_t a = graph.add(name + ".a", ps::SliceParams{0, channels}, {y}),
                              b = graph.add(name + ".b", ps::SliceParams{channels, 2 * channels}, {y}),
                              t = graph.add(name + ".tanh", ps::ActivationParams{ps::ActivationKind::tanh}, {a}),
                              s = graph.add(name + ".sigmoid", ps::ActivationParams{ps::ActivationKind::sigmoid}, {b});
            y = graph.add(name + ".gate", ps::BinaryParams{ps::BinaryKind::multiply}, {t, s});
        } else {
            y = graph.add(name + ".tanh", ps::ActivationParams{ps::ActivationKind::tanh}, {y});
        }
        const int width = graph[y].shape.w;
        skips.push_back(y);
        if (padding == Padding::none) {
            x = graph.add(name + ".old", ps::SliceParams{reach, reach + width, ps::Axis::w}, {x});
        }
        y = graph.add(name + ".mix", ps::ConvParams{.k = channels, .kernel = {1, 1}}, {y});
        x = graph.add(name + ".sum", ps::AddParams{}, {y, x});
    }
    const int width = graph[skips.back()].shape.w;
    for (std::size_t i = 0; i < skips.size(); ++i) {
        const int own = graph[skips[i]].shape.w;
        if (own == width) continue;
        skips[i] = graph.add("skip" + std::to_string(i), ps::SliceParams{own - width, own, ps::Axis::w}, {skips[i]});
    }
    std::size_t y = skips.size() == 1 ? skips[0] : graph.add("skips", ps::AddParams{}, skips);
    y = graph.add("relu", ps::ActivationParams{ps::ActivationKind::relu}, {y});
    graph.add("last", ps::ConvParams{.k = 2, .kernel = {1, 1}}, {y});
    return graph;
}

/// A temporal convolutional network (Bai et al. 2018): two convolutions a block and a residual, batch norms.
ps::Graph temporal(int samples, int channels, int groups) {
    ps::Graph graph;
    std::size_t x = graph.add("image", ps::InputParams{{3, 1, samples}}, {});
    for (int block = 0; block < 3; ++block) {
        const std::string name = "block" + std::to_string(block);
        const int reach = 2 << block;
        std::size_t y = x;
        for (const char* const half : {".1", ".2"}) {
            y = graph.add(name + half + ".conv",
                          ps::ConvParams{.k = channels,
                                         .kernel = {1, 3},
                                         .padding = {0, 0, reach, reach},
                                         .dilation = {1, 1 << block},
                                         .groups = graph[y].shape.c == channels ? groups : 1},
                          {y});
            y = graph.add(name + half + ".crop", ps::SliceParams{0, samples, ps::Axis::w}, {y});
            y = graph.add(name + half + ".norm", ps::BatchNormParams{}, {y});
            y = graph.add(name + half + ".relu", ps::ActivationParams{ps::ActivationKind::relu}, {y});
        }
        if (graph[x].shape.c != channels) {
            x = graph.add(name + ".fit", ps::ConvParams{.k = channels, .kernel = {1, 1}}, {x});
        }
        x = graph.add(name + ".sum", ps::AddParams{}, {y, x});
        x = graph.add(name + ".relu", ps::ActivationParams{ps::ActivationKind::leaky_relu, 0.1F}, {x});
    }
    return graph;
}

/// Recurrent layers on rows that are times.
ps::Graph recurrent(int samples, int inputs, std::vector<ps::RecurrentParams> const& layers, int hidden) {
    ps::Graph graph;
    std::size_t x = graph.add("image", ps::InputParams{{samples, 1, inputs}}, {});
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string name = "layer" + std::to_string(i);
        x = graph.add(name + ".input", ps::DenseRowsParams{.k = layers[i].gates() * hidden}, {x});
        x = graph.add(name, layers[i], {x});
    }
    graph.add("last", ps::DenseRowsParams{.k = inputs}, {x});
    return graph;
}

/// Samples of all channels, one after the other, as images have them in hwc.
std::vector<float> run_in_blocks(ps::Stream<>& stream, std::vector<float> const& signal,
                                 std::vector<int> const& blocks) {
    const std::size_t samples = signal.size() / stream.in_channels();
    std::vector<float> result(samples * stream.out_channels());
    const std::span<const float> src(signal);
    const std::span<float> dst(result);
    for (std::size_t at = 0, i = 0; at < samples; ++i) {
        const std::size_t block = std::min(static_cast<std::size_t>(blocks[i % blocks.size()]), samples - at);
        stream.run(src.subspan(at * stream.in_channels(), block * stream.in_channels()),
                   dst.subspan(at * stream.out_channels(), block * stream.out_channels()));
        at += block;
    }
    return result;
}

/// Compares streams in blocks of many sizes with the whole signal in one block, and with an engine that runs the graph
/// on the whole signal: by bits, unless simplify folds more into the layers of the stream, whose crops are gone.
void check_blocks(ps::Graph const& graph, std::vector<int> const& largest = {64, 1, 48}, bool folds_more = false) {
    const ps::Weights weights = ps::random_weights(graph, 7);
    const bool in_rows = graph[0].shape.w < graph[0].shape.c;
    const ps::Axis time = in_rows ? ps::Axis::c : ps::Axis::w;
    const std::vector<float> signal = random_floats(graph[0].shape.size(), 3);

    struct Rows : ps::StreamPolicies {
        using layouts = ps::TypeList<ps::chw, ps::hwc>;
    };
    std::vector<float> whole;
    const auto run_whole = [&](auto&& engine) {
        whole.resize(engine.out_shape().size());
        engine.run(std::span<const float>(signal), std::span<float>(whole));
    };
    if (in_rows) {
        run_whole(ps::Engine<ps::Graph, Rows>(graph, weights));
    } else {
        run_whole(ps::Engine<ps::Graph, ps::StreamPolicies>(graph, weights));
    }

    const int samples = ps::extent(graph[0].shape, time);
    ps::Stream<> at_once(graph, weights, {.largest_block = samples, .time = time});
    const std::vector<float> expected = run_in_blocks(at_once, signal, {samples});
    const std::size_t late = static_cast<std::size_t>(at_once.late()) * at_once.out_channels();
    REQUIRE(expected.size() == late + whole.size());
    const auto same = [](const float* a, const float* b, std::size_t count) {
        return std::memcmp(a, b, count * sizeof(float)) == 0;
    };
    if (folds_more) {
        for (std::size_t i = 0; i < whole.size(); ++i) {
            REQUIRE(expected[late + i] == doctest::Approx(whole[i]).epsilon(1e-4));
        }
    } else {
        CHECK(same(expected.data() + late, whole.data(), whole.size()));
    }

    const std::vector<std::vector<int>> cuts{{1}, {64}, {1, 2, 3, 5, 97, 31}, {97}, {13, 64, 7, 1}, {1000000}};
    for (const int most : largest) {
        ps::Stream<> stream(graph, weights, {.largest_block = most, .time = time});
        CHECK(stream.late() == at_once.late());
        for (std::vector<int> const& cut : cuts) {
            CAPTURE(most);
            CAPTURE(cut[0]);
            stream.reset();
            const std::vector<float> blocks = run_in_blocks(stream, signal, cut);
            CHECK(same(blocks.data(), expected.data(), expected.size()));
        }
    }
}

TEST_CASE("stream: WaveNets") {
    check_blocks(wavenet(331, 1, 16, 3, {1, 2, 4, 8, 16, 32, 1, 2, 4}, Padding::of_convolution, false));
    check_blocks(wavenet(257, 2, 8, 2, {1, 2, 4, 64, 3}, Padding::of_pad, true), {64});
    check_blocks(wavenet(211, 1, 5, 3, {1, 3, 9, 27}, Padding::cropped, true), {37});
    check_blocks(wavenet(299, 3, 12, 3, {1, 2, 4, 8, 16, 1}, Padding::none, false), {16});
    check_blocks(wavenet(203, 1, 33, 4, {7}, Padding::of_convolution, false), {32});
}

TEST_CASE("stream: temporal convolutional networks") {
    check_blocks(temporal(201, 16, 1), {64, 1, 48}, true);
    check_blocks(temporal(173, 12, 3), {32}, true);
    check_blocks(temporal(190, 10, 10), {32}, true);
}

TEST_CASE("stream: recurrent layers") {
    check_blocks(recurrent(190, 1, {{}}, 40));
    check_blocks(recurrent(173, 3, {{.kind = ps::RecurrentKind::gru}, {.kind = ps::RecurrentKind::lstm}}, 9), {24});
    check_blocks(recurrent(151, 2, {{.kind = ps::RecurrentKind::gru, .resets_product = true}}, 17), {32});
    check_blocks(recurrent(131, 1, {{.kind = ps::RecurrentKind::rnn}}, 8), {7});
}

TEST_CASE("stream: convolutions, then recurrent layers, between transposes") {
    constexpr int samples = 181;
    ps::Graph graph;
    std::size_t x = graph.add("image", ps::InputParams{{2, 1, samples}}, {});
    x = graph.add("conv", ps::ConvParams{.k = 6, .kernel = {1, 3}, .padding = {0, 0, 4, 0}, .dilation = {1, 2}}, {x});
    x = graph.add("rows", ps::AsStridedParams{.dims = {samples, 6}, .strides = {1, samples}, .shape = {samples, 1, 6}},
                  {x});
    x = graph.add("input", ps::DenseRowsParams{.k = 4 * 6}, {x});
    x = graph.add("lstm", ps::RecurrentParams{}, {x});
    x = graph.add("columns", ps::AsStridedParams{.dims = {6, samples}, .strides = {1, 6}, .shape = {6, 1, samples}},
                  {x});
    x = graph.add("flat", ps::ReshapeParams{{6, samples, 1}}, {x});
    x = graph.add("row", ps::ReshapeParams{{6, 1, samples}}, {x});
    x = graph.add("sum", ps::AddParams{}, {x, 1});
    graph.add("last", ps::ConvParams{.k = 2, .kernel = {1, 5}, .padding = {0, 0, 4, 0}}, {x});
    check_blocks(graph);
}

TEST_CASE("stream: a run allocates nothing, and weights are there once") {
    const ps::Graph graph = wavenet(301, 1, 16, 3, {1, 2, 4, 8, 16, 32}, Padding::of_convolution, false);
    const ps::Weights weights = ps::random_weights(graph);
    ps::Stream<> stream(graph, weights), small(graph, weights, {.largest_block = 1});
    CHECK(stream.weight_bytes() == small.weight_bytes());
    const std::vector<float> signal = random_floats(301, 1);
    std::vector<float> result(2 * 301);
    const std::size_t before = scratch::allocations;
    for (int i = 0; i < 20; ++i) stream.run(signal, result);
    stream.reset();
    CHECK(scratch::allocations == before);
}

}  // namespace

}  // namespace engine_stream_tests
