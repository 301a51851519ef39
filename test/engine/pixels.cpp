// Images as bytes, against the same as floats.
#include "../allocations.hpp"
#include "../error_of.hpp"
#include "../threads.hpp"

#include <primsel/engine/pixels.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace engine_pixels_tests {

namespace ps = primsel;

namespace {

using tests::error_of;

/// All but the last compute rows.
using Some = ps::TypeList<ps::DirectHwc, ps::DirectChwHwc, ps::DepthwiseHwc, ps::DirectSum2d>;
struct Policies : ps::DefaultPolicies {
    using primitives = Some;
};
struct PixelByPixel : Policies {
    using layouts = ps::TypeList<ps::hwc, ps::chw>;
};
const ps::Kernels kernels = ps::make_kernels<Some, ps::default_arch, ps::AllLayouts>();

int number(std::mt19937& bits, int low, int high) { return std::uniform_int_distribution(low, high)(bits); }

std::vector<std::uint8_t> any_bytes(std::mt19937& bits, std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(bits());
    return bytes;
}
ps::PixelOptions any_options(std::mt19937& bits, int channels) {
    ps::PixelOptions options;
    if (bits() % 4 != 0) options.mean.clear(), options.deviation.clear();
    for (int c = 0; options.mean.size() < static_cast<std::size_t>(channels) && bits() % 4 != 0 && c < channels; ++c) {
        options.mean.push_back(static_cast<float>(number(bits, -9, 9)) / 7);
    }
    options.mean.resize(options.mean.size() == static_cast<std::size_t>(channels) ? options.mean.size() : 1);
    options.deviation.assign(bits() % 2 == 0 ? 1 : static_cast<std::size_t>(channels), 0.3F);
    options.deviation[0] = 0.7F;
    if (bits() % 3 == 0) options.scale = 1;
    return options;
}
/// The same images with the bytes of each channel, or pixel, beside each other.
std::vector<std::uint8_t> reordered(std::vector<std::uint8_t> const& hwc, ps::Shape shape) {
    std::vector<std::uint8_t> chw(hwc.size());
    const auto c = static_cast<std::size_t>(shape.c);
    for (std::size_t i = 0; i < hwc.size(); ++i) {
        const std::size_t image = i / shape.size(), at = i % shape.size();
        chw[image * shape.size() + at % c * shape.pixels() + at / c] = hwc[i];
    }
    return chw;
}

/// A network that begins in one of several ways.
ps::Graph any_graph(std::mt19937& bits, int batch) {
    for (;;) {
        ps::Graph graph(batch);
        graph.add("image", ps::InputParams{{number(bits, 1, 5), number(bits, 4, 60), number(bits, 4, 40)}}, {});
        const unsigned way = bits() % 8;
        if (way == 0) graph.add("pool", ps::PoolParams{.kind = ps::PoolKind::max, .window = 2}, {0});
        if (way == 1) graph.add("flat", ps::FlattenParams{}, {0});
        const int convs = way == 1 ? 0 : number(bits, 1, 3);
        bool good = true;
        for (int i = 0; i < convs && good; ++i) {
            ps::ConvParams conv{.k = number(bits, 1, 20), .bias = bits() % 2 == 0};
            conv.kernel = ps::Extent{number(bits, 1, 4), number(bits, 1, 4)};
            conv.padding = {conv.kernel.h / 2, conv.kernel.w / 2};
            if (bits() % 2 == 0) conv.stride = ps::Extent{number(bits, 1, 3), number(bits, 1, 3)};
            if (bits() % 6 == 0) conv.dilation = 2;
            if (bits() % 4 == 0) conv.padding.top = 0;
            const std::size_t last = graph.size() - 1;
            if (bits() % 4 == 0) conv.groups = conv.k = graph[last].shape.c;
            const std::vector<ps::Shape> shapes{graph[last].shape};
            good = ps::check(conv, shapes) == ps::Fault::none;
            if (!good) break;
            graph.add("conv" + std::to_string(i), conv, {last});
            if (bits() % 2 == 0) graph.add("relu" + std::to_string(i), ps::ActivationParams{}, {graph.size() - 1});
        }
        if (!good) continue;
        if (way == 2) graph.add("twice", ps::ConvParams{.k = 2}, {0});
        if (way == 2) graph.set_outputs({graph.size() - 2, graph.size() - 1});
        return ps::simplify(graph);
    }
}

std::vector<float> result_of(ps::Program& program, std::vector<float> const& src, ps::ExecutorRef executor) {
    std::vector<std::vector<float>> all;
    std::vector<float*> dsts;
    for (std::size_t i = 0; i < program.out_shapes().size(); ++i) {
        dsts.push_back(all.emplace_back(program.out_floats(i), NAN).data());
    }
    const float* const data = src.data();
    program.run(std::span(&data, 1), dsts, executor);
    std::vector<float> joined;
    for (std::vector<float> const& each : all) joined.insert(joined.end(), each.begin(), each.end());
    return joined;
}
std::vector<float> result_of(ps::Program& program, ps::Pixels& pixels, std::vector<std::uint8_t> const& bytes,
                             ps::ExecutorRef executor) {
    std::vector<std::vector<float>> all;
    std::vector<float*> dsts;
    for (std::size_t i = 0; i < program.out_shapes().size(); ++i) {
        dsts.push_back(all.emplace_back(program.out_floats(i), NAN).data());
    }
    const std::size_t before = scratch::allocations;
    pixels.run(program, bytes.data(), dsts, executor);
    if (executor.concurrency() == 1) CHECK(scratch::allocations == before);  // threads of a pool of theirs allocate
    std::vector<float> joined;
    for (std::vector<float> const& each : all) joined.insert(joined.end(), each.begin(), each.end());
    return joined;
}

}  // namespace

