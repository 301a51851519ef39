// Every kind of layer, in a network of one: either its gradients, and those of the weights before it and in it, are the
// slopes of the loss computed in double precision, or it is refused by name. A kind without an example does not
// compile.
#include "layer_kinds.hpp"
#include "../worse.hpp"

#include "../layer/own_layers.hpp"
#include "../quick.hpp"

#include <doctest/doctest.h>
#include <primsel/train/training_step.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace layer_kinds {
namespace {

using Kinds = std::vector<Example>;
template <class Params>
using Of = std::type_identity<Params>;

constexpr ps::Extent three{3};
constexpr std::string_view steps_only = "nothing that leads to the result depends on weight a0";

Kinds examples(Of<ps::ConvParams>) {
    return {{ps::ConvParams{.k = 5, .kernel = three}},
            {ps::ConvParams{.k = 6, .kernel = three, .padding = 1, .groups = 2}},
            {ps::ConvParams{.k = 4, .kernel = three, .padding = 1, .groups = 4}},
            {ps::ConvParams{.k = 8, .kernel = three, .stride = 2, .padding = 1, .groups = 4, .bias = false}},
            {ps::ConvParams{.k = 3, .kernel = three, .stride = {2, 3}, .padding = {0, 1, 2, 0}}},
            {ps::ConvParams{.k = 3, .kernel = {2, 3}, .padding = 2, .dilation = {3, 2}}},
            {ps::ConvParams{.k = 20, .kernel = 1, .stride = 2}},
            {ps::ConvParams{.k = 17, .kernel = 5, .padding = 2}}};
}
Kinds examples(Of<ps::DenseParams>) { return {{ps::DenseParams{.k = 5}}, {ps::DenseParams{.k = 3, .bias = false}}}; }
Kinds examples(Of<ps::DenseRowsParams>) {
    return {{ps::DenseRowsParams{.k = 5}}, {ps::DenseRowsParams{.k = 3, .bias = false}}};
}
Kinds examples(Of<ps::PoolParams>) {
    Kinds result;
    for (const ps::PoolKind kind : {ps::PoolKind::max, ps::PoolKind::average}) {
        result.push_back({ps::PoolParams{.kind = kind}});
        result.push_back({ps::PoolParams{.kind = kind, .window = 3, .stride = 2, .padding = 1}});
        result.push_back({ps::PoolParams{.kind = kind, .window = 3, .stride = 2, .ceil_mode = true}});
        result.push_back({ps::PoolParams{.kind = kind, .window = {4, 3}, .stride = 1, .count_include_pad = false}});
    }
    return result;
}
Kinds examples(Of<ps::GlobalPoolParams>) {
    return {{ps::GlobalPoolParams{ps::PoolKind::max}}, {ps::GlobalPoolParams{ps::PoolKind::average}}};
}
Kinds examples(Of<ps::ActivationParams>) {
    Kinds result;
    for (int i = 0; i < ps::activation_kinds; ++i) {
        const auto kind = static_cast<ps::ActivationKind>(i);
        const bool steps = !ps::ActivationGradientParams::differentiable(kind);
        // Where the function is defined: a result around 0 with deviations of 1 or so, or near the middle.
        double around = 0;
        for (const ps::ActivationKind partly :
             {ps::ActivationKind::sqrt, ps::ActivationKind::log, ps::ActivationKind::power, ps::ActivationKind::asin,
              ps::ActivationKind::acos, ps::ActivationKind::atanh, ps::ActivationKind::tan}) {
            if (kind == partly) around = 0.5;
        }
        if (kind == ps::ActivationKind::acosh) around = 2;
        // Without jumps, which differences cannot see.
        const float alpha = kind == ps::ActivationKind::thresholded_relu ? 0.0F
                            : kind == ps::ActivationKind::shrink         ? 1.5F
                                                                         : 0.25F;
        result.push_back({ps::ActivationParams{kind, alpha, 1.5F}, 1, steps ? steps_only : "", around});
    }
    return result;
}
Kinds examples(Of<ps::LrnParams>) {
    return {{ps::LrnParams{}}, {ps::LrnParams{.size = 3, .alpha = 0.5F, .beta = 0.75F, .k = 2}}};
}
Kinds examples(Of<ps::BatchNormParams>) { return {{ps::BatchNormParams{}}, {ps::BatchNormParams{.epsilon = 0.1F}}}; }
Kinds examples(Of<ps::ScaleParams>) {
    return {{ps::ScaleParams{.known = true, .factor = -1.5F, .shift = 2}},
            {ps::ScaleParams{}},
            {ps::ScaleParams{.trains_weight = false}},
            {ps::ScaleParams{.trains_bias = false}}};
}
Kinds examples(Of<ps::SoftmaxParams>) {
    return {{ps::SoftmaxParams{}}, {ps::SoftmaxParams{ps::Axis::w}}, {ps::SoftmaxParams{ps::Axis::h}}};
}
Kinds examples(Of<ps::AddParams>) { return {{ps::AddParams{}, 2}, {ps::AddParams{}, 3}}; }
Kinds examples(Of<ps::ConcatParams>) {
    return {{ps::ConcatParams{}, 3}, {ps::ConcatParams{ps::Axis::h}, 2}, {ps::ConcatParams{ps::Axis::w}, 2}};
}
Kinds examples(Of<ps::BinaryParams>) {
    using enum ps::BinaryKind;
    Kinds result;
    for (int i = 0; i <= static_cast<int>(keep); ++i) {
        const auto kind = static_cast<ps::BinaryKind>(i);
        if (kind == keep) continue;  // it has a test of its own
        const bool compares = kind == equal || kind == greater || kind == greater_or_equal;
        // Far from a division by 0, and from numbers that have no powers.
        const double around = kind == divide || kind == power || kind == modulo || kind == remainder ? 2 : 0;
        // Quotients near 2.5, where no whole number is.
        const double second = kind == modulo || kind == remainder ? 0.8 : 0;
        result.push_back({ps::BinaryParams{kind}, 2, compares ? steps_only : "", around, {}, second});
        if (compares) continue;
        result.push_back({ps::BinaryParams{kind}, 2, "", around, {{4, 6, 5}, {4, 1, 1}}, second});
        result.push_back({ps::BinaryParams{kind}, 2, "", around, {{1, 1, 5}, {4, 6, 1}}, second});
    }
    return result;
}
Kinds examples(Of<ps::FlattenParams>) { return {{ps::FlattenParams{}}}; }
Kinds examples(Of<ps::ReshapeParams>) { return {{ps::ReshapeParams{{2, 10, 6}}}}; }
Kinds examples(Of<ps::DropoutParams>) { return {{ps::DropoutParams{0.0F}}, {ps::DropoutParams{0.375F}}}; }
Kinds examples(Of<ps::PadParams>) {
    return {{ps::PadParams{.padding = {1, 2, 3, 0}, .value = 0.5F}},
            {ps::PadParams{.padding = {0, 0, 0, 2}, .front = 1, .back = 2}},
            {ps::PadParams{.padding = 1, .mode = ps::PadMode::reflect}},
            {ps::PadParams{.padding = {5, 0, 2, 4}, .mode = ps::PadMode::reflect}},
            {ps::PadParams{.padding = 1, .mode = ps::PadMode::edge}},
            {ps::PadParams{.padding = {0, 7, 6, 3}, .mode = ps::PadMode::edge}}};
}
Kinds examples(Of<ps::ChannelShuffleParams>) { return {{ps::ChannelShuffleParams{2}}, {ps::ChannelShuffleParams{4}}}; }
Kinds examples(Of<ps::SliceParams>) {
    return {{ps::SliceParams{1, 3}}, {ps::SliceParams{2, 6, ps::Axis::h}}, {ps::SliceParams{0, 2, ps::Axis::w}}};
}

Kinds examples(Of<ps::OwnLayerParams>) { return {{own::Mirror{1}, 1, "a layer of your own has no gradient here"}}; }
Kinds examples(Of<ps::AsStridedParams>) {
    return {{ps::AsStridedParams{{30}, {4}, 0, {1, 6, 5}}},                     // some are left out
            {ps::AsStridedParams{{4, 30}, {0, 1}, 0, {4, 6, 5}}},               // some are repeated
            {ps::AsStridedParams{{2, 3, 4, 5}, {60, 0, 5, 0}, 3, {6, 4, 5}}},   // both
            {ps::AsStridedParams{{4, 5, 2, 5}, {30, 5, 5, 1}, 0, {4, 10, 5}}},  // pairs of rows, which overlap
            {ps::AsStridedParams{{120}, {-1}, 119, {4, 6, 5}}},
            {ps::AsStridedParams{{6, 5, 4}, {5, 1, 30}, 0, {6, 5, 4}}},
            {ps::AsStridedParams{{5, 1, 4, 6}, {1, 7, 30, 5}, 0, {5, 24, 1}}},
            {ps::AsStridedParams{{2, 2, 30}, {30, 60, 1}, 0, {4, 6, 5}}}};
}
Kinds examples(Of<ps::MatMulParams>) {
    return {{ps::MatMulParams{}, 2, "", 0, {{4, 3, 2}, {4, 2, 5}}},
            {ps::MatMulParams{}, 2, "", 0, {{1, 3, 2}, {4, 2, 5}}},
            {ps::MatMulParams{}, 2, "", 0, {{3, 2, 4}, {1, 4, 3}}},
            {ps::MatMulParams{}, 2, "", 0, {{1, 1, 6}, {1, 6, 1}}}};
}
Kinds examples(Of<ps::ReduceParams>) {
    Kinds result;
    for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
        result.push_back({ps::ReduceParams{ps::ReduceKind::mean, axis}});
        result.push_back({ps::ReduceParams{ps::ReduceKind::sum, axis}});
        result.push_back({ps::ReduceParams{ps::ReduceKind::max, axis}});
        result.push_back({ps::ReduceParams{ps::ReduceKind::arg_max, axis}, 1, steps_only});
    }
    return result;
}
Kinds examples(Of<ps::ResizeParams>) {
    using enum ps::ResizeCoordinates;
    using enum ps::ResizeRounding;
    Kinds result{{ps::ResizeParams{.size = {12, 10}}},
                 {ps::ResizeParams{.size = {18, 10}}},
                 {ps::ResizeParams{.size = {6, 20}, .rounding = round_prefer_ceil}},
                 {ps::ResizeParams{.size = {12, 15}, .coordinates = asymmetric, .rounding = floor}},
                 {ps::ResizeParams{.size = {12, 10}, .coordinates = asymmetric, .rounding = ceil}},
                 {ps::ResizeParams{.size = {9, 10}}},
                 {ps::ResizeParams{.size = {12, 10}, .mode = ps::ResizeMode::linear}},
                 {ps::ResizeParams{.size = {13, 7}, .mode = ps::ResizeMode::cubic}},
                 {ps::ResizeParams{.size = {5, 12}, .mode = ps::ResizeMode::cubic, .exclude_outside = true}}};
    for (const ps::ResizeCoordinates coordinates : {half_pixel, pytorch_half_pixel, align_corners, asymmetric}) {
        for (const ps::Extent size : {ps::Extent{11, 3}, ps::Extent{1, 140}}) {
            result.push_back(
                {ps::ResizeParams{.size = size, .mode = ps::ResizeMode::linear, .coordinates = coordinates}});
        }
    }
    return result;
}
Kinds examples(Of<ps::MaxPoolIndicesParams>) { return {{ps::MaxPoolIndicesParams{}, 1, steps_only}}; }
Kinds examples(Of<ps::ConvTransposeParams>) {
    return {{ps::ConvTransposeParams{.k = 3, .kernel = three}},
            {ps::ConvTransposeParams{.k = 2, .kernel = {2, 3}, .stride = {2, 3}, .padding = {0, 1, 1, 0}}},
            {ps::ConvTransposeParams{.k = 6, .kernel = three, .stride = 2, .extra_h = 1, .groups = 2, .bias = false}},
            {ps::ConvTransposeParams{.k = 4, .kernel = three, .dilation = 2, .groups = 4}},
            {ps::ConvTransposeParams{.k = 2, .kernel = 2, .stride = 2, .extra_w = 3}},
            {ps::ConvTransposeParams{
                .k = 3, .kernel = three, .stride = 2, .padding = {0, 1, 1, 3}, .extra_h = 4, .extra_w = 3}},
            {ps::ConvTransposeParams{.k = 2, .kernel = 1, .padding = {7, 0, 0, 0}, .extra_h = 2}, 1,
             "its kernel reaches no pixel of the result"}};
}
Kinds examples(Of<ps::TopKParams>) {
    return {{ps::TopKParams{2}},
            {ps::TopKParams{4, false}},
            {ps::TopKParams{1}, 1, "", 0, {{1, 3, 7}}},
            {ps::TopKParams{2, true, true}, 1, steps_only}};
}
Kinds examples(Of<ps::NonMaxSuppressionParams>) {
    return {{ps::NonMaxSuppressionParams{}, 2, steps_only, 0, {{1, 5, 4}, {1, 2, 5}}}};
}
Kinds examples(Of<ps::StandardizeParams>) {
    return {
        {ps::StandardizeParams{.along_c = true}},
        {ps::StandardizeParams{.along_h = true, .along_w = true, .epsilon = 0.1F}},
        {ps::StandardizeParams{.along_c = true, .along_h = true, .along_w = true, .groups = 2}},
        {ps::StandardizeParams{.along_w = true, .centres = false, .scales = true}, 2, "", 0, {{4, 6, 5}, {1, 1, 5}}},
        {ps::StandardizeParams{.along_c = true, .scales = true, .shifts = true},
         3,
         "",
         0,
         {{4, 6, 5}, {4, 1, 1}, {4, 1, 1}}}};
}
Kinds examples(Of<ps::RecurrentParams>) {
    Kinds result;
    for (const ps::RecurrentKind kind : {ps::RecurrentKind::lstm, ps::RecurrentKind::gru, ps::RecurrentKind::rnn}) {
        ps::RecurrentParams params{.kind = kind};
        const ps::Shape x{3, 2, 2 * params.gates()}, state{1, 2, 2}, peepholes{1, 1, 6};
        const bool is_lstm = kind == ps::RecurrentKind::lstm;
        result.push_back({params, 1, "", 0, {x}});
        params.resets_product = kind == ps::RecurrentKind::gru, params.has_peepholes = is_lstm;
        params.reverse = params.starts_h = params.gives_last = true, params.bias = false;
        if (is_lstm) {
            params.starts_cell = params.gives_cell = true;
            result.push_back({params, 4, "", 0, {x, state, state, peepholes}});
        } else {
            result.push_back({params, 2, "", 0, {x, state}});
        }
    }
    return result;
}
Kinds examples(Of<ps::GridSampleParams>) {
    Kinds result;
    for (const ps::ResizeMode mode : {ps::ResizeMode::linear, ps::ResizeMode::cubic}) {
        for (const ps::SamplePadding padding :
             {ps::SamplePadding::zeros, ps::SamplePadding::border, ps::SamplePadding::reflection}) {
            result.push_back(
                {ps::GridSampleParams{.mode = mode, .padding = padding}, 2, "", 0, {{2, 5, 4}, {3, 4, 2}}});
        }
    }
    result.push_back({ps::GridSampleParams{.depth = 2, .groups = 2}, 2, "", 0, {{2, 6, 4}, {4, 3, 3}}});
    return result;
}
Kinds examples(Of<ps::RoiAlignParams>) { return {}; }  // boxes are constants: it has a test of its own
Kinds examples(Of<ps::GatherParams>) { return {}; }    // and so are row numbers
Kinds examples(Of<ps::ScatterParams>) { return {}; }   // and those of channels
// Read nothing: no gradient passes them.
Kinds examples(Of<ps::InputParams>) { return {}; }
Kinds examples(Of<ps::ConstantParams>) { return {}; }

