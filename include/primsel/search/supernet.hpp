#pragma once

#include <primsel/core/error.hpp>
#include <primsel/forecast/features.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/network/graph.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// A sub-network of a supernet: the choice at each place, counted from 0, the smallest.
using Subnet = std::vector<std::uint8_t>;

/// A family of networks, each given by choices. choices() returns the number of choices at each place. convolutions()
/// equals conv_sizes() of graph(), without making a graph.
template <class S>
concept Supernet = requires(S const& supernet, Subnet const& subnet, int batch) {
    { supernet.choices() } -> std::convertible_to<std::vector<std::size_t>>;
    { supernet.graph(subnet, batch) } -> std::same_as<Graph>;
    { supernet.convolutions(subnet) } -> std::convertible_to<std::vector<forecast::ConvSizes>>;
};

/// Throws error unless the sub-network has a valid choice at each place.
inline void check_subnet(std::span<const std::size_t> choices, Subnet const& subnet) {
    if (subnet.size() != choices.size()) {
        fail("search: a sub-network of ", subnet.size(), " choices, where there are ", choices.size());
    }
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (subnet[i] < choices[i]) continue;
        fail("search: choice ", static_cast<int>(subnet[i]), " at place ", i, ", where there are ", choices[i]);
    }
}
/// The sub-network with the first choice at each place, or the last.
[[nodiscard]] inline Subnet smallest_subnet(std::span<const std::size_t> choices) { return Subnet(choices.size(), 0); }
[[nodiscard]] inline Subnet largest_subnet(std::span<const std::size_t> choices) {
    Subnet subnet;
    for (const std::size_t count : choices) subnet.push_back(static_cast<std::uint8_t>(count - 1));
    return subnet;
}
/// The sub-network as text, such as "0120": a digit or letter for each place.
[[nodiscard]] inline std::string text_of(Subnet const& subnet) {
    std::string text;
    for (const std::uint8_t choice : subnet) text += "0123456789abcdefghijklmnopqrstuvwxyz?"[std::min<int>(choice, 36)];
    return text;
}

namespace detail {

/// The place of a convolution in a sub-network; stage 0 is the stem.
struct SubnetPlace {
    int stage = 0, block = 0;
    std::string_view part;
    [[nodiscard]] std::string name(std::string_view what) const {
        return stage == 0 ? join("stem.", part, '.', what) : join("layer", stage, '.', block, '.', part, '.', what);
    }
};

/// Builds a sub-network as a Graph.
struct SubnetGraph {
    Graph graph;
    using Value = std::size_t;

    Value input(Shape const& shape) { return graph.add("input", InputParams{shape}, {}); }
    Value conv(SubnetPlace const& at, Value from, ConvParams const& conv, bool relu) {
        const Value made = graph.add(at.name("conv"), conv, {from});
        const Value normed = graph.add(at.name("bn"), BatchNormParams{}, {made});
        return relu ? graph.add(at.name("relu"), ActivationParams{}, {normed}) : normed;
    }
    Value add(SubnetPlace const& at, Value a, Value b) {
        const Value sum = graph.add(at.name("add"), AddParams{}, {a, b});
        return graph.add(at.name("relu"), ActivationParams{}, {sum});
    }
    Value pool(SubnetPlace const& at, Value from, PoolParams const& pool) {
        return graph.add(at.name("pool"), pool, {from});
    }
    void classify(Value from, int classes) {
        const Value mean = graph.add("pool", GlobalPoolParams{}, {from});
        graph.add("fc", DenseParams{.k = classes}, {mean});
    }
    [[nodiscard]] int channels(Value of) const { return graph[of].shape.c; }
};

/// Collects the sizes of a sub-network's convolutions alone.
struct SubnetConvolutions {
    std::vector<forecast::ConvSizes> sizes;
    using Value = Shape;

    static Value input(Shape const& shape) { return shape; }
    Value conv(SubnetPlace const&, Value const& from, ConvParams const& conv, bool) {
        sizes.push_back(forecast::conv_sizes(conv, from));
        return {conv.k, sizes.back().out_h, sizes.back().out_w};
    }
    static Value add(SubnetPlace const&, Value const& a, Value const&) { return a; }
    static Value pool(SubnetPlace const&, Value const& from, PoolParams const& pool) {
        return pool.output(std::span(&from, 1));
    }
    static void classify(Value const&, int) {}
    [[nodiscard]] static int channels(Value const& of) { return of.c; }
};

/// The multiple of 8 nearest to a number of channels, at least 8 and not below nine tenths of the number (Sandler et
/// al., MobileNetV2, 2018).
[[nodiscard]] inline int in_eights(double channels) {
    const int near = std::max(8, static_cast<int>(channels + 4) / 8 * 8);
    return near < 0.9 * channels ? near + 8 : near;
}

}  // namespace detail

