// Networks written in 8 bits: the integers in the file, and what is read from it.
#include "exported.hpp"
#include "imported.hpp"

#include <primsel/gemm/int8_weights.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace export_quantised_tests {

namespace ps = primsel;
using ps::TensorRange;

/// A range for each tensor, of its own sign where it is known, and of its input where it has that's values.
ps::Graph with_some_ranges(ps::Graph graph, unsigned seed) {
    std::mt19937 bits(seed);
    std::uniform_real_distribution<float> some(0.5F, 4.0F);
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const auto* activation = std::get_if<ps::ActivationParams>(&graph[i].layer);
        const bool is_positive = activation != nullptr && activation->kind != ps::ActivationKind::hard_swish;
        const TensorRange own = ps::range_of(is_positive ? 0.0F : -some(bits), some(bits));
        graph.set_range(i, ps::keeps_range(graph[i].layer) ? graph[graph[i].inputs[0]].range : own);
    }
    return graph;
}
ps::Graph network(int batch) {
    using enum ps::ActivationKind;
    ps::Graph graph(batch);
    const auto add = [&](const char* name, ps::AnyLayer layer, std::vector<std::size_t> inputs) {
        return graph.add(name, std::move(layer), std::move(inputs));
    };
    const auto conv = [](int k, int size, int groups = 1, bool bias = true) {
        const int pad = size / 2;
        return ps::ConvParams{
            .k = k, .kernel = {size}, .padding = {pad, pad, pad, pad}, .groups = groups, .bias = bias};
    };
    const std::size_t x = add("x", ps::InputParams{{3, 9, 8}}, {});
    const std::size_t a = add("a_relu", ps::ActivationParams{relu},
                              {add("a_norm", ps::BatchNormParams{}, {add("a", conv(6, 3, 1, false), {x})})});
    const std::size_t b = add("b_relu6", ps::ActivationParams{relu6}, {add("b", conv(6, 3, 6), {a})});
    const std::size_t c = add("c_norm", ps::BatchNormParams{}, {add("c", conv(6, 1, 1, false), {b})});
    const std::size_t sum = add("sum_relu", ps::ActivationParams{relu}, {add("sum", ps::AddParams{}, {c, a})});
    const std::size_t pool = add("pool", ps::PoolParams{.window = {3}, .padding = {1, 1, 1, 1}}, {sum});
    const std::size_t e = add("e_swish", ps::ActivationParams{hard_swish}, {add("e", conv(5, 3), {pool})});
    const std::size_t both = add("both", ps::ConcatParams{}, {pool, e});
    const std::size_t mean = add("mean", ps::GlobalPoolParams{ps::PoolKind::average}, {both});
    const std::size_t gate = add("gate", ps::ActivationParams{sigmoid}, {add("f", conv(11, 1), {mean})});
    const std::size_t gated = add("gated", ps::BinaryParams{ps::BinaryKind::multiply}, {both, gate});
    const std::size_t up = add("up", ps::ConvTransposeParams{.k = 4, .kernel = {2}, .stride = {2}}, {gated});
    const std::size_t small = add("small", ps::PoolParams{.kind = ps::PoolKind::average}, {up});
    const std::size_t hidden =
        add("hidden_relu", ps::ActivationParams{relu}, {add("hidden", ps::DenseParams{.k = 7}, {small})});
    const std::size_t scores = add("scores", ps::DenseParams{.k = 10, .bias = false}, {hidden});
    const std::size_t rows = add("rows", ps::DenseRowsParams{.k = 6, .bias = false}, {up});
    graph.set_outputs({scores, up, rows});
    return graph;
}

