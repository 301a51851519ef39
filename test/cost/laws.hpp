// The laws of cost models, and the questions to ask them: every primitive, every change of layout, every kind of layer.
#pragma once

#include "../fixed_machines.hpp"
#include "../layer/own_layers.hpp"

#include <doctest/doctest.h>
#include <primsel/cost/cost_model.hpp>
#include <primsel/kernels/extern_kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

namespace laws {

namespace ps = primsel;

inline const ps::Kernels all_kernels =
    fixed::on_fixed_machine(ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>());

/// A convolution that keeps the size of the image.
constexpr ps::ConvShape conv(int im, int c, int k, int f, int stride = 1) {
    return {.c = c,
            .k = k,
            .h = im,
            .w = im,
            .fh = f,
            .fw = f,
            .stride_h = stride,
            .stride_w = stride,
            .pad_top = (f - 1) / 2,
            .pad_bottom = (f - 1) / 2,
            .pad_left = (f - 1) / 2,
            .pad_right = (f - 1) / 2};
}

/// A layer of each kind, on inputs of this shape; its channels must be even, and its images square.
struct Layer {
    ps::AnyLayer params;
    std::vector<ps::Shape> inputs;
    ps::Shape output;
};
inline std::vector<Layer> layers(ps::Shape shape) {
    std::vector<Layer> result;
    const auto add_on = [&](ps::AnyLayer params, std::vector<ps::Shape> inputs) {
        Layer layer{std::move(params), std::move(inputs), {}};
        std::visit(
            [&](auto const& p) {
                const bool conv = std::holds_alternative<ps::ConvParams>(layer.params);
                const std::span own = std::span(layer.inputs).first(conv ? 1 : layer.inputs.size());
                REQUIRE(p.check(own) == ps::Fault::none);
                layer.output = p.output(own);
            },
            layer.params);
        result.push_back(std::move(layer));
    };
    const auto add = [&](ps::AnyLayer params, std::size_t inputs = 1) {
        add_on(std::move(params), std::vector<ps::Shape>(inputs, shape));
    };
    add(ps::InputParams{shape}, 0);
    add(ps::ConvParams{.k = 6, .kernel = 3, .padding = 1});
    add(ps::ConvParams{.k = shape.c, .kernel = 3, .padding = 1}, 2);  // and a residual
    add(ps::PoolParams{.window = 2, .stride = 1});
    add(ps::PoolParams{.kind = ps::PoolKind::average, .window = 3, .stride = 2, .padding = 1});
    add(ps::GlobalPoolParams{});
    for (int kind = 0; kind < ps::activation_kinds; ++kind) {
        add(ps::ActivationParams{static_cast<ps::ActivationKind>(kind), 0.1F, 0.5F});
    }
    add(ps::LrnParams{});
    add(ps::BatchNormParams{});
    add(ps::ScaleParams{});
    add(ps::DenseParams{10});
    add(ps::DenseRowsParams{10});
    add(ps::SoftmaxParams{});
    add(ps::StandardizeParams{.along_c = true});
    add(ps::AddParams{}, 2);
    add(ps::AddParams{}, 3);
    add(ps::ConcatParams{}, 2);
    add(ps::FlattenParams{});
    add(ps::DropoutParams{});
    add(ps::PadParams{1});
    add(ps::ChannelShuffleParams{2});
    add(ps::SliceParams{0, 1});
    add(ps::ConstantParams{shape}, 0);
    const int size = static_cast<int>(shape.size());
    add(ps::ReshapeParams{{.c = size}});
    add(ps::AsStridedParams{.dims = {size}, .strides = {-1}, .offset = size - 1, .shape = shape});
    add(ps::BinaryParams{ps::BinaryKind::multiply}, 2);
    add(ps::MatMulParams{}, 2);
    add(ps::BinaryParams{ps::BinaryKind::power}, 2);
    add(ps::ReduceParams{});
    add(ps::ReduceParams{ps::ReduceKind::arg_max});
    add(ps::TopKParams{2});
    add_on(ps::RecurrentParams{.kind = ps::RecurrentKind::rnn}, {shape});
    add_on(ps::NonMaxSuppressionParams{2}, {{shape.c, shape.h, 4}, {shape.c, shape.w, shape.h}});
    add(ps::GatherParams{}, 2);
    add_on(ps::GridSampleParams{}, {shape, {shape.h, shape.w, 2}});
    add_on(ps::RoiAlignParams{.size = 2}, {shape, {1, 5, 4}, {1, 1, 5}});
    add_on(ps::ScatterParams{}, {shape, {2, 1, 1}, {2, shape.h, shape.w}});
    add(ps::ResizeParams{.size = {2 * shape.h, 2 * shape.w}});
    add(ps::MaxPoolIndicesParams{});
    add(ps::ConvTransposeParams{.k = 4, .kernel = 3, .stride = 2});
    // Layers of a training step.
    const ps::Shape channels{shape.c, 1, 1}, twice{2 * shape.c, 1, 1}, half{shape.c, shape.h / 2, shape.w / 2};
    add(ps::ParameterParams{shape}, 0);
    add_on(ps::PoolGradientParams{{}, shape}, {shape, half, half});
    add_on(ps::PoolGradientParams{{.kind = ps::PoolKind::average}, shape}, {half});
    add_on(ps::GlobalPoolGradientParams{ps::PoolKind::average, shape}, {channels});
    add(ps::ActivationGradientParams{}, 2);
    add(ps::LrnGradientParams{}, 3);
    add(ps::BatchStatisticsParams{});
    add_on(ps::NormalizeParams{}, {shape, twice, channels, channels});
    add_on(ps::NormalizeSumsParams{}, {shape, twice, channels, channels, shape});
    add_on(ps::NormalizeGradientParams{}, {shape, twice, channels, channels, shape, twice});
    add(ps::ChannelSumParams{});
    add(ps::SoftmaxGradientParams{}, 2);
    add_on(ps::RandomDropoutParams{}, {shape, {2, 1, 1}});
    add_on(ps::RepeatParams{}, {channels});
    add(ps::AsStridedGradientParams{{.dims = {size}, .strides = {-1}, .offset = size - 1, .shape = shape}, shape});
    add(ps::ResizeGradientParams{{.size = {shape.h, shape.w}}, half});
    add_on(ps::PlacedGradientParams{{}, shape}, {{shape.w, 1, 1}, {shape.c, shape.w, shape.w}});
    const int square = shape.w * shape.w;
    add_on(ps::RecurrentGradientParams{{.kind = ps::RecurrentKind::rnn, .reads_weights = true}},
           {shape, {square, 1, 1}, {shape.w, 1, 1}, shape});
    add(own::Mirror{1});
    std::set<std::size_t> kinds;
    for (Layer const& layer : result) kinds.insert(layer.params.index());
    // All but the gradients of convolutions, which primitives compute.
    REQUIRE(kinds.size() == std::variant_size_v<ps::AnyLayer> - 2);
    return result;
}

inline std::vector<ps::ConvQuery> convs(ps::Kernels const& kernels, std::vector<ps::ConvShape> const& shapes,
                                        int batch = 1) {
    std::vector<ps::ConvQuery> queries;
    for (ps::ConvShape const& shape : shapes) {
        for (std::size_t p = 0; p < kernels.primitives.size(); ++p) {
            if (kernels.primitives[p].supports(shape)) queries.push_back({shape, p, {.batch = batch}});
        }
    }
    return queries;
}
inline std::vector<ps::TransformQuery> transforms(ps::Kernels const& kernels, ps::Shape shape, int batch) {
    std::vector<ps::TransformQuery> queries;
    for (std::size_t from = 0; from < kernels.layouts.size(); ++from) {
        for (std::size_t to = 0; to < kernels.layouts.size(); ++to) {
            if (from != to) queries.push_back({shape, from, to, {.batch = batch}});
        }
    }
    return queries;
}
/// The layers must outlive the questions.
inline std::vector<ps::OpQuery> ops(ps::Kernels const& kernels, std::vector<Layer> const& layers, int batch) {
    std::vector<ps::OpQuery> queries;
    for (Layer const& layer : layers) {
        for (std::size_t layout = 0; layout < kernels.layouts.size(); ++layout) {
            queries.push_back({&layer.params, layer.inputs, layer.output, layout, {.batch = batch}});
        }
    }
    return queries;
}

template <class Model, class Query>
std::vector<double> predict(Model& model, ps::Kernels const& kernels, std::vector<Query> const& queries) {
    std::vector<double> seconds(queries.size(), std::nan(""));
    model.predict(kernels, std::span<const Query>(queries), std::span<double>(seconds));
    return seconds;
}

/// Every answer is there, finite and not negative.
inline void check_answers(std::vector<double> const& seconds) {
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        CAPTURE(i);
        CHECK(std::isfinite(seconds[i]));
        CHECK(seconds[i] >= 0);
    }
}
/// The same answers whatever else is asked, and in whatever order.
template <class Model, class Query>
void check_independent(Model& model, ps::Kernels const& kernels, std::vector<Query> queries) {
    std::vector<double> seconds = predict(model, kernels, queries);
    CHECK(predict(model, kernels, queries) == seconds);
    std::ranges::reverse(queries);
    std::ranges::reverse(seconds);
    CHECK(predict(model, kernels, queries) == seconds);
    queries.resize(1);
    seconds.resize(1);
    CHECK(predict(model, kernels, queries) == seconds);
    CHECK(predict(model, kernels, std::vector<Query>{}).empty());
}

