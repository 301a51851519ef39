// Kernels that engines of a network type do not compile cannot be used by their networks: the kernels that are left
// give the plan that all of them give.
#include <primsel/engine/kernels_for.hpp>

#include <doctest/doctest.h>
#include <primsel/engine/engine.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/zoo.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace engine_kernels_for_tests {

namespace ps = primsel;
using namespace ps::layer;

namespace {

/// As without PRIMSEL_EXTERN_KERNELS, with which these tests are compiled.
template <class Net>
using Compiled = ps::engine::CompileFor<Net>;

template <class Net, class... P>
constexpr std::array<bool, sizeof...(P)> compiled_of(ps::TypeList<P...>) {
    return {Compiled<Net>::template primitive<P>...};
}

void check_primitives(ps::Graph const& graph, std::span<const bool> compiled) {
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    REQUIRE(compiled.size() == kernels.primitives.size());
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const auto* conv = std::get_if<ps::ConvParams>(&graph[i].layer);
        if (conv == nullptr) continue;
        const ps::ConvShape shape = ps::conv_shape_of(graph, i);
        CAPTURE(graph[i].name);
        for (std::size_t p = 0; p < compiled.size(); ++p) {
            CAPTURE(kernels.primitives[p].id);
            CHECK((!kernels.primitives[p].supports(shape) || compiled[p]));
        }
    }
}

template <class Net>
void check(std::string_view name) {
    CAPTURE(name);
    const ps::Graph graph = ps::simplify(Net::graph());
    for (ps::Node const& node : graph.nodes()) {
        CAPTURE(node.name);
        CHECK((Compiled<Net>::layer(node.layer.index()) || std::holds_alternative<ps::InputParams>(node.layer)));
    }
    static constexpr auto compiled = compiled_of<Net>(ps::AllPrimitives{});
    check_primitives(graph, compiled);
}

struct Reordered : ps::Network<Input<8, 6, 6>, Conv<8, 1>, Relu, ChannelShuffle<2>, AveragePool<6>, Dense<3>> {};
struct OneByOne : ps::Network<Input<8, 6, 6>, Conv<8, 1>> {};

struct Few : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
};

/// A primitive that cannot say at compile time what it supports.
struct AtRunTime : ps::DirectSum2d {
    static ps::Support supports(ps::ConvShape const& shape) {
        return shape.fh == 3 ? ps::Support::yes() : ps::Support::no("is for 3x3");
    }
};

}  // namespace

TEST_CASE("what simplified networks need is compiled") {
    check<ps::zoo::AlexNet>("alexnet");
    check<ps::zoo::GoogLeNet>("googlenet");
    check<ps::zoo::ResNet18>("resnet18");
    check<ps::zoo::MobileNetV2>("mobilenet_v2");
    check<ps::zoo::SqueezeNet10>("squeezenet1_0");
    check<Reordered>("reordered");
    check<OneByOne>("one by one");
}

TEST_CASE("what no layer needs is not compiled, and says so") {
    using ps::GemmForm, ps::GemmOut;
    CHECK(Compiled<OneByOne>::primitive<ps::DirectSum2d>);
    CHECK(Compiled<OneByOne>::primitive<ps::Conv1x1Gemm<GemmForm::ab, GemmOut::ik>>);
    CHECK_FALSE(Compiled<OneByOne>::primitive<ps::Winograd<2, 3, 16>>);
    CHECK(Compiled<OneByOne>::primitive<AtRunTime>);
    CHECK_FALSE(Compiled<OneByOne>::layer(ps::AnyLayer(ps::PoolParams{}).index()));

    using List = ps::TypeList<ps::DirectSum2d, ps::Winograd<2, 3, 16>>;
    const ps::Kernels kernels = ps::make_kernels<List, ps::default_arch, ps::AllLayouts, Compiled<OneByOne>>();
    REQUIRE(kernels.primitives.size() == 2);  // positions and ids are those of the list
    CHECK(kernels.primitives[1].id == ps::Winograd<2, 3, 16>::id);
    CHECK((kernels.primitives[0].run != nullptr));
    CHECK((kernels.primitives[1].run == nullptr));
    const ps::ConvShape three{.c = 8, .k = 8, .h = 6, .w = 6, .fh = 3, .fw = 3};
    CHECK(ps::Winograd<2, 3, 16>::supports(three));
    CHECK(kernels.primitives[1].supports(three).reason() ==
          std::string_view("is not compiled: no convolution of the network type needs it"));
    const ps::AnyLayer pool = ps::PoolParams{};
    CHECK((kernels.op(pool, 0).run == nullptr));
}

TEST_CASE("an engine runs its network with the kernels that are compiled, and refuses a graph that needs others") {
    using Own = ps::engine::detail::EngineOf<Few, Compiled<Reordered>>;
    const ps::Graph graph = Reordered::graph();
    const ps::Weights weights = ps::random_weights(graph);
    Own own(graph, weights, ps::PlanOptions{}, ps::Sequential{});
    ps::Engine<ps::Graph, Few> whole(graph, weights);
    REQUIRE(own.plan().layers.size() == whole.plan().layers.size());
    const std::vector<float> image(ps::Shape{8, 6, 6}.size(), 0.5F);
    std::vector<float> a(3), b(3);
    const std::span<const float> src = image;
    const std::span<float> dst = a;
    own.run(std::span(&src, 1), std::span(&dst, 1));
    whole.run(image, b);
    CHECK(a == b);

    struct Softmaxed : ps::Network<Input<8, 6, 6>, Conv<8, 1>, Softmax> {};
    const ps::Graph other = Softmaxed::graph();
    CHECK_THROWS_WITH_AS(Own(other, ps::random_weights(other), ps::PlanOptions{}, ps::Sequential{}),
                         doctest::Contains("is a softmax, which the network type has not; Engine<Graph>"), ps::error);
}

}  // namespace engine_kernels_for_tests