TEST_CASE("pixels: a byte is (byte * scale - mean) / deviation, up to the rounding of floats") {
    std::mt19937 bits(3);
    for (int repetition = 0; repetition < 40; ++repetition) {
        ps::Graph graph(1 + repetition % 2);
        const ps::Shape shape{.c = number(bits, 1, 7), .h = number(bits, 1, 20), .w = number(bits, 1, 20)};
        graph.add("image", ps::InputParams{shape}, {});
        graph.add("conv", ps::ConvParams{.k = 2}, {0});
        const ps::Engine<ps::Graph, Policies> engine(graph, ps::random_weights(graph));
        ps::PixelOptions options = any_options(bits, shape.c);
        ps::Pixels pixels(engine, options);
        const std::vector<std::uint8_t> bytes = any_bytes(bits, pixels.size()), chw = reordered(bytes, shape);
        const std::vector<float> floats = pixels.floats(bytes);
        for (std::size_t i = 0; i < floats.size(); ++i) {
            const std::size_t c = i % shape.size() / shape.pixels();
            const double mean = options.mean.size() == 1 ? options.mean[0] : options.mean[c],
                         deviation = options.deviation.size() == 1 ? options.deviation[0] : options.deviation[c],
                         product = static_cast<double>(chw[i]) * options.scale / deviation, term = mean / deviation,
                         wanted = product - term;
            // Factor, term, product and sum are rounded once each.
            CHECK(std::abs(floats[i] - wanted) <= 0x1p-23 * (std::abs(product) + std::abs(term)));
        }
        options.order = ps::PixelOrder::chw;
        CHECK(ps::Pixels(engine, options).floats(chw) == floats);
    }
}