/// Every field of RunContext changes some answer of the model, unless the model says that it ignores the field.
template <class Model>
void check_context(Model& model, ps::Kernels const& kernels) {
    const std::vector<ps::ConvShape> shapes{conv(14, 32, 64, 3), conv(28, 256, 256, 1)};
    const std::vector<Layer> kinds = layers({256, 14, 14});
    const auto answers = [&](ps::RunContext const& run) {
        std::vector<double> result;
        const auto add = [&](auto queries) {
            for (auto& query : queries) query.run = run;
            for (const double seconds : predict(model, kernels, queries)) result.push_back(seconds);
        };
        add(convs(kernels, shapes));
        add(transforms(kernels, {256, 28, 28}, 1));
        add(ops(kernels, kinds, 1));
        return result;
    };
    const ps::RunContext usual{.batch = 8,
                               .packs = false,
                               .layer_by_layer = true,
                               .data_reuse_bytes = 1e4,
                               .weight_reuse_bytes = 1e6,
                               .weight_reuse_operations = 1e7};
    const auto check = [&](std::string_view field, ps::RunContext const& changed, ps::RunContext const& from) {
        CAPTURE(field);
        const bool depends = answers(changed) != answers(from);
        CHECK(depends == !ps::ignores<Model>(field));
    };
    const auto with = [](ps::RunContext run, auto change) { return change(run), run; };
    ps::RunContext image_by_image = usual;
    image_by_image.layer_by_layer = false;
    check("batch", with(usual, [](auto& run) { run.batch = 9; }), usual);
    check("packs", with(usual, [](auto& run) { run.packs = true; }), usual);
    check("layer_by_layer", image_by_image, usual);
    check("data_reuse_bytes", with(usual, [](auto& run) { run.data_reuse_bytes = 1e9; }), usual);
    check("weight_reuse_bytes", with(image_by_image, [](auto& run) { run.weight_reuse_bytes = 1e9; }), image_by_image);
    check("weight_reuse_operations", with(image_by_image, [](auto& run) { run.weight_reuse_operations = 1e11; }),
          image_by_image);
    check("threads", with(usual, [](auto& run) { run.threads = 2; }), usual);
    check("apart", with(usual, [](auto& run) { run.apart = 2; }), usual);
}

}  // namespace laws