struct Both {
    ps::Graph written;
    ps::OnnxModel model;
    ps::Graph read;
};
Both again(ps::Graph const& graph, ps::Weights const& weights, ps::OnnxExportOptions options = {}) {
    options.quantised = true;
    ps::OnnxModel model = imported::parse(ps::to_onnx(graph, weights, options), {.batch = graph.batch()});
    ps::Graph read = ps::simplify(model.graph);
    return {ps::simplify(graph), std::move(model), std::move(read)};
}
/// The number of outputs of a layer that multiplies integers, and 0 for others.
int outputs_of(ps::Node const& node) {
    if (std::holds_alternative<ps::DenseRowsParams>(node.layer)) return node.shape.w;
    const bool multiplies = std::holds_alternative<ps::DenseParams>(node.layer) ||
                            std::holds_alternative<ps::ConvParams>(node.layer) ||
                            std::holds_alternative<ps::ConvTransposeParams>(node.layer);
    return multiplies ? node.shape.c : 0;
}
std::vector<float> weights_of_output(ps::Node const& node, std::span<const float> kernel, std::size_t output) {
    const auto outputs = static_cast<std::size_t>(outputs_of(node));
    std::size_t inner = kernel.size() / outputs;  // a row for each output
    if (std::holds_alternative<ps::DenseRowsParams>(node.layer)) inner = 1;
    const auto* up = std::get_if<ps::ConvTransposeParams>(&node.layer);
    if (up != nullptr) inner = static_cast<std::size_t>(up->kernel.h) * static_cast<std::size_t>(up->kernel.w);
    std::vector<float> result;
    for (std::size_t i = 0; i < kernel.size(); ++i) {
        if (i / inner % outputs == output) result.push_back(kernel[i]);
    }
    return result;
}
/// Whether the tensor is a result alone: it stays floats, and so has no range.
bool is_read(ps::Graph const& graph, std::size_t i) {
    return std::ranges::any_of(
        graph.nodes(), [i](ps::Node const& node) { return std::ranges::find(node.inputs, i) != node.inputs.end(); });
}

TEST_CASE(
    "a network in 8 bits is read as the same layers between the same ranges, and weights as those of its kernels") {
    for (const int batch : {1, 2}) {
        CAPTURE(batch);
        const ps::Graph graph = with_some_ranges(network(batch), 3);
        const ps::Weights weights = ps::random_weights(graph, 7);
        auto const& [written, model, read] = again(graph, weights);
        REQUIRE(read.size() == written.size());
        CHECK(read.batch() == batch);
        CHECK(read.outputs() == written.outputs());
        std::size_t in_integers = 0;
        for (std::size_t i = 0; i < written.size(); ++i) {
            ps::Node const &from = written[i], &to = read[i];
            CAPTURE(from.name);
            CHECK(to.inputs == from.inputs);
            CHECK(to.shape == from.shape);
            CHECK(ps::layer_kind(to.layer) == ps::layer_kind(from.layer));
            CHECK(to.epilogue.clamp == from.epilogue.clamp);
            CHECK(to.epilogue.residual == from.epilogue.residual);
            CHECK(to.range == (is_read(written, i) ? from.range : TensorRange{}));
            const auto k = static_cast<std::size_t>(outputs_of(from));
            if (k == 0) continue;
            ++in_integers;
            const ps::PreparedWeights exact = ps::prepare_weights(from, weights),
                                      rounded = ps::prepare_weights(to, model.weights);
            REQUIRE(rounded.kernel.size() == exact.kernel.size());
            REQUIRE(rounded.bias.size() == exact.bias.size());
            const float of_input = written[from.inputs[0]].range.scale;
            for (std::size_t at = 0; at < k; ++at) {
                const std::vector<float> exact_row = weights_of_output(from, exact.kernel, at),
                                         rounded_row = weights_of_output(to, rounded.kernel, at);
                ps::gemm::Int8Weights right(exact_row.data(), exact_row.size()),
                    here(rounded_row.data(), rounded_row.size());
                bool same = true;
                for (std::size_t j = 0; j < exact_row.size(); ++j) {
                    same = same && right.rounded(exact_row[j]) == here.rounded(rounded_row[j]);
                }
                CHECK(same);
                CHECK(here.scale() == doctest::Approx(right.scale()).epsilon(1e-6));
                CHECK(!std::ranges::equal(exact_row, rounded_row));
                if (exact.bias.empty()) continue;
                const float step = of_input * right.scale();
                CHECK(std::abs(rounded.bias[at] - exact.bias[at]) <= 0.5F * step + 1e-6F * std::abs(exact.bias[at]));
            }
        }
        CHECK(in_integers == 9);
    }
}

