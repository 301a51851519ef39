#include <primsel/network/fingerprint.hpp>

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
    using ps::Extent, ps::Padding, ps::PoolKind;
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
                                  {.k = 8, .bias = false}});
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
                                  {.count_include_pad = false},
                                  {.dilation = {1, 2}},
                                  {.dilation = {2, 1}}});
    check_differ<ps::GlobalPoolParams>({{PoolKind::max}, {PoolKind::average}});
    check_differ<ps::ActivationParams>({{ps::ActivationKind::relu},
                                        {ps::ActivationKind::relu6},
                                        {ps::ActivationKind::sigmoid},
                                        {ps::ActivationKind::hard_swish},
                                        {ps::ActivationKind::leaky_relu, 0.1F},
                                        {ps::ActivationKind::leaky_relu, 0.2F},
                                        {ps::ActivationKind::elu, 0.2F},
                                        {ps::ActivationKind::tanh},
                                        {ps::ActivationKind::exp},
                                        {ps::ActivationKind::power, 1.5F},
                                        {ps::ActivationKind::power, 2.5F},
                                        {ps::ActivationKind::clip, 0.0F, 1.0F},
                                        {ps::ActivationKind::clip, 0.0F, 2.0F},
                                        {ps::ActivationKind::clip, -1.0F, 2.0F},
                                        {ps::ActivationKind::hard_sigmoid, 0.0F, 2.0F}});
    check_differ<ps::ScaleParams>(
        {{}, {.known = true}, {.known = true, .factor = 2.0F}, {.known = true, .factor = 1.0F, .shift = 2.0F}});
    check_differ<ps::LrnParams>({{}, {.size = 3}, {.alpha = 1}, {.beta = 0.5F}, {.k = 2}});
    check_differ<ps::BatchNormParams>({{1e-5F}, {1e-3F}});
    check_differ<ps::DenseParams>({{.k = 4}, {.k = 5}, {.k = 4, .bias = false}});
    check_differ<ps::DenseRowsParams>({{.k = 4}, {.k = 5}, {.k = 4, .bias = false}});
    check_differ<ps::PadParams>({{.padding = 1},
                                 {.padding = {1, 2}},
                                 {.padding = 1, .value = 1},
                                 {.padding = 1, .mode = ps::PadMode::edge},
                                 {.padding = 1, .front = 1},
                                 {.padding = 1, .back = 1}});
    check_differ<ps::ChannelShuffleParams>({{2}, {4}});
    check_differ<ps::SliceParams>({{0, 4}, {1, 4}, {0, 5}, {0, 4, ps::Axis::h}, {0, 4, ps::Axis::w}});
    check_differ<ps::SoftmaxParams>({{ps::Axis::c}, {ps::Axis::h}, {ps::Axis::w}});
    const ps::StandardizeParams all{.along_c = true, .along_h = true, .along_w = true};
    ps::StandardizeParams groups = all, exact = all, square = all;
    groups.groups = 2, exact.epsilon = 0, square.centres = false;
    check_differ<ps::StandardizeParams>(
        {all, groups, exact, square, {.along_c = true}, {.along_h = true}, {.along_w = true}});
    check_differ<ps::ReshapeParams>({{{648, 1, 1}}, {{1, 648, 1}}, {{9, 8, 9}}});
    const ps::Shape row{.c = 6};
    check_differ<ps::AsStridedParams>({{.dims = {2, 3}, .strides = {1, 2}, .offset = 0, .shape = row},
                                       {.dims = {3, 2}, .strides = {1, 2}, .offset = 0, .shape = row},
                                       {.dims = {2, 3}, .strides = {2, 1}, .offset = 0, .shape = row},
                                       {.dims = {2, 3}, .strides = {1, 2}, .offset = 1, .shape = row},
                                       {.dims = {2, 3}, .strides = {1, 2}, .offset = 0, .shape = {1, 6, 1}},
                                       {.dims = {6}, .strides = {1, 2}, .offset = 0, .shape = row}});
    check_differ<ps::BinaryParams>({{ps::BinaryKind::add},
                                    {ps::BinaryKind::subtract},
                                    {ps::BinaryKind::multiply},
                                    {ps::BinaryKind::divide},
                                    {ps::BinaryKind::prelu},
                                    {ps::BinaryKind::power},
                                    {ps::BinaryKind::keep}},
                                   2);
    check_differ<ps::ReduceParams>({{ps::ReduceKind::mean, ps::Axis::c},
                                    {ps::ReduceKind::mean, ps::Axis::h},
                                    {ps::ReduceKind::sum, ps::Axis::c},
                                    {ps::ReduceKind::max, ps::Axis::c},
                                    {ps::ReduceKind::arg_max, ps::Axis::c}});
    check_differ<ps::TopKParams>({{1}, {2}, {1, false}, {1, true, true}});
    using ps::RecurrentKind::gru, ps::RecurrentKind::rnn;
    check_differ<ps::RecurrentParams>({{.kind = gru},
                                       {.kind = rnn},
                                       {.kind = gru, .f = ps::GateFunction::relu},
                                       {.kind = gru, .g = ps::GateFunction::relu},
                                       {.kind = gru, .alpha = {0, 1, 0}},
                                       {.kind = gru, .beta = {0, 1, 0}},
                                       {.kind = gru, .clip = 1},
                                       {.kind = gru, .reverse = true},
                                       {.kind = gru, .bias = false},
                                       {.kind = gru, .resets_product = true},
                                       {.kind = gru, .gives_last = true},
                                       {.kind = gru, .gives_all = false, .gives_last = true}});
    check_differ<ps::GatherParams>({{true}, {false}, {true, true}}, 2);
    const auto scatter_print = [](ps::ScatterParams const& params) {
        ps::Graph graph;
        graph.add("x", ps::InputParams{{2, 3, 4}}, {});
        graph.add("places", ps::InputParams{{2, 1, 1}}, {});
        graph.add("layer", params, {0, 1, 0});
        return ps::fingerprint(graph);
    };
    CHECK(scatter_print({}) != scatter_print({ps::ScatterKind::add}));
    const auto boxes_print = [](ps::NonMaxSuppressionParams const& params) {
        ps::Graph graph;
        graph.add("boxes", ps::InputParams{{2, 9, 4}}, {});
        graph.add("scores", ps::InputParams{{2, 3, 9}}, {});
        graph.add("layer", params, {0, 1});
        return ps::fingerprint(graph);
    };
    CHECK(std::set{boxes_print({}), boxes_print({.boxes_per_class = 2}), boxes_print({.iou_threshold = 0.5F}),
                   boxes_print({.score_threshold = 0.5F}), boxes_print({.centers = true})}
              .size() == 5);
    check_differ<ps::ResizeParams>({{.size = {3, 4}},
                                    {.size = {4, 3}},
                                    {.size = {3, 4}, .mode = ps::ResizeMode::linear},
                                    {.size = {3, 4}, .coordinates = ps::ResizeCoordinates::asymmetric},
                                    {.size = {3, 4}, .cubic_coefficient = -0.5F},
                                    {.size = {3, 4}, .exclude_outside = true},
                                    {.size = {3, 4}, .mode = ps::ResizeMode::linear, .antialias = true},
                                    {.size = {3, 4}, .offset_h = 0.5F},
                                    {.size = {3, 4}, .offset_w = 0.5F},
                                    {.size = {3, 4}, .rounding = ps::ResizeRounding::floor},
                                    {.size = {3, 4}, .scale_h = 0.5F},
                                    {.size = {3, 4}, .scale_w = 0.5F}});
    check_differ<ps::MaxPoolIndicesParams>({{}, {{.window = {3, 2}}}});
    check_differ<ps::ConvTransposeParams>({{.k = 8},
                                           {.k = 4},
                                           {.k = 8, .kernel = {2, 1}},
                                           {.k = 8, .stride = {2, 1}},
                                           {.k = 8, .padding = {1, 0, 0, 0}},
                                           {.k = 8, .dilation = {2, 1}},
                                           {.k = 8, .extra_h = 1},
                                           {.k = 8, .extra_w = 1},
                                           {.k = 8, .groups = 2},
                                           {.k = 8, .bias = false}});
    check_differ<ps::LrnGradientParams>({{}, {{.size = 3}}, {{.beta = 0.5F}}}, 3);
    check_differ<ps::DropoutParams>({{}, {0.25F}});
    check_differ<ps::ActivationGradientParams>({{}, {{ps::ActivationKind::leaky_relu}}, {{.alpha = 1}}}, 2);
    CHECK(check_differ<ps::AnyLayer>({ps::SoftmaxParams{}, ps::FlattenParams{}, ps::DropoutParams{}, ps::ScaleParams{},
                                      ps::ConcatParams{}, ps::BatchNormParams{}, ps::ActivationParams{}}) == 7);
}

