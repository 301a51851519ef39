// Layers of a user's own: in each of their layouts, in plans and traces, pruned, and in an engine.
#include "../layer/own_layers.hpp"

#include <primsel/engine/trace.hpp>
#include <primsel/kernels/own_layer.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/primsel.hpp>
#include <primsel/prune/surgery.hpp>
#include <primsel/train/differentiate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "../error_of.hpp"

namespace kernels_own_layer_tests {

namespace {

namespace ps = primsel;
using namespace ps::layer;
using own::Gate, own::Mirror, own::Times;
using tests::error_of;

struct Few : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
};
const ps::Kernels kernels = ps::make_kernels<Few::primitives, ps::default_arch, ps::AllLayouts>();

std::vector<float> numbers(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
    return values;
}

/// A batch of images in layout L.
template <class L>
std::vector<float> in_layout(ps::Shape shape, std::span<const float> chw) {
    std::vector<float> result(chw.size());
    ps::Sequential here;
    for (std::size_t i = 0; i < chw.size(); i += shape.size())
        ps::transform<ps::chw, L>(shape, chw.data() + i, result.data() + i, here);
    return result;
}

TEST_CASE("a layer of the user's own computes the same in each of its layouts") {
    const ps::Shape shape{3, 4, 5};
    const int batch = 2;
    const std::vector<float> image = numbers(shape.size() * 2);
    std::vector<float> expected(image.size());
    for (std::size_t row = 0; row < image.size(); row += 5) {
        for (std::size_t w = 0; w < 5; ++w) expected[row + w] = image[row + 4 - w] + 3.0F;
    }
    const ps::AnyLayer layer = Mirror{3};
    const auto check = [&]<class L>(L) {
        CAPTURE(L::name);
        ps::OpEntry const& op = kernels.op(layer, kernels.find_layout(L::name));
        REQUIRE((op.run != nullptr));
        const std::vector<float> src = in_layout<L>(shape, image);
        std::vector<float> dst(src.size());
        const float* from = src.data();
        ps::Sequential here;
        op.run(layer, {.src = std::span(&from, 1),
                       .src_shape = std::span(&shape, 1),
                       .dst = dst.data(),
                       .dst_shape = shape,
                       .batch = batch,
                       .executor = here});
        CHECK(dst == in_layout<L>(shape, expected));
    };
    check(ps::chw{}), check(ps::hcw{}), check(ps::hwc{});
}

TEST_CASE("it runs in the layouts that it names, and in no other") {
    const ps::AnyLayer gate = Gate{};
    CHECK((kernels.op(gate, kernels.find_layout("hwc")).run != nullptr));
    CHECK((kernels.op(gate, kernels.find_layout("chw")).run == nullptr));
    CHECK(kernels.op(gate, kernels.find_layout("chw")).packed_bytes(gate, {5, 2, 2}) == 10 * sizeof(float));
    CHECK(kernels.op(Times{}, 0).in_place);
    CHECK_FALSE(kernels.op(Mirror{}, 0).in_place);
}

TEST_CASE("a cost model prices it by its work, or by its images where it states none") {
    ps::Analytical model(ps::Machine{});
    const std::array<ps::Shape, 2> inputs{ps::Shape{8, 16, 16}, ps::Shape{8, 16, 16}};
    const double size = 8 * 16 * 16;
    const ps::AnyLayer gate = Gate{}, mirror = Mirror{};
    const std::size_t hwc = kernels.find_layout("hwc");
    const ps::OpWork of_gate = model.work(kernels, {&gate, inputs, inputs[0], hwc});
    CHECK(of_gate.counts.operations == 2 * size);
    CHECK(of_gate.counts.bytes == 20 * size);
    CHECK(of_gate.weights == 16 * sizeof(float));
    const ps::OpWork of_mirror = model.work(kernels, {&mirror, std::span(inputs).first(1), inputs[0], hwc});
    CHECK(of_mirror.counts.operations == size);
    CHECK(of_mirror.counts.bytes == 8 * size);
}

/// Two convolutions with each kind of layer around them.
ps::Graph network(int batch = 1) {
    ps::Graph graph(batch);
    graph.add("image", ps::InputParams{{3, 6, 7}}, {});
    graph.add("conv", ps::ConvParams{.k = 8, .kernel = 3, .padding = 1, .bias = true}, {0});
    graph.add("mirror", Mirror{1}, {1});
    graph.add("times", Times{0.5F}, {2});
    graph.add("gate", Gate{}, {3, 1});
    graph.add("last", ps::ConvParams{.k = 4, .kernel = 1, .bias = true}, {4});
    return graph;
}
/// The results of the network's layers before the last convolution, from those of the first.
std::vector<float> gated(std::vector<float> const& conv, ps::Weights const& weights, std::size_t channels) {
    const auto gain = weights.at("gate.gain").values, shift = weights.at("gate.shift").values;
    std::vector<float> result(conv.size());
    for (std::size_t i = 0; i < conv.size(); ++i) {
        const std::size_t w = i % 7, c = i / 42 % channels;
        result[i] = (conv[i - w + 6 - w] + 1.0F) * 0.5F * gain[c] + conv[i] + shift[c];
    }
    return result;
}
std::vector<float> run(ps::Graph const& graph, ps::Weights const& weights, std::vector<float> const& image) {
    ps::Engine<ps::Graph, Few> engine(graph, weights);
    std::vector<float> result(engine.out_shape().size() * static_cast<std::size_t>(engine.batch()));
    engine.run(image, result);
    return result;
}
bool near(std::vector<float> const& a, std::vector<float> const& b) {
    return std::ranges::equal(a, b, [](float x, float y) { return std::abs(x - y) <= 1e-5F; });
}
ps::Weights named(ps::Weights const& all, std::string_view layer) {
    ps::Weights some;
    for (auto const& [name, tensor] : all) {
        if (name.starts_with(layer)) some.add(name, tensor);
    }
    return some;
}

TEST_CASE("an engine runs it between other layers, with its weights, scratch and several images") {
    for (const int batch : {1, 3}) {
        CAPTURE(batch);
        const ps::Graph graph = network(batch);
        const ps::Weights weights = ps::random_weights(graph);
        const std::vector<float> image = numbers(3 * 42 * static_cast<std::size_t>(batch));
        ps::Graph first(batch), last(batch);
        first.add("image", ps::InputParams{{3, 6, 7}}, {});
        first.add("conv", graph[1].layer, {0});
        last.add("image", ps::InputParams{{8, 6, 7}}, {});
        last.add("last", graph[5].layer, {0});
        const std::vector<float> conv = run(first, named(weights, "conv"), image);
        CHECK(near(run(graph, weights, image), run(last, named(weights, "last"), gated(conv, weights, 8))));
    }
}

TEST_CASE("plans, their files, explanations and traces name it") {
    const ps::Graph graph = network();
    ps::Analytical model(ps::Machine{});
    const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{});
    CHECK(plan.layer("mirror").kind == "mirror");
    CHECK(plan.layer("gate").in_layout == "hwc");
    CHECK(plan.layer("gate").seconds > 0);
    CHECK(plan.explain("times").starts_with("times: times 8x6x7\n"));
    const ps::Plan read = ps::parse_plan("plan", ps::to_string(ps::to_json(plan)));
    ps::Sequential here;
    ps::Program program(graph, kernels, read, ps::random_weights(graph), 1);
    const std::vector<float> image = numbers(program.in_floats());
    std::vector<float> result(program.out_floats());
    const float* in = image.data();
    float* out = result.data();
    const ps::Trace trace =
        ps::trace_run(program, {graph, kernels, read}, std::span(&in, 1), std::span(&out, 1), ps::ExecutorRef(here));
    const auto gate = std::ranges::find(trace.steps, "gate", &ps::TracedStep::computed_by);
    REQUIRE(gate != trace.steps.end());
    CHECK(gate->layer == "gate");

