// Small graphs with branches, sums and concatenations, of every kind of layer.
#pragma once

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace random_graphs {

namespace ps = primsel;

class Maker {
public:
    explicit Maker(unsigned seed) : bits_(seed) {}

    /// Makes a graph of this many layers after the image. Where few layers matter, `convs_and_sums` leaves all other
    /// kinds out.
    ps::Graph make(std::size_t layers, int batch = 1, bool convs_and_sums = false) {
        ps::Graph graph(batch);
        graph.add("image", ps::InputParams{{number(1, 9), number(3, 14), number(3, 14)}}, {});
        while (graph.size() <= layers) {
            const ps::AnyLayer layer = convs_and_sums ? conv_or_sum(graph) : any(graph);
            std::vector<std::size_t> inputs = choose_inputs(graph, layer);
            std::vector<ps::Shape> shapes;
            for (const std::size_t input : inputs) shapes.push_back(graph[input].shape);
            if (ps::check(layer, shapes) != ps::Fault::none) continue;
            if (ps::output(layer, shapes).size() > 20'000) continue;
            graph.add("layer" + std::to_string(graph.size()), layer, std::move(inputs));
        }
        if (maybe(30)) graph.set_outputs({pick(graph), graph.size() - 1});
        return graph;
    }
    int number(int low, int high) { return std::uniform_int_distribution(low, high)(bits_); }
    template <class T>
    T one_of(std::initializer_list<T> choices) {
        return choices.begin()[number(0, static_cast<int>(choices.size()) - 1)];
    }

private:
    bool maybe(int percent) { return number(1, 100) <= percent; }

    ps::AnyLayer conv() {
        ps::ConvParams params{.k = number(1, 20)};
        params.kernel = one_of<ps::Extent>({1, 3, 3, 5, {2, 3}});
        params.stride = one_of<ps::Extent>({1, 1, 1, 2, {1, 2}});
        params.dilation = maybe(15) ? 2 : 1;
        params.groups = maybe(15) ? number(1, 4) : 1;
        params.bias = maybe(60);
        if (maybe(80)) params.padding = {params.kernel.h / 2, params.kernel.w / 2};
        if (maybe(15)) params.padding.left += 1;
        // A square one that keeps the size can be added to what it reads.
        if (maybe(40)) params.kernel = 3, params.stride = 1, params.dilation = 1, params.padding = 1, params.k = 8;
        return params;
    }
    ps::AnyLayer conv_or_sum(ps::Graph const&) {
        if (maybe(60)) return conv();
        return maybe(60) ? ps::AnyLayer(ps::AddParams{}) : ps::AnyLayer(ps::ConcatParams{});
    }
    ps::AnyLayer any(ps::Graph const& graph) {
        using enum ps::ActivationKind;
        ps::PoolParams pool{.kind = maybe(50) ? ps::PoolKind::max : ps::PoolKind::average};
        pool.window = number(1, 3), pool.stride = number(1, 2), pool.padding = pool.window.h > 1 ? number(0, 1) : 0;
        pool.ceil_mode = maybe(30), pool.count_include_pad = maybe(50);
        const ps::Shape last = graph[graph.size() - 1].shape;
        const int c = last.c;
        switch (number(0, 19)) {
            case 0:
            case 1:
            case 2:
                return ps::ActivationParams{one_of({relu, relu, relu6, leaky_relu, sigmoid, hard_swish}), 0.1F};
            case 3:
            case 4:
                return maybe(70) ? ps::AnyLayer(ps::AddParams{}) : ps::AnyLayer(ps::ConcatParams{});
            case 5:
                return pool;
            case 6:
                return ps::BatchNormParams{.epsilon = 1e-3F};
            case 7:
                return ps::ScaleParams{};
            case 8:
                return ps::LrnParams{.size = number(1, 5), .alpha = 0.5F, .beta = maybe(50) ? 0.75F : 0.5F};
            case 9:
                return maybe(70) ? ps::AnyLayer(ps::DropoutParams{}) : ps::AnyLayer(ps::FlattenParams{});
            case 10:
                return ps::PadParams{{number(0, 2), number(0, 2)}, maybe(60) ? 0.0F : 0.5F};
            case 11:
                return ps::ChannelShuffleParams{number(1, 4)};
            case 12:
                return ps::SliceParams{number(0, c / 2), number(1, c)};
            case 13:
                if (maybe(20)) return ps::GlobalPoolParams{maybe(50) ? ps::PoolKind::max : ps::PoolKind::average};
                if (maybe(20)) return ps::DenseParams{.k = number(8, 20), .bias = maybe(50)};
                return ps::SoftmaxParams{one_of({ps::Axis::c, ps::Axis::h, ps::Axis::w})};
            case 14:
                return ps::BinaryParams{one_of(
                    {ps::BinaryKind::add, ps::BinaryKind::subtract, ps::BinaryKind::multiply, ps::BinaryKind::prelu})};
            case 15:
                if (maybe(50)) return ps::ReshapeParams{{.c = last.h, .h = last.w, .w = last.c}};
                return ps::AsStridedParams{.dims = {last.h, last.w, last.c},
                                           .strides = {last.w, 1, last.h * last.w},
                                           .offset = 0,
                                           .shape = {.c = last.h, .h = last.w, .w = last.c}};
            case 16:
                if (maybe(50)) return ps::ConstantParams{maybe(50) ? last : ps::Shape{.c = c}};
                return ps::ReduceParams{maybe(50) ? ps::ReduceKind::mean : ps::ReduceKind::max,
                                        one_of({ps::Axis::h, ps::Axis::w})};
            case 17:
                if (maybe(50)) return ps::ResizeParams{.size = {number(1, 14), number(1, 14)}};
                return ps::ConvTransposeParams{.k = number(1, 8), .kernel = 3, .stride = 2, .padding = 1};
            default:
                return conv();
        }
    }
    std::vector<std::size_t> choose_inputs(ps::Graph const& graph, ps::AnyLayer const& layer) {
        std::size_t count = 1;
        if (std::holds_alternative<ps::ConstantParams>(layer)) return {};
        if (std::holds_alternative<ps::BinaryParams>(layer)) count = 2;
        if (std::holds_alternative<ps::AddParams>(layer)) count = maybe(80) ? 2 : 3;
        if (std::holds_alternative<ps::ConcatParams>(layer)) count = static_cast<std::size_t>(number(1, 3));
        std::vector<std::size_t> inputs;
        for (std::size_t i = 0; i < count; ++i) {
            // The layer that was added last, as a rule; where two inputs must fit together, one that fits.
            std::size_t input = maybe(70) ? graph.size() - 1 : pick(graph);
            for (int attempt = 0; i > 0 && attempt < 8 && !fits(graph, layer, inputs[0], input); ++attempt) {
                input = pick(graph);
            }
            inputs.push_back(input);
        }
        std::shuffle(inputs.begin(), inputs.end(), bits_);
        return inputs;
    }
    std::size_t pick(ps::Graph const& graph) {
        return static_cast<std::size_t>(number(0, static_cast<int>(graph.size()) - 1));
    }
    static bool fits(ps::Graph const& graph, ps::AnyLayer const& layer, std::size_t a, std::size_t b) {
        const ps::Shape shapes[] = {graph[a].shape, graph[b].shape};
        return ps::check(layer, shapes) == ps::Fault::none;
    }

    std::mt19937 bits_;
};

}  // namespace random_graphs