TEST_CASE("the file has integers: bytes by each tensor's range, weights and biases by scales of the outputs") {
    ps::Graph graph;
    graph.add("x", ps::InputParams{{2, 4, 5}}, {});
    graph.add("conv", ps::ConvParams{.k = 3, .kernel = {3, 2}, .groups = 1}, {0});
    graph.add("relu", ps::ActivationParams{ps::ActivationKind::relu}, {1});
    graph.add("fc", ps::DenseParams{.k = 4}, {2});
    graph.set_range(0, {.scale = 0.5F, .zero_point = 100});
    graph.set_range(2, {.scale = 0.25F, .zero_point = 0});
    const ps::Weights weights = ps::random_weights(graph, 2);
    const exports::ExportedModel file =
        exports::read(ps::to_onnx(graph, weights, {.open_batch = false, .quantised = true}));
    const exports::Strings right{
        "x/QuantizeLinear = QuantizeLinear(x, x_scale, x_zero_point)",
        "x/DequantizeLinear = DequantizeLinear(x/QuantizeLinear, x_scale, x_zero_point)",
        "conv/DequantizeLinear = DequantizeLinear(conv.weight, conv.weight_scale, conv.weight_zero_point) {axis=0}",
        "conv/DequantizeLinear_ = DequantizeLinear(conv.bias, conv.bias_scale, conv.bias_zero_point) {axis=0}",
        "conv/Conv = Conv(x/DequantizeLinear, conv/DequantizeLinear, conv/DequantizeLinear_) "
        "{kernel_shape=3 2, strides=1 1, pads=0 0 0 0, dilations=1 1, group=1}",
        "conv = Relu(conv/Conv)",
        "conv/QuantizeLinear = QuantizeLinear(conv, conv_scale, conv_zero_point)",
        "conv/DequantizeLinear__ = DequantizeLinear(conv/QuantizeLinear, conv_scale, conv_zero_point)",
        "fc/Flatten = Flatten(conv/DequantizeLinear__) {axis=1}",
        "fc/QuantizeLinear = QuantizeLinear(fc/Flatten, fc/Flatten_scale, fc/Flatten_zero_point)",
        "fc/DequantizeLinear = DequantizeLinear(fc/QuantizeLinear, fc/Flatten_scale, fc/Flatten_zero_point)",
        "fc/DequantizeLinear_ = DequantizeLinear(fc.weight, fc.weight_scale, fc.weight_zero_point) {axis=0}",
        "fc/DequantizeLinear__ = DequantizeLinear(fc.bias, fc.bias_scale, fc.bias_zero_point) {axis=0}",
        "fc = Gemm(fc/DequantizeLinear, fc/DequantizeLinear_, fc/DequantizeLinear__) {transB=1}"};
    REQUIRE(file.nodes.size() == right.size());
    for (std::size_t i = 0; i < right.size(); ++i) CHECK(file.nodes[i] == right[i]);
    const auto tensor = [&](const char* name) { return file.initializers.at(name); };
    CHECK(tensor("x_scale").floats() == std::vector<float>{0.5F});
    CHECK(tensor("x_zero_point").ints<std::uint8_t>() == exports::Ints{100});
    CHECK(tensor("conv_scale").floats() == std::vector<float>{0.25F});
    for (const char* layer : {"conv", "fc"}) {
        CAPTURE(layer);
        const std::string name = layer;
        const float of_input = name == "conv" ? 0.5F : 0.25F;
        const auto part = [&](const char* suffix) { return tensor((name + suffix).c_str()); };
        const auto kernel = weights.at(name + ".weight").values, bias = weights.at(name + ".bias").values;
        const exports::Ints integers = part(".weight").ints<std::int8_t>(), steps = part(".bias").ints<std::int32_t>();
        const std::vector<float> scales = part(".weight_scale").floats(), bias_scales = part(".bias_scale").floats();
        CHECK(part(".weight").type == 3);
        CHECK(part(".weight").dims == weights.at(name + ".weight").dims);
        CHECK(part(".bias").type == 6);
        CHECK(part(".weight_zero_point").ints<std::int8_t>() == exports::Ints(scales.size(), 0));
        CHECK(part(".bias_zero_point").ints<std::int32_t>() == exports::Ints(scales.size(), 0));
        REQUIRE(integers.size() == kernel.size());
        const std::size_t depth = kernel.size() / scales.size();
        for (std::size_t i = 0; i < scales.size(); ++i) {
            double largest = 0;
            for (std::size_t j = i * depth; j < (i + 1) * depth; ++j) {
                largest = std::max(largest, std::abs(static_cast<double>(kernel[j])));
            }
            CHECK(static_cast<double>(scales[i]) == doctest::Approx(largest / 127).epsilon(1e-6));
            CHECK(bias_scales[i] == of_input * scales[i]);
            const double bias_steps = static_cast<double>(bias[i]) / static_cast<double>(bias_scales[i]);
            CHECK(static_cast<double>(steps[i]) == std::nearbyint(bias_steps));
            for (std::size_t j = i * depth; j < (i + 1) * depth; ++j) {
                CHECK(static_cast<double>(integers[j]) ==
                      std::nearbyint(static_cast<double>(kernel[j]) * 127 / largest));
            }
        }
    }
}

