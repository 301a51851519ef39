// expect: primsel: this tensor is not in the layout of the engine's images and results, the first of Policies::layouts
// expect: engine_image_layout.cpp:20:
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<3, 4, 4>, Conv<2, 3>> {};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
#ifdef PRIMSEL_TEST_FIXED
    using layouts = ps::TypeList<ps::hwc, ps::chw, ps::hcw>;
#endif
};

void use(ps::Engine<Net, Mine>& engine) {
    ps::Tensor<ps::hwc> image(Net::input_shape);
    std::vector<float> result(Net::output_shape.size());
    engine.run(image, result);
}