/// Examples of every kind that a network may have, one after the other.
template <class... Params>
Kinds all_examples(Of<std::variant<Params...>>) {
    Kinds result;
    const auto add = [&result]<class P>(Of<P> of) {
        if constexpr (!ps::trains<P>) {
            for (Example const& each : examples(of)) result.push_back(each);
        }
    };
    (add(Of<Params>{}), ...);
    return result;
}
/// The kinds that only a step has.
template <class... Params>
std::set<std::size_t> training_kinds(Of<std::variant<Params...>>) {
    std::set<std::size_t> result;
    const auto add = [&]<class P>(Of<P>) {
        if constexpr (ps::trains<P>) result.insert(ps::AnyLayer(P{}).index());
    };
    (add(Of<Params>{}), ...);
    return result;
}

struct Recipe : ps::DefaultTraining {};

void check_slopes(Example const& example, ps::Graph const& graph) {
    ps::Parameters parameters(graph, weights_of(graph, example));
    ps::TrainingStep<Recipe> step(ps::differentiate(graph), parameters, ps::Predict<>(), ps::Sequential{});
    step.seed(12345, 6789);
    // As after an update: what was prepared of the weights before is not theirs any more.
    for (ps::TrainedWeight const& weight : step.trained()) {
        for (float& value : weight.values) value *= 0.75F;
    }
    const std::vector<float> images = numbers(static_cast<std::size_t>(graph.batch()) * in_shape.size(), 1),
                             targets = numbers(step.result().size(), 2);
    const double loss = step.run(images, targets, Squares{});
    Exactly exactly(graph, parameters.copy(graph), images, targets);
    exactly.drop_as(step.result());
    CHECK(loss == doctest::Approx(exactly.loss()).epsilon(1e-5));
    for (ps::TrainedWeight const& weight : step.trained()) {
        CAPTURE(weight.name);
        std::vector<double>& values = exactly.values(weight.name);
        double scale = 0.1, worst = 0;  // what cancels is of such a size before it does
        (void)exactly.loss();
        const std::size_t first = exactly.first_with(weight.name);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double kept = values[i], h = 1e-6;
            values[i] = kept + h;
            const double above = exactly.loss(first);
            values[i] = kept - h;
            const double slope = (above - exactly.loss(first)) / (2 * h);
            values[i] = kept;
            scale = std::max(scale, std::abs(slope));
            const double error = std::abs(slope - static_cast<double>(weight.gradient[i]));
            worst = worse(worst, error);
        }
        CHECK(worst <= 1e-4 * scale);
    }
}

