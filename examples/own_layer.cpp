// A layer of your own is a plain type: no base class, no registration, no macro.
#include <primsel/primsel.hpp>

#include <cmath>
#include <cstdio>

namespace ps = primsel;
using namespace ps::layer;

/// Snake (Ziyin et al. 2020), x + sin(frequency * x)^2 / frequency.
struct Snake {
    static constexpr std::string_view name = "snake";
    static constexpr bool in_place = true, channel_wise = true;
    int frequency = 1;

    constexpr void each_field(auto const& visit) const { visit("frequency", frequency); }
    static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
    static ps::LayerWork work(std::span<const ps::Shape> inputs) {
        return {.operations = 300.0 * static_cast<double>(inputs[0].size())};
    }
    /// Elementwise: the same in every layout.
    template <class Arch, class Layout>
    void run(ps::OpArgs const& args) const noexcept {
        const std::size_t size = static_cast<std::size_t>(args.batch) * args.dst_shape.size();
        for (std::size_t i = 0; i < size; ++i) {
            const float x = args.src[0][i];
            const float sine = std::sin(static_cast<float>(frequency) * x);
            args.dst[i] = x + sine * sine / static_cast<float>(frequency);
        }
    }
    friend bool operator==(Snake const&, Snake const&) = default;
};

struct Net : ps::Network<Input<8, 16, 16>, Conv<16, 3>, Own<Snake>, Conv<16, 3>, Own<Snake, 2>, GlobalAvgPool> {};

int main() {
    ps::Engine<Net> engine{ps::random_weights(Net::graph())};
    for (const char* name : {"snake1", "snake2"}) std::printf("%s", engine.plan().explain(name).c_str());
    ps::Tensor<> image(Net::input_shape), result(Net::output_shape);
    engine.run(image.span(), result.span());
}