TEST_CASE("pixels: the same bits as on floats, whatever reads the image first, the order, batch and threads") {
    std::mt19937 bits(19);
    int fused = 0, from_chw = 0, apart = 0;
    for (int repetition = 0; repetition < 150; ++repetition) {
        const int batch = 1 + repetition % 3;
        const ps::Graph graph = any_graph(bits, batch);
        CAPTURE(graph);
        const ps::Shape shape = graph[0].shape;
        const ps::Weights weights = ps::random_weights(graph);
        ps::Analytical model(ps::Machine{});
        ps::PlanOptions how{.strips = bits() % 2 == 0};
        const auto by = bits() % 6;
        if (by == 0) how.primitive = ps::DirectSum2d::id;
        if (by == 1) how.primitive = ps::DirectChwHwc::id;
        ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, how);
        std::vector<std::string> chain;
        for (std::size_t i = 1; i < graph.size() && chain.size() < ps::most_strip_layers; ++i) {
            if (!ps::joins_strips(graph, kernels, plan.layers[i], i)) break;
            chain.push_back(graph[i].name);
            if (!ps::read_by_next(graph, i, graph.uses())) break;
        }
        if (chain.size() > 1 && plan.strips.empty() && bits() % 2 == 0) {
            plan.strips.push_back({chain, number(bits, 1, graph[chain.size()].shape.h), 0.001});
        }
        CAPTURE(plan);
        ps::PixelOptions options = any_options(bits, shape.c);
        for (const std::size_t workers : {std::size_t{1}, std::size_t{3}}) {
            ps::Program program(graph, kernels, plan, weights, workers);
            ps::Pixels pixels(graph, kernels, plan, program, workers, options);
            (pixels.fused() ? fused : apart) += 1;
            from_chw += pixels.fused() && plan.layers[1].in_layout == ps::chw::name;
            const std::vector<std::uint8_t> bytes = any_bytes(bits, pixels.size());
            ps::CallerPool pool(workers, laws::Threads{});
            ps::Sequential here;
            const std::vector<float> wanted = result_of(program, pixels.floats(bytes), here);
            CHECK(result_of(program, pixels, bytes, pool) == wanted);
            CHECK(result_of(program, pixels, bytes, here) == wanted);
            options.order = ps::PixelOrder::chw;
            ps::Pixels planes(graph, kernels, plan, program, workers, options);
            CHECK(result_of(program, planes, reordered(bytes, shape), pool) == wanted);
            options.order = ps::PixelOrder::hwc;
        }
    }
    CHECK(fused > 30);
    CHECK(from_chw > 10);
    CHECK(apart > 30);
}

TEST_CASE("pixels: an engine runs on bytes, also one whose images are in hwc") {
    std::mt19937 bits(7);
    const auto check = [&]<class P>(P) {
        ps::Graph graph;
        graph.add("image", ps::InputParams{{3, 31, 29}}, {});
        graph.add("conv", ps::ConvParams{.k = 8, .kernel = 3, .stride = 2, .padding = 1}, {0});
        graph.add("pool", ps::GlobalPoolParams{}, {1});
        ps::Engine<ps::Graph, P> engine(graph, ps::random_weights(graph));
        ps::Pixels pixels(engine, {.mean = {0.485F, 0.456F, 0.406F}, .deviation = {0.229F, 0.224F, 0.225F}});
        const std::vector<std::uint8_t> bytes = any_bytes(bits, pixels.size());
        std::vector<float> wanted(8), found(8), again(8);
        engine.run(pixels.floats(bytes), wanted);
        engine.run(pixels, bytes, found);
        CHECK(found == wanted);
        const std::span<float> dst(again);
        engine.run(pixels, bytes, std::span<const std::span<float>>(&dst, 1));
        CHECK(again == wanted);
    };
    check(Policies{});
    check(PixelByPixel{});
}

TEST_CASE("pixels: what does not fit the images is refused in words") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{3, 8, 8}}, {});
    graph.add("conv", ps::ConvParams{.k = 2}, {0});
    const ps::Engine<ps::Graph, Policies> engine(graph, ps::random_weights(graph));
    const auto refusal = [&](ps::PixelOptions const& options) {
        return error_of([&] { ps::Pixels(engine, options); });
    };
    CHECK(refusal({.mean = {1, 2}}) == "pixels: mean: 2 numbers for images of 3 channels");
    CHECK(refusal({.deviation = {1, 2, 3, 4}}) == "pixels: deviation: 4 numbers for images of 3 channels");
    CHECK(refusal({.deviation = {}}) == "pixels: deviation: 0 numbers for images of 3 channels");
    CHECK(refusal({.deviation = {1, 0, 1}}) == "pixels: channel 1: mean 0, deviation 0, scale 0.003921569");
    CHECK(refusal({.mean = {NAN}}).starts_with("pixels: channel 0: mean nan"));
    ps::Pixels pixels(engine);
    CHECK(error_of([&] { (void)pixels.floats(std::vector<std::uint8_t>(191)); }) ==
          "pixels: 191 bytes; the images have 192");

    ps::Graph two;
    two.add("left", ps::InputParams{{3, 8, 8}}, {});
    two.add("right", ps::InputParams{{3, 8, 8}}, {});
    two.add("sum", ps::AddParams{}, {0, 1});
    const ps::Engine<ps::Graph, Policies> both(two, {});
    CHECK(error_of([&] { ps::Pixels{both}; }) == "graph: two inputs, left and right");
}

}  // namespace engine_pixels_tests