/// Residual networks of four stages of bottlenecks, with a choice of image size, widths, depths and expansions. The
/// default is the space of OFA-ResNet50 (Cai et al., Once for all: train one network and specialize it for efficient
/// deployment, 2020); shorter lists make a smaller one. The places are: the image size; whether the stem has a residual
/// block; the widths of the stem and of the stages; the depths of the stages; and the expansion of each possible block.
/// The expansion of an absent block changes nothing.
struct ResNetSupernet {
    std::vector<int> sizes{128, 144, 160, 176, 192, 224};
    std::vector<double> widths{0.65, 0.8, 1.0};
    /// Blocks of a stage beyond `least_blocks`.
    std::vector<int> depths{0, 1, 2};
    /// The ratio of a bottleneck's inner channels to its result's.
    std::vector<double> expansions{0.2, 0.25, 0.35};
    std::array<int, 4> least_blocks{2, 2, 4, 2};
    std::array<int, 4> channels{256, 512, 1024, 2048};
    int stem_channels = 64;
    int classes = 1000;

    [[nodiscard]] std::vector<std::size_t> choices() const {
        if (sizes.empty() || widths.empty() || depths.empty() || expansions.empty()) {
            fail("search: a supernet without choices");
        }
        std::vector<std::size_t> counts{sizes.size(), 2};
        counts.insert(counts.end(), 1 + channels.size(), widths.size());
        counts.insert(counts.end(), channels.size(), depths.size());
        counts.insert(counts.end(), blocks(), expansions.size());
        return counts;
    }
    /// Throws error if the sub-network has not a valid choice at each place.
    [[nodiscard]] Graph graph(Subnet const& subnet, int batch = 1) const {
        check_subnet(choices(), subnet);
        detail::SubnetGraph to{Graph(batch)};
        build(subnet, to);
        return std::move(to.graph);
    }
    [[nodiscard]] std::vector<forecast::ConvSizes> convolutions(Subnet const& subnet) const {
        detail::SubnetConvolutions to;
        to.sizes.reserve(3 * blocks() + 8);
        build(subnet, to);
        return std::move(to.sizes);
    }

private:
    [[nodiscard]] int most_blocks(std::size_t stage) const { return least_blocks[stage] + std::ranges::max(depths); }
    [[nodiscard]] std::size_t blocks() const {
        int sum = 0;
        for (std::size_t stage = 0; stage < channels.size(); ++stage) sum += most_blocks(stage);
        return static_cast<std::size_t>(sum);
    }
    [[nodiscard]] static ConvParams square(int k, int size, int stride = 1) {
        return {.k = k, .kernel = size, .stride = stride, .padding = size / 2, .bias = false};
    }

    template <class To>
    void build(Subnet const& subnet, To& to) const {
        const int size = sizes[subnet[0]];
        const int wide = detail::in_eights(stem_channels * widths[subnet[2]]);
        auto x = to.input({3, size, size});
        x = to.conv({0, 0, "0"}, x, square(detail::in_eights(wide / 2.0), 3, 2), true);
        if (subnet[1] == 1) {
            const auto y = to.conv({0, 0, "1"}, x, square(to.channels(x), 3), false);
            x = to.add({0, 0, "1"}, y, x);
        }
        x = to.conv({0, 0, "2"}, x, square(wide, 3), true);
        x = to.pool({0, 0, "3"}, x, {.window = 3, .stride = 2, .padding = 1});
        const std::size_t first_width = 3, first_depth = first_width + channels.size();
        std::size_t expansion = first_depth + channels.size();
        for (std::size_t stage = 0; stage < channels.size(); ++stage) {
            const int out = detail::in_eights(channels[stage] * widths[subnet[first_width + stage]]);
            const int count = least_blocks[stage] + depths[subnet[first_depth + stage]];
            for (int block = 0; block < count; ++block) {
                const double share = expansions[subnet[expansion + static_cast<std::size_t>(block)]];
                x = bottleneck(to, static_cast<int>(stage) + 1, block, x, detail::in_eights(out * share), out);
            }
            expansion += static_cast<std::size_t>(most_blocks(stage));
        }
        to.classify(x, classes);
    }
    /// The first block of each stage but the first halves the image; its shortcut averages 2 x 2 pixels.
    template <class To, class Value>
    static Value bottleneck(To& to, int stage, int block, Value const& x, int inner, int out) {
        const int stride = stage > 1 && block == 0 ? 2 : 1;
        auto y = to.conv({stage, block, "1"}, x, square(inner, 1), true);
        y = to.conv({stage, block, "2"}, y, square(inner, 3, stride), true);
        y = to.conv({stage, block, "3"}, y, square(out, 1), false);
        Value shortcut = x;
        if (stride == 2) {
            shortcut = to.pool({stage, block, "downsample"}, shortcut,
                               {.kind = PoolKind::average, .window = 2, .stride = 2, .ceil_mode = true});
        }
        if (block == 0) shortcut = to.conv({stage, block, "downsample"}, shortcut, square(out, 1), false);
        return to.add({stage, block, "sum"}, y, shortcut);
    }
};

static_assert(Supernet<ResNetSupernet>);

}  // namespace primsel::inline PRIMSEL_ABI::search
