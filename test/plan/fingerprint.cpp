#include <primsel/plan/fingerprint.hpp>

#include "fakes.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/resnet.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ps = primsel;

namespace {

std::string print_of(ps::AnyLayer const& layer, std::size_t inputs = 1) {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{8, 9, 9}}, {});
    graph.add("layer", layer, std::vector<std::size_t>(inputs, 0));
    return ps::fingerprint(graph);
}

/// All of them differ from one another; returns how many there are.
template <class Params>
std::size_t check_differ(std::vector<Params> const& variants, std::size_t inputs = 1) {
    std::set<std::string> prints;
    for (Params const& params : variants) {
        CHECK(print_of(params, inputs).size() == 16);
        CHECK(print_of(params, inputs) == print_of(params, inputs));
        prints.insert(print_of(params, inputs));
    }
    CHECK(prints.size() == variants.size());
    return prints.size();
}

}  // namespace

TEST_CASE("a fingerprint differs when any parameter of any layer does") {
    using ps::Clamp, ps::Extent, ps::Padding, ps::PoolKind;
    check_differ<ps::ConvParams>({{.k = 8, .padding = {}},
                                  {.k = 4},
                                  {.k = 8, .kernel = {2, 1}},
                                  {.k = 8, .kernel = {1, 2}},
                                  {.k = 8, .stride = {2, 1}},
                                  {.k = 8, .stride = {1, 2}},
                                  {.k = 8, .padding = {1, 0, 0, 0}},
                                  {.k = 8, .padding = {0, 1, 0, 0}},
                                  {.k = 8, .padding = {0, 0, 1, 0}},
                                  {.k = 8, .padding = {0, 0, 0, 1}},
                                  {.k = 8, .dilation = {2, 1}},
                                  {.k = 8, .dilation = {1, 2}},
                                  {.k = 8, .groups = 2},
                                  {.k = 8, .bias = false},
                                  {.k = 8, .clamp = ps::relu_clamp},
                                  {.k = 8, .clamp = ps::relu6_clamp}});
    CHECK(print_of(ps::ConvParams{.k = 8, .residual = true}, 2) != print_of(ps::ConvParams{.k = 8}));
    check_differ<ps::PoolParams>({{},
                                  {.kind = PoolKind::average},
                                  {.window = {3, 2}},
                                  {.window = {2, 3}},
                                  {.stride = {1, 2}},
                                  {.stride = {2, 1}},
                                  {.padding = {1, 0, 0, 0}},
                                  {.padding = {0, 1, 0, 0}},
                                  {.padding = {0, 0, 1, 0}},
                                  {.padding = {0, 0, 0, 1}},
                                  {.ceil_mode = true},
                                  {.count_include_pad = false}});
    check_differ<ps::GlobalPoolParams>({{PoolKind::max}, {PoolKind::average}});
    check_differ<ps::ActivationParams>({{ps::ActivationKind::relu},
                                        {ps::ActivationKind::relu6},
                                        {ps::ActivationKind::sigmoid},
                                        {ps::ActivationKind::hard_swish},
                                        {ps::ActivationKind::leaky_relu, 0.1F},
                                        {ps::ActivationKind::leaky_relu, 0.2F}});
    check_differ<ps::LrnParams>({{}, {.size = 3}, {.alpha = 1}, {.beta = 0.5F}, {.k = 2}});
    check_differ<ps::BatchNormParams>({{1e-5F}, {1e-3F}});
    check_differ<ps::DenseParams>({{.k = 4}, {.k = 5}, {.k = 4, .bias = false}, {.k = 4, .clamp = ps::relu_clamp}});
    check_differ<ps::AddParams>({{}, {ps::relu_clamp}}, 2);
    check_differ<ps::PadParams>({{.padding = 1}, {.padding = {1, 2}}, {.padding = 1, .value = 1}});
    check_differ<ps::ChannelShuffleParams>({{2}, {4}});
    check_differ<ps::SliceParams>({{0, 4}, {1, 4}, {0, 5}});
    CHECK(check_differ<ps::AnyLayer>({ps::SoftmaxParams{}, ps::FlattenParams{}, ps::DropoutParams{}, ps::ScaleParams{},
                                      ps::ConcatParams{}, ps::BatchNormParams{}, ps::ActivationParams{}}) == 7);
}

