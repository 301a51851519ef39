// Networks whose layers read each other in ways that do not reduce: what planning has to bear.
#pragma once

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace graphs {

namespace ps = primsel;

/// Adds layers one after the other, under names of their own.
class Builder {
public:
    ps::Graph graph;

    std::size_t input(ps::Shape shape) { return add("input", ps::InputParams{shape}, {}); }
    std::size_t add(std::string const& kind, ps::AnyLayer layer, std::vector<std::size_t> inputs, bool relu = false) {
        return graph.add(kind + std::to_string(graph.size()), std::move(layer), std::move(inputs),
                         {.clamp = relu ? ps::relu_clamp : ps::Clamp{}});
    }
    std::size_t conv(std::size_t from, int k, int kernel, int stride = 1, bool relu = true) {
        return add("conv", ps::ConvParams{.k = k, .kernel = kernel, .stride = stride, .padding = kernel / 2}, {from},
                   relu);
    }
    /// A depthwise 3x3 and a 1x1.
    std::size_t separable(std::size_t from, int k) {
        const int c = graph[from].shape.c;
        return conv(add("conv", ps::ConvParams{.k = c, .kernel = 3, .padding = 1, .groups = c}, {from}), k, 1);
    }
    std::size_t sum(std::vector<std::size_t> inputs) {
        return inputs.size() == 1 ? inputs[0] : add("add", ps::AddParams{}, std::move(inputs), true);
    }
    std::size_t concat(std::vector<std::size_t> inputs) {
        return inputs.size() == 1 ? inputs[0] : add("concat", ps::ConcatParams{}, std::move(inputs));
    }
    std::size_t pool(std::size_t from, int window = 2) {
        return add("pool", ps::PoolParams{.window = window, .stride = window}, {from});
    }
    std::size_t pooled(std::size_t from, ps::PoolKind kind) {
        return add("pool", ps::PoolParams{.kind = kind}, {from});
    }
    std::size_t upsample(std::size_t from, int factor = 2) {
        const ps::Shape shape = graph[from].shape;
        return add("resize", ps::ResizeParams{.size = {shape.h * factor, shape.w * factor}}, {from});
    }
    std::size_t activation(std::size_t from, ps::ActivationKind kind) {
        return add("activation", ps::ActivationParams{.kind = kind}, {from});
    }
    std::size_t product(std::size_t a, std::size_t b) {
        return add("multiply", ps::BinaryParams{ps::BinaryKind::multiply}, {a, b});
    }
};

/// SSR-Net (Yang et al. 2018): two streams of other activations and pools, multiplied at each of three stages.
inline ps::Graph ssr_net() {
    Builder b;
    const std::size_t image = b.input({.c = 3, .h = 64, .w = 64});
    const auto stream = [&](std::size_t from, int k, ps::ActivationKind activation, ps::PoolKind pool) {
        return b.pooled(b.activation(b.conv(from, k, 3, 1, false), activation), pool);
    };
    std::vector<std::size_t> heads;
    std::size_t s = image, t = image;
    for (int stage = 0; stage < 3; ++stage) {
        for (int i = 0; i < (stage == 1 ? 2 : 1); ++i) {
            s = stream(s, 32, ps::ActivationKind::relu, ps::PoolKind::average);
            t = stream(t, 16, ps::ActivationKind::tanh, ps::PoolKind::max);
        }
        const std::size_t u = b.activation(b.conv(s, 10, 1, 1, false), ps::ActivationKind::relu);
        const std::size_t v = b.activation(b.conv(t, 10, 1, 1, false), ps::ActivationKind::tanh);
        const std::size_t product = b.product(u, v);
        heads.push_back(b.conv(product, 3, 1));
        heads.push_back(b.product(b.activation(b.conv(u, 3, 1), ps::ActivationKind::tanh),
                                  b.activation(b.conv(v, 3, 1), ps::ActivationKind::relu)));
        heads.push_back(b.product(b.conv(product, 3, 3), heads.back()));
    }
    b.graph.set_outputs(heads);
    return b.graph;
}

/// EfficientDet's neck (Tan et al. 2020): five levels, so many stages, separable convolutions of so many channels.
inline ps::Graph bifpn(int stages, int channels = 32) {
    Builder b;
    const std::size_t image = b.input({.c = 3, .h = 256, .w = 256});
    std::vector<std::size_t> level;
    std::size_t feature = b.conv(b.conv(image, 16, 3, 2), 24, 3, 2);
    for (int i = 0; i < 5; ++i) level.push_back(b.conv(feature = b.conv(feature, 40, 3, 2), channels, 1, 1, false));
    for (int stage = 0; stage < stages; ++stage) {
        std::vector<std::size_t> down(level);
        for (std::size_t i = level.size() - 1; i-- > 0;) {
            down[i] = b.separable(b.sum({level[i], b.upsample(down[i + 1])}), channels);
        }
        std::vector<std::size_t> up(down);
        for (std::size_t i = 1; i < level.size(); ++i) {
            const std::size_t below = b.pool(up[i - 1]);
            up[i] = b.separable(i + 1 < level.size() ? b.sum({level[i], down[i], below}) : b.sum({level[i], below}),
                                channels);
        }
        level = up;
    }
    b.graph.set_outputs(level);
    return b.graph;
}

/// A body as HRNet's (Wang et al. 2020): branches of halved sizes and doubled channels; after each module every branch
/// takes the sum of all.
inline ps::Graph hrnet(int branches, int modules) {
    Builder b;
    std::vector<std::size_t> branch{b.conv(b.conv(b.input({.c = 3, .h = 128, .w = 128}), 32, 3, 2), 32, 3, 2)};
    for (int i = 1; i < branches; ++i) branch.push_back(b.conv(branch.back(), 32 << i, 3, 2));
    for (int module = 0; module < modules; ++module) {
        for (std::size_t i = 0; i < branch.size(); ++i) {
            for (int block = 0; block < 2; ++block) {
                const int k = 32 << i;
                branch[i] = b.sum({b.conv(b.conv(branch[i], k, 3), k, 3, 1, false), branch[i]});
            }
        }
        std::vector<std::size_t> fused;
        for (std::size_t to = 0; to < branch.size(); ++to) {
            std::vector<std::size_t> terms;
            for (std::size_t from = 0; from < branch.size(); ++from) {
                std::size_t term = branch[from];
                if (from > to) term = b.upsample(b.conv(term, 32 << to, 1, 1, false), 1 << (from - to));
                for (std::size_t i = from; i < to; ++i) term = b.conv(term, 32 << (i + 1), 3, 2, i + 1 < to);
                terms.push_back(term);
            }
            fused.push_back(b.sum(terms));
        }
        branch = fused;
    }
    b.graph.set_outputs(branch);
    return b.graph;
}

/// UNet++ (Zhou et al. 2018): each node joins all before it at its depth with what comes from below.
inline ps::Graph unet_plus_plus(int depth) {
    Builder b;
    std::vector<std::vector<std::size_t>> nodes;
    std::size_t from = b.input({.c = 3, .h = 96, .w = 96});
    for (int i = 0; i < depth; ++i) {
        if (i > 0) from = b.pool(from);
        from = b.conv(b.conv(from, 32 << i, 3), 32 << i, 3);
        nodes.push_back({from});
    }
    for (int j = 1; j < depth; ++j) {
        for (int i = 0; i + j < depth; ++i) {
            const auto row = static_cast<std::size_t>(i);
            std::vector<std::size_t> joined = nodes[row];
            joined.push_back(b.upsample(nodes[row + 1].back()));
            nodes[row].push_back(b.conv(b.conv(b.concat(joined), 32 << i, 3), 32 << i, 3));
        }
    }
    return b.graph;
}

/// A block as DenseNet's (Huang et al. 2017): each layer reads all before it.
inline ps::Graph dense_block(int layers, int growth = 32) {
    Builder b;
    std::vector<std::size_t> features{b.conv(b.input({.c = 3, .h = 56, .w = 56}), 64, 3, 2)};
    for (int i = 0; i < layers; ++i) features.push_back(b.conv(b.conv(b.concat(features), 4 * growth, 1), growth, 3));
    b.concat(features);
    return b.graph;
}

/// A randomly wired stage (Xie et al. 2019): nodes on a ring, each joined to `near` on either side, a quarter of the
/// edges rewired at random; each sums what it reads and convolves it.
inline ps::Graph randomly_wired(int nodes, int near = 2) {
    Builder b;
    const std::size_t image = b.conv(b.input({.c = 3, .h = 112, .w = 112}), 32, 3, 2);
    std::mt19937 bits(1);
    std::vector<std::vector<std::size_t>> reads(static_cast<std::size_t>(nodes));
    for (int i = 0; i < nodes; ++i) {
        for (int step = 1; step <= near; ++step) {
            const int other =
                bits() % 4 == 0 ? static_cast<int>(bits() % static_cast<unsigned>(nodes)) : (i + step) % nodes;
            if (other != i)
                reads[static_cast<std::size_t>(std::max(i, other))].push_back(
                    static_cast<std::size_t>(std::min(i, other)));
        }
    }
    std::vector<std::size_t> results;
    std::vector<bool> read(reads.size(), false);
    for (auto& from : reads) {
        std::ranges::sort(from);
        from.erase(std::unique(from.begin(), from.end()), from.end());
        for (std::size_t& other : from) read[other] = true, other = results[other];
        results.push_back(b.separable(from.empty() ? image : b.sum(from), 64));
    }
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!read[i]) ends.push_back(results[i]);
    }
    b.sum(ends);
    return b.graph;
}

}  // namespace graphs
