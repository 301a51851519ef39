// Freezes a network type and a graph into a folder, for frozen.py: NAME.hpp and NAME.bin, with an image and the
// engine's result.
#include <primsel/frozen/write_frozen.hpp>
#include <primsel/primsel.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace {

namespace ps = primsel;
using namespace ps::layer;

// README's network.
template <int C>
using Basic = Residual<Conv<C, 3>, Relu, Conv<C, 3>>;
struct Tiny : ps::Network<Input<3, 32, 32>, Named<"stem", Conv<64, 3>>, Relu, Basic<64>, Relu, MaxPool<2>,
                          GlobalAvgPool, Dense<10>, Softmax> {};

// Layers for every filtering of Winograd with a stride.
struct Strided : ps::Network<Input<3, 99, 91>, Named<"stem11", Conv<4, 11, Stride<4>>>, Relu,
                             Named<"stem7", Conv<24, 7, Stride<2>>>, Relu, Named<"strided", Conv<40, 3, Stride<2>>>,
                             GlobalAvgPool, Dense<10>> {};

/// Prices Winograd's filtering at next to nothing.
struct Winograds {
    static constexpr std::string_view name = "winograds";
    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> convs, std::span<double> seconds) const {
        std::ranges::transform(convs, seconds.begin(), [&](ps::ConvQuery const& conv) {
            return kernels.primitives[conv.primitive].id.starts_with("winograd") ? 1e-9 : 1.0;
        });
    }
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double> seconds) const {
        std::ranges::fill(seconds, 1e-6);
    }
    void predict(ps::Kernels const&, std::span<const ps::OpQuery>, std::span<double> seconds) const {
        std::ranges::fill(seconds, 1e-6);
    }
};

void write(std::string const& path, std::span<const float> values) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
}
template <class Engine>
void freeze(Engine& engine, ps::Weights const& weights, std::string const& stem) {
    ps::write_frozen(engine, weights, {.header = stem + ".hpp"});
    ps::Tensor<> image(engine.in_shape()), scores(engine.out_shape());
    for (std::size_t i = 0; i < image.size(); ++i) image.span()[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
    engine.run(image.span(), scores.span());
    write(stem + ".in", image.span());
    write(stem + ".expected", scores.span());
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 1;
    const std::string folder = arguments[1];
    const ps::Weights weights = ps::random_weights(Tiny::graph());
    ps::Engine<Tiny> tiny{weights};
    freeze(tiny, weights, folder + "/tiny");

    const ps::Weights more = ps::random_weights(Strided::graph());
    ps::Engine<ps::Graph> strided{Strided::graph(), more, ps::Predict{Winograds{}}};
    for (const char* const layer : {"stem11", "stem7", "strided"}) {
        if (strided.plan().layer(layer).primitive.starts_with("winograd")) continue;
        std::fprintf(stderr, "%s runs by %s\n", layer, strided.plan().layer(layer).primitive.c_str());
        return 1;
    }
    freeze(strided, more, folder + "/strided");
}