TEST_CASE("outputs of large biases or of no weights keep their bias, and sums of products have room beside it") {
    ps::Graph graph;
    graph.add("x", ps::InputParams{{2, 1, 1}}, {});
    graph.add("conv", ps::ConvParams{.k = 4}, {0});
    graph.set_range(0, {.scale = 1e-4F, .zero_point = 0});
    ps::Weights weights;
    weights.add("conv.weight", {4, 2, 1, 1}, std::vector<float>{1e-6F, -1e-6F, 0, 0, 0, 0, 0.5F, 1});
    weights.add("conv.bias", {4}, std::vector<float>{-3, 700, 0, 1});
    const exports::ExportedModel file = exports::read(ps::to_onnx(graph, weights, {.quantised = true}));
    const exports::Ints steps = file.initializers.at("conv.bias").ints<std::int32_t>();
    for (const std::int64_t step : steps)
        CHECK(std::abs(step) + 255 * 127 * 2 <= std::numeric_limits<std::int32_t>::max());
    const Both both = again(graph, weights);
    const std::vector<double> result = imported::run(both.model, {0.01F, 0.02F});
    REQUIRE(result.size() == 4);
    CHECK(result[0] == doctest::Approx(-3).epsilon(1e-6));
    CHECK(result[1] == doctest::Approx(700).epsilon(1e-6));
    CHECK(result[2] == 0);
    CHECK(result[3] == doctest::Approx(1.025).epsilon(1e-3));
}

TEST_CASE("layers that are to stay floats do, and so do tensors that only they meet") {
    const ps::Graph graph = with_some_ranges(network(1), 5);
    const ps::Weights weights = ps::random_weights(graph, 1);
    auto const& [written, model, read] = again(graph, weights, {.float_layers = {"a", "b", "c", "hidden"}});
    REQUIRE(read.size() == written.size());
    for (std::size_t i = 0; i < written.size(); ++i) {
        std::string const& name = written[i].name;
        CAPTURE(name);
        const bool is_float = name == "a" || name == "b" || name == "c" || name == "hidden";
        if (is_float || name == "e") {
            const ps::PreparedWeights exact = ps::prepare_weights(written[i], weights),
                                      here = ps::prepare_weights(read[i], model.weights);
            CHECK(is_float == std::ranges::equal(here.kernel, exact.kernel));
        }
        // a is read by b and c, b by c; all are floats. What c and hidden give is read as bytes.
        if (name == "x" || name == "a" || name == "b") CHECK(!read[i].range.known());
        if (name == "c" || name == "hidden" || name == "e") CHECK(read[i].range == written[i].range);
    }
}