    ps::Graph other(1);
    for (ps::Node const& node : graph.nodes())
        other.add(node.name, node.name == "times" ? ps::AnyLayer(Times{0.25F}) : node.layer, node.inputs);
    CHECK(error_of([&] {
              ps::Program(other, kernels, read, ps::random_weights(other), 1);
          }).starts_with("plan: made for another network"));
}

TEST_CASE("Measured times it in its layouts") {
    ps::measure::Measured model(1);
    const std::array<ps::Shape, 2> inputs{ps::Shape{8, 16, 16}, ps::Shape{8, 16, 16}};
    const ps::AnyLayer gate = Gate{};
    const ps::OpQuery query{&gate, inputs, inputs[0], kernels.find_layout("hwc")};
    double seconds = 0;
    model.predict(kernels, std::span(&query, 1), std::span(&seconds, 1));
    CHECK(seconds > 0);
}

struct Net : ps::Network<Input<3, 6, 7>, Conv<4, 3>, Own<Mirror, 1>, Own<Times>, Relu> {};

TEST_CASE("a network type compiles what it needs of it") {
    const ps::Graph graph = Net::graph();
    const ps::Weights weights = ps::random_weights(graph);
    const std::vector<float> image = numbers(Net::input_shape.size());
    std::vector<float> result(Net::output_shape.size());
    ps::Engine<Net, Few> engine(weights);
    engine.run(image, result);
    CHECK(near(result, run(graph, weights, image)));
    CHECK(engine.plan().layer("mirror1").kind == "mirror");
}

