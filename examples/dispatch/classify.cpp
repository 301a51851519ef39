// The part of the program that is compiled for several instruction sets.
#include "classify.hpp"

#include <primsel/primsel.hpp>

#include <algorithm>
#include <span>

namespace ps = primsel;
using namespace ps::layer;

namespace {

struct Net : ps::Network<Input<3, 32, 32>, Conv<16, 3>, Relu, MaxPool<2>, Conv<32, 3>, Relu, GlobalAvgPool, Dense<10>> {
};

struct Few : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d, ps::DirectHwc, ps::Indirect>;
    using layouts = ps::TypeList<ps::chw, ps::hwc>;
};

ps::Engine<Net, Few>& engine() {
    static ps::Engine<Net, Few> net{ps::random_weights(Net::graph())};
    return net;
}

}  // namespace

int classify(const float* image) {
    ps::Tensor<> scores(Net::output_shape);
    engine().run(std::span(image, Net::input_shape.size()), scores.span());
    return static_cast<int>(std::ranges::max_element(scores.span()) - scores.span().begin());
}

const char* instruction_set() { return ps::default_arch::name(); }
