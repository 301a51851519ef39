// A layout of one's own in an engine: blocks of eight channels, in which a depthwise convolution computes eight
// channels at once. Any type with a name, a size and an offset is a layout; this one also says how images come to it
// and leave it, in place of element by element.
#include <primsel/primsel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ps = primsel;
using namespace ps::layer;

/// [c / 8][h][w][8]; the last block is padded with zeros.
struct chw8c {
    static constexpr std::string_view name = "chw8c";
    static constexpr std::size_t size(ps::Shape shape) { return blocks(shape) * 8 * shape.pixels(); }
    static constexpr std::size_t offset(ps::Shape shape, ps::Coord at) {
        const auto c = static_cast<std::size_t>(at.c);
        const std::size_t pixel =
            static_cast<std::size_t>(at.h) * static_cast<std::size_t>(shape.w) + static_cast<std::size_t>(at.w);
        return (c / 8 * shape.pixels() + pixel) * 8 + c % 8;
    }

    static void transform_from(ps::chw, ps::Shape shape, const float* src, float* dst,
                               ps::ExecutorRef executor) noexcept {
        executor.parallel_for(blocks(shape), [=](std::size_t block, std::size_t) {
            const std::size_t first = 8 * block * shape.pixels(), channels = channels_of(shape, block);
            if (channels < 8) std::fill_n(dst + first, 8 * shape.pixels(), 0.0F);
            ps::transpose_columns(src + first, shape.pixels(), dst + first, 8, channels, 0, shape.pixels());
        });
    }
    static void transform_to(ps::chw, ps::Shape shape, const float* src, float* dst,
                             ps::ExecutorRef executor) noexcept {
        executor.parallel_for(blocks(shape), [=](std::size_t block, std::size_t) {
            const std::size_t first = 8 * block * shape.pixels(), channels = channels_of(shape, block);
            ps::transpose_columns(src + first, 8, dst + first, shape.pixels(), shape.pixels(), 0, channels);
        });
    }

private:
    static constexpr std::size_t blocks(ps::Shape shape) { return (static_cast<std::size_t>(shape.c) + 7) / 8; }
    static constexpr std::size_t channels_of(ps::Shape shape, std::size_t block) {
        return std::min<std::size_t>(8, static_cast<std::size_t>(shape.c) - 8 * block);
    }
};

/// A depthwise convolution in blocks of eight channels.
struct BlockedDepthwise {
    static constexpr std::string_view id = "blocked-depthwise";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = chw8c;
    using out_layout = chw8c;
    static constexpr bool fuses_epilogue = true;

    static ps::Support supports(ps::ConvShape const& s) {
        return s.groups == s.c && s.k == s.c ? ps::Support::yes() : ps::Support::no("needs a group a channel");
    }
    template <class Arch>
    static void run(ps::ConvShape const& s, ps::ConvArgs const& args) noexcept {
        const auto blocks = (static_cast<std::size_t>(s.c) + 7) / 8;
        args.executor.parallel_for(blocks * static_cast<std::size_t>(s.out_h()), [&](std::size_t i, std::size_t) {
            const int block = static_cast<int>(i) / s.out_h(), y = static_cast<int>(i) % s.out_h();
            for (int x = 0; x < s.out_w(); ++x) pixel(s, args, 8 * block, y, x);
        });
    }

private:
    static void pixel(ps::ConvShape const& s, ps::ConvArgs const& args, int c, int y, int x) noexcept {
        const int channels = std::min(8, s.c - c);
        float sums[8] = {};
        for (int b = 0; args.bias != nullptr && b < channels; ++b) sums[b] = args.bias[c + b];
        for (int i = 0; i < s.fh; ++i) {
            for (int j = 0; j < s.fw; ++j) {
                const int h = y * s.stride_h - s.pad_top + i * s.dilation_h;
                const int w = x * s.stride_w - s.pad_left + j * s.dilation_w;
                if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
                const float* src = args.src + chw8c::offset(s.in_shape(), {c, h, w});
                const float* tap = args.weights + (c * s.fh + i) * s.fw + j;
                for (int b = 0; b < channels; ++b) sums[b] += src[b] * tap[b * s.fh * s.fw];
            }
        }
        const std::size_t at = chw8c::offset(s.out_shape(), {c, y, x});
        for (int b = 0; b < 8; ++b) {
            const float other = args.residual != nullptr ? args.residual[at + static_cast<std::size_t>(b)] : 0.0F;
            args.dst[at + static_cast<std::size_t>(b)] =
                b < channels ? std::clamp(sums[b] + other, args.clamp.low, args.clamp.high) : 0.0F;
        }
    }
};

struct Blocked : ps::DefaultPolicies {
    using layouts = ps::AllLayouts::with<chw8c>;
    using primitives = ps::TypeList<ps::DirectHwc, BlockedDepthwise>;
};

struct Net : ps::Network<Input<3, 32, 32>, Named<"stem", Conv<20, 3>>, Relu,
                         Named<"depthwise", Conv<20, 3, Groups<20>>>, Relu, GlobalAvgPool, Dense<10>> {};

int main() {
    const ps::Weights weights = ps::random_weights(Net::graph());
    ps::Engine<Net, Blocked> blocked{weights, ps::PlanOptions{.primitive = "blocked-depthwise"}};
    ps::Engine<Net> usual{weights};
    for (const char* name : {"stem", "depthwise"}) {
        ps::PlannedLayer const& layer = blocked.plan().layer(name);
        std::printf("%s: %s from %s to %s\n", name, layer.primitive.c_str(), layer.in_layout.c_str(),
                    layer.out_layout.c_str());
    }
    ps::Tensor<> image(Net::input_shape), scores(Net::output_shape), expected(Net::output_shape);
    float value = 0;
    for (float& pixel : image) pixel = std::sin(value += 0.7F);
    blocked.run(image.span(), scores.span());
    usual.run(image.span(), expected.span());
    const bool same = std::ranges::equal(scores, expected, [](float a, float b) { return std::abs(a - b) < 1e-4F; });
    std::printf("%s\n", same ? "the usual engine's scores" : "other scores");
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
