// Runs on tensors, which know their layout and shape.
#include "../allocations.hpp"
#include "../error_of.hpp"

#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <span>
#include <type_traits>
#include <vector>

namespace engine_engine_tests {

namespace ps = primsel;

namespace {

using namespace ps::layer;
using tests::error_of;

struct Net : ps::Network<Input<3, 7, 5>, Conv<4, 3>, Relu, MaxPool<2>> {};

struct Few : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
};
struct PixelByPixel : Few {
    using layouts = ps::TypeList<ps::hwc, ps::chw>;
};

/// Sum and difference of two images.
ps::Graph two_inputs() {
    ps::Graph graph;
    const std::size_t a = graph.add("a", ps::InputParams{{2, 3, 4}}, {});
    const std::size_t b = graph.add("b", ps::InputParams{{2, 3, 4}}, {});
    graph.add("sum", ps::AddParams{}, {a, b});
    graph.add("difference", ps::BinaryParams{ps::BinaryKind::subtract}, {a, b});
    graph.set_outputs({2, 3});
    return graph;
}

template <ps::Layout L>
void fill(ps::Tensor<L>& tensor) {
    for (int n = 0, i = 0; n < tensor.batch(); ++n) {
        for (int c = 0; c < tensor.shape().c; ++c) {
            for (int h = 0; h < tensor.shape().h; ++h) {
                for (int w = 0; w < tensor.shape().w; ++w) {
                    tensor.view()(n, c, h, w) = static_cast<float>(i++ * 37 % 101) / 50 - 1;
                }
            }
        }
    }
}

template <ps::Layout L, ps::Layout M>
void check_same(ps::Tensor<L> const& one, ps::Tensor<M> const& other) {
    REQUIRE(one.shape() == other.shape());
    REQUIRE(one.batch() == other.batch());
    for (int n = 0; n < one.batch(); ++n) {
        for (int c = 0; c < one.shape().c; ++c) {
            for (int h = 0; h < one.shape().h; ++h) {
                for (int w = 0; w < one.shape().w; ++w) {
                    CHECK(one.view()(n, c, h, w) == doctest::Approx(other.view()(n, c, h, w)).epsilon(1e-5));
                }
            }
        }
    }
}

template <class Src, class Dst, class Engine>
constexpr bool runs = requires(Engine& engine, Src src, Dst dst) {
    { engine.run(src, dst) } noexcept;
};

TEST_CASE("tensors, views and spans give the same bits") {
    for (const int batch : {1, 3}) {
        ps::Engine<ps::Graph, Few> engine(Net::graph(batch), ps::random_weights(Net::graph()));
        ps::Tensor<> image(Net::input_shape, batch), expected(Net::output_shape, batch);
        fill(image);
        engine.run(image.span(), expected.span());
        REQUIRE(std::ranges::any_of(expected, [](float value) { return value != 0; }));
        const auto check = [&](auto const& src, auto dst_of) {
            ps::Tensor<> result(Net::output_shape, batch);
            CHECK(scratch::allocated_by([&] { engine.run(src, dst_of(result)); }) == 0);
            CHECK(std::ranges::equal(result, expected));
        };
        const auto tensor = [](ps::Tensor<>& result) -> ps::Tensor<>& { return result; };
        const auto view = [](ps::Tensor<>& result) { return result.view(); };
        const auto span = [](ps::Tensor<>& result) { return result.span(); };
        check(image, tensor);
        check(image, view);
        check(image, span);
        check(image.view(), tensor);
        check(image.span(), tensor);
        check(std::as_const(image).view(), view);
    }
}

TEST_CASE("an engine takes tensors in the first of its layouts") {
    static_assert(std::same_as<ps::Engine<Net, Few>::image_layout, ps::chw>);
    static_assert(std::same_as<ps::Engine<Net, PixelByPixel>::image_layout, ps::hwc>);
    const ps::Weights weights = ps::random_weights(Net::graph());
    ps::Engine<Net, Few> planes(weights);
    ps::Engine<Net, PixelByPixel> pixels(weights);
    ps::Tensor<ps::chw> image(Net::input_shape), result(Net::output_shape);
    ps::Tensor<ps::hwc> image_in_hwc(Net::input_shape), result_in_hwc(Net::output_shape);
    fill(image);
    fill(image_in_hwc);
    planes.run(image, result);
    pixels.run(image_in_hwc, result_in_hwc);
    check_same(result, result_in_hwc);
}

TEST_CASE("every form of run is noexcept, and views of another layout are no arguments") {
    using Engine = ps::Engine<Net, Few>;
    static_assert(runs<ps::Tensor<> const&, ps::Tensor<>&, Engine>);
    static_assert(runs<ps::TensorView<const float>, ps::TensorView<float>, Engine>);
    static_assert(runs<std::vector<float> const&, ps::TensorView<float>, Engine>);
    static_assert(runs<std::span<const ps::TensorView<const float>>, std::span<const ps::TensorView<float>>, Engine>);
    static_assert(!runs<std::span<const ps::TensorView<const float, ps::hwc>>,
                        std::span<const ps::TensorView<float, ps::hwc>>, Engine>);
    static_assert(!runs<ps::Tensor<> const&, int, Engine>);
    static_assert(!runs<std::vector<float> const&, std::vector<float> const&, Engine>);
}

TEST_CASE("several inputs and results as views") {
    ps::Engine<ps::Graph, Few> engine(two_inputs(), {});
    ps::Tensor<> a({2, 3, 4}), b({2, 3, 4}), sum({2, 3, 4}), difference({2, 3, 4});
    fill(a);
    std::ranges::fill(b, 0.25F);
    const std::array<ps::TensorView<const float>, 2> srcs{a.view(), b.view()};
    const std::array<ps::TensorView<float>, 2> dsts{sum.view(), difference.view()};
    engine.check_tensors(srcs, dsts);
    CHECK(scratch::allocated_by([&] { engine.run(srcs, dsts); }) == 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(sum.data()[i] == a.data()[i] + 0.25F);
        CHECK(difference.data()[i] == a.data()[i] - 0.25F);
    }
}

TEST_CASE("check_tensors refuses other shapes, batches and numbers of tensors") {
    ps::Engine<ps::Graph, Few> engine(Net::graph(2), ps::random_weights(Net::graph()));
    ps::Tensor<> image(Net::input_shape, 2), result(Net::output_shape, 2);
    const auto error = [&](auto const& src, auto const& dst) {
        return error_of([&] { engine.check_tensors(src, dst); });
    };
    CHECK(error(image, result).empty());
    CHECK(error(image.span(), result).empty());
    CHECK(error(image, result.span()).empty());
    // As many floats, but of another shape.
    CHECK(error(ps::Tensor<>({5, 7, 3}, 2), result) ==
          "engine: input 0 has 210 floats, a batch of 2 of 5x7x3; run() takes 210 floats, images of 3x7x5");
    CHECK(error(ps::Tensor<>(Net::input_shape), result) ==
          "engine: input 0 has 105 floats, a batch of 1 of 3x7x5; run() takes 210 floats, images of 3x7x5");
    CHECK(error(image, ps::Tensor<>({4, 3, 3}, 2)) ==
          "engine: result 0 has 72 floats, a batch of 2 of 4x3x3; run() takes 48 floats, images of 4x3x2");
    CHECK(error(std::vector<float>(7), result) == "engine: input 0 has 7 floats; run() takes 210");

    ps::Engine<ps::Graph, Few> two(two_inputs(), {});
    ps::Tensor<> a({2, 3, 4}), sum({2, 3, 4}), wrong({2, 4, 3});
    CHECK(error_of([&] { two.check_tensors(a, sum); }) == "engine: 1 inputs and 1 results; run() takes 2 and 2");
    const std::array<ps::TensorView<const float>, 2> srcs{a.view(), a.view()};
    CHECK(error_of([&] {
              two.check_tensors(srcs, std::array<ps::TensorView<float>, 2>{sum.view(), wrong.view()});
          }) == "engine: result 1 has 24 floats, a batch of 1 of 2x4x3; run() takes 24 floats, images of 2x3x4");
}

}  // namespace

}  // namespace engine_engine_tests