/// A layer of two inputs: a convolution, and a parameter of a shape.
ps::Graph with_parameter(ps::AnyLayer const& layer, ps::Shape shape, std::string const& name = "parameter") {
    ps::Graph graph(3);
    graph.add("image", ps::InputParams{in_shape}, {});
    graph.add("a0", ps::ConvParams{.k = 4, .kernel = 1}, {0});
    graph.add(name, ps::ConstantParams{.shape = shape, .parameter = true}, {});
    graph.add("tested", layer, {1, 2});
    graph.add("b", ps::ConvParams{.k = 3}, {3});
    return graph;
}

}  // namespace

TEST_CASE("every kind of layer has the gradients of its slopes, or is refused by name") {
    std::set<std::size_t> missing = training_kinds(Of<ps::AnyLayer>{});
    std::size_t number = 0;
    for (Example const& example : all_examples(Of<ps::AnyLayer>{})) {
        const ps::Graph graph = graph_of(example);
        CAPTURE(layer_kind(example.layer));
        ++number;
        CAPTURE(number);
        if (example.refused.empty()) {
            if (!quick() || number % 3 == 0) check_slopes(example, graph);
            const ps::Graph step = ps::differentiate(graph).graph;
            for (ps::Node const& node : step.nodes()) missing.erase(node.layer.index());
        } else {
            const std::string layer = ps::join("layer tested (", layer_kind(example.layer),
                                               ") stands between a trained weight and the result: ");
            const std::string needle = ps::join("train: ", example.refused == steps_only ? "" : layer, example.refused);
            CHECK_THROWS_WITH_AS((void)ps::differentiate(graph), doctest::Contains(needle.c_str()), ps::error);
        }
    }
    // And all that a step may have was in one of these.
    CHECK(missing.empty());
}