TEST_CASE("pruning takes channels through it where it is channel_wise") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{3, 6, 7}}, {});
    graph.add("conv", ps::ConvParams{.k = 8, .kernel = 3, .padding = 1, .bias = true}, {0});
    graph.add("mirror", Mirror{1}, {1});
    graph.add("gate", Gate{}, {2, 1});
    graph.add("last", ps::ConvParams{.k = 4, .kernel = 1, .bias = true}, {3});
    const ps::Weights weights = ps::random_weights(graph);
    const ps::prune::Coupling coupling(graph);
    const std::size_t group = coupling.groups_of(1)[2];
    CHECK(coupling.groups_of(3)[2] == group);
    REQUIRE(coupling.groups()[group].fixed.empty());
    const ps::prune::Pruned pruned = ps::prune::remove_channels(graph, weights, coupling, {group});
    CHECK(pruned.graph[3].shape == ps::Shape{7, 6, 7});
    const auto gain = weights.at("gate.gain").values, left = pruned.weights.at("gate.gain").values;
    REQUIRE(left.size() == 7);
    CHECK(left[1] == gain[1]);
    CHECK(left[2] == gain[3]);

    ps::Graph fixed;
    fixed.add("image", ps::InputParams{{3, 6, 7}}, {});
    fixed.add("conv", ps::ConvParams{.k = 8, .kernel = 3, .padding = 1, .bias = true}, {0});
    fixed.add("times", Times{}, {1});
    fixed.add("last", ps::ConvParams{.k = 4, .kernel = 1, .bias = true}, {2});
    const ps::prune::Coupling kept(fixed);
    CHECK(kept.groups()[kept.groups_of(1)[2]].fixed == "layer times (times) is the user's own and not channel_wise");
}

TEST_CASE("training refuses it by name") {
    const auto step = [](std::string_view trained) {
        return error_of(
            [&] { (void)ps::differentiate(network(), [=](std::string_view weight) { return weight == trained; }); });
    };
    CHECK(
        step("conv.weight") ==
        "train: layer gate (gate) stands between a trained weight and the result: a layer of your own has no gradient "
        "here");
    CHECK(step("gate.gain") == "train: no weight is trained");
    CHECK(step("last.weight").empty());
}

}  // namespace

}  // namespace kernels_own_layer_tests