TEST_CASE("bounds count as bounds where another program may have dropped the layer that they follow") {
    ps::Graph graph;
    graph.add("x", ps::InputParams{{2, 3, 3}}, {});
    graph.add("one", ps::ConvParams{.k = 2}, {0});
    graph.add("two", ps::ConvParams{.k = 2}, {1});
    graph.set_range(0, ps::range_of(-1, 1));
    graph.set_range(1, ps::range_of(-2, 3));
    std::string bytes = ps::to_onnx(graph, ps::random_weights(graph), {.quantised = true});
    const auto clamp = [&] { return ps::simplify(imported::parse(bytes).graph)[1].epilogue.clamp; };
    CHECK(clamp() == ps::Clamp{});
    const std::size_t at = bytes.find("the range of one,");
    REQUIRE(at != std::string::npos);
    bytes.replace(at, 17, "the range of eno,");
    const TensorRange range = graph[1].range;
    CHECK(clamp().low == range.scale * static_cast<float>(-range.zero_point));
    CHECK(clamp().high == range.scale * static_cast<float>(255 - range.zero_point));
}

TEST_CASE("weights that layers share are written once") {
    ps::Graph graph;
    graph.add("x", ps::InputParams{{3, 6, 6}}, {});
    const ps::ConvParams conv{.k = 3, .kernel = {3}, .padding = {1, 1, 1, 1}};
    graph.add("a", conv, {0});
    graph.add("b", conv, {1});
    graph.set_shared({{"a.weight", {"kernel"}}, {"b.weight", {"kernel"}}});
    graph.set_range(0, ps::range_of(-1, 1));
    graph.set_range(1, ps::range_of(-1, 1));
    const ps::Weights weights = ps::random_weights(graph);
    const exports::ExportedModel file = exports::read(ps::to_onnx(graph, weights, {.quantised = true}));
    CHECK(std::ranges::count_if(file.initializers, [](auto const& each) { return each.second.type == 3; }) == 2);
    const Both both = again(graph, weights);
    CHECK(both.read.shared().contains("b.weight"));
}

TEST_CASE("transposed convolutions in groups have float weights, and weights that are not finite are refused") {
    ps::Graph graph;
    graph.add("x", ps::InputParams{{4, 3, 3}}, {});
    graph.add("up", ps::ConvTransposeParams{.k = 6, .kernel = {2}, .stride = {2}, .groups = 2}, {0});
    graph.add("rows", ps::DenseRowsParams{.k = 5}, {1});
    graph.set_range(0, ps::range_of(-1, 1));
    graph.set_range(1, ps::range_of(-1, 1));
    ps::Weights weights = ps::random_weights(graph);
    const Both both = again(graph, weights);
    const auto is_exact = [&](std::size_t i) {
        const ps::PreparedWeights exact = ps::prepare_weights(both.written[i], weights),
                                  here = ps::prepare_weights(both.read[i], both.model.weights);
        return std::ranges::equal(here.kernel, exact.kernel);
    };
    CHECK(is_exact(1));
    CHECK(!is_exact(2));

    std::vector<float> values(30, 0.5F);
    values[7] = std::numeric_limits<float>::quiet_NaN();
    ps::Weights broken;
    for (auto const& [name, tensor] : weights) {
        if (name != "rows.weight") broken.add(name, tensor);
    }
    broken.add("rows.weight", {6, 5}, std::move(values));
    CHECK_THROWS_WITH_AS((void)ps::to_onnx(graph, broken, {.quantised = true}),
                         "ONNX export: layer rows (dense_rows): its weights are too large for 8 bits", ps::error);
}

TEST_CASE("a network without ranges cannot be written in 8 bits") {
    ps::Graph graph;
    graph.add("x", ps::InputParams{{2, 3, 3}}, {});
    graph.add("one", ps::ConvParams{.k = 2}, {0});
    CHECK_THROWS_WITH_AS((void)ps::to_onnx(graph, ps::random_weights(graph), {.quantised = true}),
                         "ONNX export: quantised without the range of any tensor", ps::error);
}

}  // namespace export_quantised_tests