TEST_CASE("the page about training names the kinds of layers without a gradient") {
    std::set<std::string> refused, named;
    for (Example const& example : all_examples(Of<ps::AnyLayer>{})) {
        if (!example.refused.empty() && !std::holds_alternative<ps::OwnLayerParams>(example.layer)) {
            refused.emplace(layer_kind(example.layer));
        }
    }
    std::ifstream file("docs/train/trainer.md");
    std::string line;
    while (std::getline(file, line) && line != "| layer | reason |") {
    }
    while (std::getline(file, line) && line.starts_with("|")) {
        const std::string layers = line.substr(0, line.find('|', 1));
        for (std::size_t at = layers.find('`'); at != std::string::npos;) {
            const std::size_t end = layers.find('`', at + 1);
            named.insert(layers.substr(at + 1, end - at - 1));
            at = layers.find('`', end + 1);
        }
    }
    CHECK(named == refused);
}

TEST_CASE("what a layer keeps by a condition has its gradient, and the condition has none") {
    ps::Graph graph(3);
    graph.add("image", ps::InputParams{in_shape}, {});
    graph.add("a0", ps::ConvParams{.k = 4, .kernel = 1}, {0});
    graph.add("a1", ps::ConvParams{.k = 4, .kernel = 1}, {0});
    graph.add("larger", ps::BinaryParams{ps::BinaryKind::greater}, {1, 2});
    graph.add("tested", ps::BinaryParams{ps::BinaryKind::keep}, {3, 1});
    graph.add("sum", ps::AddParams{}, {4, 2});
    graph.add("b", ps::ConvParams{.k = 3}, {5});
    check_slopes({ps::BinaryParams{ps::BinaryKind::keep}, 2}, graph);
}