TEST_CASE("a fingerprint differs when anything else about a graph does") {
    const auto print = [](ps::Shape shape, std::string const& name, std::vector<std::size_t> inputs,
                          ps::Epilogue epilogue, int batch) {
        ps::Graph graph(batch);
        graph.add("image", ps::InputParams{shape}, {});
        graph.add("a", ps::ScaleParams{}, {0});
        graph.add(name, ps::ConcatParams{}, std::move(inputs));
        graph.add("other", ps::ConvParams{.k = 2}, {2});
        std::vector<std::size_t> read{2};
        if (epilogue.residual) read.push_back(3);
        graph.add("conv", ps::ConvParams{.k = 2}, std::move(read), std::move(epilogue));
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
        print({8, 9, 9}, "b", {0, 1}, {.folded = {norm}}, 1),
        print({8, 9, 9}, "b", {0, 1}, {.folded = {norm, norm}}, 1),
        print({8, 9, 9}, "b", {0, 1}, {.folded = {{"m", ps::BatchNormParams{1e-5F}}}}, 1),
        print({8, 9, 9}, "b", {0, 1}, {.folded = {{"n", ps::BatchNormParams{1e-3F}}}}, 1),
        print({8, 9, 9}, "b", {0, 1}, {.folded = {{"n", ps::ScaleParams{}}}}, 1),
        print({8, 9, 9}, "b", {0, 1}, {.clamp = ps::relu_clamp}, 1),
        print({8, 9, 9}, "b", {0, 1}, {.clamp = ps::relu6_clamp}, 1),
        print({8, 9, 9}, "b", {0, 1}, {.residual = true}, 1),
        print({8, 9, 9}, "b", {0, 1}, {.residual = true, .summand = {.scale = 1}}, 1),
        print({8, 9, 9}, "b", {0, 1}, {.residual = true, .summand = {.scale = 1, .zero_point = 1}}, 1),
    };
    CHECK(std::set<std::string>(prints.begin(), prints.end()).size() == prints.size());
}

