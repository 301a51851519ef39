// A primitive of your own is a plain type: no base class, no registration, no macro.
#include <primsel/primsel.hpp>

#include <cstdio>

namespace ps = primsel;
using namespace ps::layer;

/// A 1x1 convolution in hwc, as anybody would write it first.
struct PlainPointwise {
    static constexpr std::string_view id = "plain-pointwise";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = ps::hwc;
    using out_layout = ps::hwc;

    static ps::Support supports(ps::ConvShape const& s) {
        if (s.taps() != 1 || s.strided() || s.padded())
            return ps::Support::no("needs a 1x1 kernel, stride 1, no padding");
        return s.groups == 1 ? ps::Support::yes() : ps::Support::no("needs one group");
    }

    template <class Arch>
    static void run(ps::ConvShape const& s, ps::ConvArgs const& args) noexcept {
        for (std::size_t pixel = 0; pixel < s.out_pixels(); ++pixel) {
            for (int k = 0; k < s.k; ++k) {
                float sum = 0;
                for (int c = 0; c < s.c; ++c) {
                    sum += args.weights[k * s.c + c] *
                           args.src[pixel * static_cast<std::size_t>(s.c) + static_cast<std::size_t>(c)];
                }
                args.dst[pixel * static_cast<std::size_t>(s.k) + static_cast<std::size_t>(k)] = sum;
            }
        }
    }
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d, PlainPointwise>;
};

struct Net : ps::Network<Input<8, 16, 16>, Named<"first", Conv<16, 3>>, Relu, Named<"second", Conv<4, 1>>> {};

int main() {
    ps::Engine<Net, Mine> engine{ps::random_weights(Net::graph()), {.primitive = "plain-pointwise"}};
    for (const char* name : {"first", "second"}) {
        std::printf("%s runs on %s\n", name, engine.plan().layer(name).primitive.c_str());
    }
    ps::Tensor<> image(Net::input_shape), result(Net::output_shape);
    engine.run(image.span(), result.span());
}