TEST_CASE("what is gathered has its gradient, summed over equal row numbers; row numbers have none") {
    for (const bool elements : {false, true}) {
        for (const bool from_end : {false, true}) {
            ps::Graph graph(3);
            graph.add("image", ps::InputParams{in_shape}, {});
            graph.add("a0", ps::ConvParams{.k = 4, .kernel = 1}, {0});
            graph.add("rows", ps::ConstantParams{.shape = elements ? ps::Shape{4, 7, 5} : ps::Shape{1, 1, 9}}, {});
            // Numbers from -8 to 8: some are equal, some are out of range.
            graph.add("numbers", ps::ScaleParams{.known = true, .factor = 5}, {2});
            graph.add("tested", ps::GatherParams{from_end, elements}, {1, 3});
            graph.add("b", ps::ConvParams{.k = 3}, {4});
            check_slopes({ps::GatherParams{}}, graph);
        }
    }
}

TEST_CASE("what is scattered has its gradient, and so has what it meets; channel numbers have none") {
    for (const ps::ScatterKind kind : {ps::ScatterKind::replace, ps::ScatterKind::add, ps::ScatterKind::multiply,
                                       ps::ScatterKind::maximum, ps::ScatterKind::minimum}) {
        ps::Graph graph(3);
        graph.add("image", ps::InputParams{in_shape}, {});
        graph.add("a0", ps::ConvParams{.k = 4, .kernel = 1}, {0});
        graph.add("a1", ps::ConvParams{.k = 9, .kernel = 1}, {0});
        graph.add("channels", ps::ConstantParams{.shape = {1, 1, 9}}, {});
        graph.add("numbers", ps::ScaleParams{.known = true, .factor = 3, .shift = 1.5F}, {3});
        graph.add("tested", ps::ScatterParams{kind}, {1, 4, 2});
        graph.add("b", ps::ConvParams{.k = 3}, {5});
        check_slopes({ps::ScatterParams{}}, graph);
    }
}

