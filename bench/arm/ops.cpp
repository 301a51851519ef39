// Pools, softmax and activations; loops.py traces them.
#include "layer.hpp"

#include <primsel/op/activation.hpp>
#include <primsel/op/global_pool.hpp>
#include <primsel/op/pool.hpp>
#include <primsel/op/softmax.hpp>

namespace ps = primsel;
using Arch = ps::default_arch;

namespace {

template <class Layout, class Params>
void op(const char* name, Params const& params, ps::Shape in, ps::Shape out) {
    const float* src = room[0];
    ps::Sequential executor;
    const ps::OpArgs args{
        .src = {&src, 1}, .src_shape = {&in, 1}, .dst = room[1], .dst_shape = out, .executor = executor};
    layer(name, 0, [&] { ps::Op<Params>::template run<Arch, Layout>(params, args); });
}

void pool(const char* name, ps::PoolKind kind, int window) {
    const int in = 26 + window;
    op<ps::hwc>(name, ps::PoolParams{.kind = kind, .window = window, .stride = 2}, {.c = 32, .h = in, .w = in},
                {.c = 32, .h = 14, .w = 14});
}

void activation(const char* name, ps::ActivationKind kind) {
    constexpr ps::Shape shape{.c = 32, .h = 8, .w = 16};
    op<ps::hwc>(name, ps::ActivationParams{.kind = kind}, shape, shape);
}

void softmax(const char* name, int lines, int count) {
    const ps::Shape shape{.c = 1, .h = lines, .w = count};
    op<ps::chw>(name, ps::SoftmaxParams{.axis = ps::Axis::w}, shape, shape);
}

}  // namespace

int main() {
    pool("max pool 2x2, stride 2", ps::PoolKind::max, 2);
    pool("max pool 3x3, stride 2", ps::PoolKind::max, 3);
    pool("average pool 2x2, stride 2", ps::PoolKind::average, 2);
    pool("average pool 3x3, stride 2", ps::PoolKind::average, 3);
    op<ps::hwc>("global average pool", ps::GlobalPoolParams{}, {.c = 256, .h = 7, .w = 7}, {.c = 256, .h = 1, .w = 1});
    softmax("softmax of 1000", 1, 1000);
    softmax("softmax of 49, 32 rows", 32, 49);
    activation("sigmoid", ps::ActivationKind::sigmoid);
    activation("silu", ps::ActivationKind::silu);
    activation("tanh", ps::ActivationKind::tanh);
    activation("gelu", ps::ActivationKind::gelu);
}