TEST_CASE("equal graphs have equal fingerprints") {
    const ps::Graph graph = ps::zoo::ResNet18::graph();
    CHECK(ps::fingerprint(graph) == ps::fingerprint(ps::zoo::ResNet18::graph()));
    CHECK(ps::fingerprint(ps::simplify(graph)) == ps::fingerprint(ps::simplify(ps::zoo::ResNet18::graph())));
    CHECK(ps::fingerprint(ps::simplify(graph)) != ps::fingerprint(graph));
}

TEST_CASE("a fingerprint differs with the results") {
    const auto print = [](std::vector<std::size_t> outputs) {
        ps::Graph graph;
        graph.add("image", ps::InputParams{{8, 9, 9}}, {});
        graph.add("relu", ps::ActivationParams{}, {0});
        graph.set_outputs(std::move(outputs));
        return ps::fingerprint(graph);
    };
    CHECK(std::set<std::string>{print({1}), print({0}), print({0, 1}), print({1, 0})}.size() == 4);
}

namespace {

/// Two branches of an image and their sum, then a layer; the branches in either order and under any names.
ps::Graph branches(bool swapped, std::string const& prefix, ps::AnyLayer const& last, bool folded = false) {
    ps::Graph graph;
    graph.add(prefix + "image", ps::InputParams{{8, 9, 9}}, {});
    const auto add = [&](bool wide) {
        if (!wide) return graph.add(prefix + "narrow", ps::ConvParams{.k = 4}, {0});
        ps::Epilogue norms;
        if (folded) norms.folded.push_back({prefix + "norm", ps::BatchNormParams{}});
        return graph.add(prefix + "wide", ps::ConvParams{.k = 4, .kernel = {3, 3}, .padding = 1, .bias = !folded}, {0},
                         norms);
    };
    const std::size_t first = add(swapped), second = add(!swapped);
    const std::size_t sum = graph.add(prefix + "sum", ps::AddParams{}, {first, second});
    graph.add(prefix + "last", last, {sum});
    return graph;
}

}  // namespace

TEST_CASE("structure minds neither names nor order nor folding, but everything else") {
    const std::string plain = ps::structure(branches(false, "", ps::ActivationParams{}));
    CHECK(plain == ps::structure(branches(true, "other.", ps::ActivationParams{})));
    CHECK(plain == ps::structure(branches(true, "", ps::ActivationParams{}, true)));
    CHECK(plain != ps::structure(branches(false, "", ps::SoftmaxParams{})));
    ps::Graph graph = branches(false, "", ps::ActivationParams{});
    graph.set_outputs({3});
    CHECK(plain != ps::structure(graph));
    CHECK(ps::structure(ps::zoo::ResNet18::graph(1)) != ps::structure(ps::zoo::ResNet18::graph(2)));

    // A branch computed twice is not one computed once and read twice.
    ps::Graph once, twice;
    for (ps::Graph* each : {&once, &twice}) {
        each->add("image", ps::InputParams{{8, 9, 9}}, {});
        each->add("a", ps::ActivationParams{}, {0});
    }
    once.add("sum", ps::AddParams{}, {1, 1});
    twice.add("b", ps::ActivationParams{}, {0});
    twice.add("sum", ps::AddParams{}, {1, 2});
    CHECK(ps::structure(once) != ps::structure(twice));
}