TEST_CASE("recurrent layers that stop at lengths have their gradients in both directions; lengths have none") {
    for (const ps::RecurrentKind kind : {ps::RecurrentKind::lstm, ps::RecurrentKind::gru, ps::RecurrentKind::rnn}) {
        for (const bool reverse : {false, true}) {
            if (quick() && !reverse) continue;
            const bool is_lstm = kind == ps::RecurrentKind::lstm;
            ps::RecurrentParams params{.kind = kind};
            params.reverse = reverse, params.has_lengths = params.starts_h = params.gives_last = true;
            params.starts_cell = params.gives_cell = params.has_peepholes = is_lstm;
            CAPTURE(params.name());
            CAPTURE(reverse);
            const int hidden = in_shape.w / params.gates(), steps = 3, sequences = in_shape.h;
            ps::Graph graph(3);
            graph.add("image", ps::InputParams{in_shape}, {});
            const auto add = [&](std::string const& name, int channels, int columns) {
                const std::size_t conv = graph.add(name, ps::ConvParams{.k = channels, .kernel = 1}, {0});
                return graph.add(name + "/columns", ps::SliceParams{0, columns, ps::Axis::w}, {conv});
            };
            std::vector<std::size_t> inputs{add("a0", steps, hidden * params.gates()), add("a1", 1, hidden)};
            if (is_lstm) inputs.push_back(add("a2", 1, hidden));
            const std::size_t numbers = graph.add("numbers", ps::ConstantParams{.shape = {sequences, 1, 1}}, {});
            // From -1 to 4: some sequences have no steps, some all.
            inputs.push_back(
                graph.add("lengths", ps::ScaleParams{.known = true, .factor = 2.5F, .shift = 1.5F}, {numbers}));
            if (is_lstm) {
                const ps::Shape peepholes{1, 1, 3 * hidden};
                inputs.push_back(graph.add("peepholes", ps::ConstantParams{.shape = peepholes, .parameter = true}, {}));
            }
            const std::size_t tested = graph.add("tested", params, inputs);
            graph.add("b", ps::ConvParams{.k = 3}, {tested});
            const ps::Weights weights = weights_of(graph, {params});
            const ps::WeightTensor* drawn = weights.find(ps::network::weight_name("numbers", "value"));
            REQUIRE(drawn != nullptr);
            std::set<int> lengths;
            for (const float value : drawn->values) {
                lengths.insert(std::clamp(static_cast<int>(2.5F * value + 1.5F), 0, steps));
            }
            CHECK(lengths.size() > 2);
            check_slopes({params}, graph);
        }
    }
}

