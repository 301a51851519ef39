#include "shapes.hpp"

#include <primsel/layer/activation.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace {

namespace ps = primsel;
using namespace ps::layer;
using ps::ActivationKind;

static_assert(ps::LayerParams<ps::ActivationParams>);

TEST_CASE("activations keep the shape") {
    CHECK(laws::keeps_shape(Relu::params));
    CHECK(laws::keeps_shape(Sigmoid::params));
}

TEST_CASE("activations as types") {
    CHECK(Relu::params.kind == ActivationKind::relu);
    CHECK(Relu6::params.kind == ActivationKind::relu6);
    CHECK(Sigmoid::params.kind == ActivationKind::sigmoid);
    CHECK(HardSwish::params.kind == ActivationKind::hard_swish);
    CHECK(LeakyRelu<>::params == ps::ActivationParams{ActivationKind::leaky_relu, 0.01F});
    CHECK(LeakyRelu<std::ratio<1, 5>>::params.alpha == 0.2F);
    CHECK(Relu::params.name() == "relu");
    CHECK(Relu6::params.name() == "relu6");
    CHECK(LeakyRelu<>::params.name() == "leaky_relu");
    CHECK(Sigmoid::params.name() == "sigmoid");
    CHECK(HardSwish::params.name() == "hard_swish");
    CHECK(Tanh::params.kind == ActivationKind::tanh);
    CHECK(Elu<>::params == ps::ActivationParams{ActivationKind::elu, 1.0F});
    CHECK(HardSigmoid<>::params == ps::ActivationParams{ActivationKind::hard_sigmoid, 1.0F / 6, 0.5F});
    CHECK(Tanh::params.name() == "tanh");
    CHECK(Elu<>::params.name() == "elu");
    CHECK(HardSigmoid<>::params.name() == "hard_sigmoid");
    CHECK(ps::ActivationParams{ActivationKind::clip}.name() == "clip");
    CHECK(ps::ActivationParams{ActivationKind::sqrt}.name() == "sqrt");
    CHECK(ps::ActivationParams{ActivationKind::exp}.name() == "exp");
    CHECK(ps::ActivationParams{ActivationKind::truncate}.name() == "truncate");
    CHECK(ps::ActivationParams{ActivationKind::power}.name() == "power");
    CHECK(ps::ActivationParams{ActivationKind::atanh}.name() == "atanh");
}

}  // namespace
