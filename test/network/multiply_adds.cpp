#include <doctest/doctest.h>
#include <primsel/layer/all.hpp>
#include <primsel/network/multiply_adds.hpp>
#include <primsel/network/zoo.hpp>

#include <cstddef>
#include <vector>

namespace multiply_adds {
namespace {

namespace ps = primsel;

TEST_CASE("multiply-adds of networks are those of torchvision's documentation") {
    CHECK(ps::multiply_adds(ps::zoo::ResNet18::graph()) == doctest::Approx(1.814e9).epsilon(1e-3));
    CHECK(ps::multiply_adds(ps::zoo::MobileNetV2::graph()) == doctest::Approx(0.301e9).epsilon(1e-2));
}

/// Counts them one by one: padding as if it were image, and of a transposed convolution also those that fall into its
/// padding.
double counted(ps::ConvParams const& conv, ps::Shape in, ps::Shape out) {
    double count = 0;
    for (int k = 0; k < out.c; ++k) {
        const int group = k / (out.c / conv.groups);
        for (int c = 0; c < in.c; ++c) {
            if (c / (in.c / conv.groups) != group) continue;
            for (int pixel = 0; pixel < out.h * out.w; ++pixel) {
                for (int tap = 0; tap < conv.kernel.h * conv.kernel.w; ++tap) ++count;
            }
        }
    }
    return count;
}
double counted(ps::ConvTransposeParams const& conv, ps::Shape in, ps::Shape out) {
    const ps::ConvParams rotated{.kernel = conv.kernel, .groups = conv.groups};
    return counted(rotated, out, in);
}
double counted(ps::DenseParams const&, ps::Shape in, ps::Shape out) {
    double count = 0;
    for (std::size_t i = 0; i < in.size() * out.size(); ++i) ++count;
    return count;
}
double counted(ps::DenseRowsParams const&, ps::Shape in, ps::Shape out) {
    double count = 0;
    for (int row = 0; row < in.c * in.h; ++row) count += static_cast<double>(in.w) * out.w;
    return count;
}
/// Each hidden unit with each gate of each step.
double counted(ps::RecurrentParams const&, ps::Shape in, ps::Shape out) {
    double count = 0;
    for (int row = 0; row < in.c * in.h; ++row) count += static_cast<double>(in.w) * out.w;
    return count;
}
/// Each row of the first with each column of the second.
double counted(ps::MatMulParams const&, ps::Shape in, ps::Shape out) {
    double count = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        for (int j = 0; j < in.w; ++j) ++count;
    }
    return count;
}

TEST_CASE("the operations of every layer with weights are those that are counted one by one") {
    const ps::Shape image{.c = 6, .h = 9, .w = 7}, line{.c = 6, .h = 1, .w = 20};
    const auto check = [](auto const& layer, ps::Shape in, bool reads_weights = false) {
        ps::Graph graph(3);
        std::vector<std::size_t> inputs{graph.add("input", ps::InputParams{in}, {})};
        if (reads_weights) inputs.push_back(graph.add("w", ps::ConstantParams{.shape = {1, in.w, 5}}, {}));
        const std::size_t at = graph.add("layer", layer, inputs);
        graph.set_outputs({graph.add("relu", ps::ActivationParams{}, {at})});
        CAPTURE(ps::layer_kind(graph[at].layer));
        CHECK(ps::multiply_adds(graph) > 0);
        CHECK(ps::multiply_adds(graph) == counted(layer, in, graph[at].shape));
    };
    for (const int groups : {1, 2, 6}) {
        check(ps::ConvParams{.k = 12, .kernel = {3, 2}, .stride = {2, 1}, .padding = 1, .groups = groups}, image);
        check(ps::ConvParams{.k = 12, .kernel = {1, 5}, .dilation = {1, 2}, .groups = groups}, line);
        check(
            ps::ConvTransposeParams{
                .k = 12, .kernel = {3, 2}, .stride = {2, 3}, .padding = 1, .extra_h = 1, .groups = groups},
            image);
        check(ps::ConvTransposeParams{.k = 12, .kernel = {1, 4}, .stride = {1, 2}, .groups = groups}, line);
    }
    check(ps::DenseParams{.k = 10}, image);
    check(ps::DenseParams{.k = 10, .bias = false}, line);
    check(ps::DenseRowsParams{.k = 10}, image);
    check(ps::RecurrentParams{}, line);
    check(ps::RecurrentParams{.kind = ps::RecurrentKind::gru}, {.c = 5, .h = 2, .w = 12});
    check(ps::MatMulParams{}, image, true);
    check(ps::MatMulParams{}, line, true);
}

}  // namespace
}  // namespace multiply_adds