TEST_CASE("images of which boxes are pooled have their gradient; boxes have none") {
    for (const ps::PoolKind kind : {ps::PoolKind::average, ps::PoolKind::max}) {
        for (const int samples : {0, 2}) {
            ps::Graph graph(3);
            graph.add("image", ps::InputParams{in_shape}, {});
            graph.add("a0", ps::ConvParams{.k = 4, .kernel = 1}, {0});
            graph.add("corners", ps::ConstantParams{.shape = {1, 5, 4}}, {});
            graph.add("boxes", ps::ScaleParams{.known = true, .factor = 3, .shift = 2}, {2});
            graph.add("images", ps::ConstantParams{.shape = {5, 1, 1}}, {});
            graph.add("tested",
                      ps::RoiAlignParams{
                          .size = {2, 3}, .kind = kind, .images = 2, .samples = samples, .half_pixel = samples == 0},
                      {1, 3, 4});
            graph.add("b", ps::ConvParams{.k = 3}, {5});
            check_slopes({ps::RoiAlignParams{}}, graph);
        }
    }
}

TEST_CASE("parameters that meet all images have the gradients of their slopes") {
    using enum ps::BinaryKind;
    for (const ps::Shape shape : {ps::Shape{4, 6, 5}, ps::Shape{4, 1, 1}, ps::Shape{1, 1, 1}, ps::Shape{1, 6, 1}}) {
        CAPTURE(shape);
        for (const ps::BinaryKind kind : {add, multiply, prelu}) {
            check_slopes({ps::BinaryParams{kind}}, with_parameter(ps::BinaryParams{kind}, shape));
        }
    }
    check_slopes({ps::MatMulParams{}}, with_parameter(ps::MatMulParams{}, {1, 5, 3}, "tested.weight"));
    check_slopes({ps::MatMulParams{}}, with_parameter(ps::MatMulParams{}, {4, 5, 3}));
}

}  // namespace layer_kinds