TEST_CASE("a fingerprint differs when anything else about a graph does") {
    const auto print = [](ps::Shape shape, std::string const& name, std::vector<std::size_t> inputs,
                          std::vector<ps::Folded> folded, int batch) {
        ps::Graph graph(batch);
        graph.add("image", ps::InputParams{shape}, {});
        graph.add("a", ps::ScaleParams{}, {0});
        graph.add(name, ps::ConcatParams{}, std::move(inputs));
        graph.add("conv", ps::ConvParams{.k = 2}, {2}, std::move(folded));
        return ps::fingerprint(graph);
    };
    const ps::Folded norm{"n", ps::BatchNormParams{1e-5F}};
    const std::vector<std::string> prints{
        print({8, 9, 9}, "b", {0, 1}, {}, 1),
        print({8, 9, 9}, "b", {1, 0}, {}, 1),
        print({8, 9, 9}, "b", {0, 0, 1}, {}, 1),
        print({8, 9, 9}, "c", {0, 1}, {}, 1),
        print({8, 9, 9}, "b", {0, 1}, {}, 2),
        print({7, 9, 9}, "b", {0, 1}, {}, 1),
        print({8, 8, 9}, "b", {0, 1}, {}, 1),
        print({8, 9, 8}, "b", {0, 1}, {}, 1),
        print({8, 9, 9}, "b", {0, 1}, {norm}, 1),
        print({8, 9, 9}, "b", {0, 1}, {norm, norm}, 1),
        print({8, 9, 9}, "b", {0, 1}, {{"m", ps::BatchNormParams{1e-5F}}}, 1),
        print({8, 9, 9}, "b", {0, 1}, {{"n", ps::BatchNormParams{1e-3F}}}, 1),
        print({8, 9, 9}, "b", {0, 1}, {{"n", ps::ScaleParams{}}}, 1),
    };
    CHECK(std::set<std::string>(prints.begin(), prints.end()).size() == prints.size());
}

TEST_CASE("equal graphs have equal fingerprints") {
    const ps::Graph graph = ps::zoo::ResNet18::graph();
    CHECK(ps::fingerprint(graph) == ps::fingerprint(ps::zoo::ResNet18::graph()));
    CHECK(ps::fingerprint(ps::simplify(graph)) == ps::fingerprint(ps::simplify(ps::zoo::ResNet18::graph())));
    CHECK(ps::fingerprint(ps::simplify(graph)) != ps::fingerprint(graph));
}

TEST_CASE("kernels differ with their primitives, the primitives' layouts and order, and the layouts") {
    using fakes::primitive, fakes::chw, fakes::hwc;
    const std::vector<std::vector<ps::PrimitiveEntry>> lists{{primitive("a", chw, chw), primitive("b", chw, chw)},
                                                             {primitive("b", chw, chw), primitive("a", chw, chw)},
                                                             {primitive("a", chw, chw)},
                                                             {primitive("a", hwc, chw), primitive("b", chw, chw)},
                                                             {primitive("a", chw, hwc), primitive("b", chw, chw)},
                                                             {primitive("ab", chw, chw)}};
    std::set<std::string> prints;
    for (auto const& list : lists) {
        CHECK(ps::fingerprint(fakes::kernels(list)) == ps::fingerprint(fakes::kernels(list)));
        prints.insert(ps::fingerprint(fakes::kernels(list)));
    }
    ps::Kernels fewer = fakes::kernels(lists[0]);
    fewer.layouts = fewer.layouts.first(2);
    prints.insert(ps::fingerprint(fewer));
    CHECK(prints.size() == lists.size() + 1);
}
