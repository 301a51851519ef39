// expect: primsel: this tensor is const, but a run writes its result to it
// expect: engine_const_result.cpp:21:
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<3, 4, 4>, Conv<2, 3>> {};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
};

void use(ps::Engine<Net, Mine>& engine) {
    const ps::Tensor<> image(Net::input_shape);
#ifndef PRIMSEL_TEST_FIXED
    const
#endif
        ps::Tensor<>
            result(Net::output_shape);
    engine.run(image, result);
}
