// A user's translation unit: everything that running ResNet-18 needs, all kernels included.
#include <primsel/primsel.hpp>

int main() {
    primsel::Engine<primsel::zoo::ResNet18> engine{primsel::random_weights(primsel::zoo::ResNet18::graph())};
    primsel::Tensor<> image(engine.in_shape()), scores(engine.out_shape());
    engine.run(image.span(), scores.span());
    return scores(0, 0, 0) > 0 ? 0 : 1;
}
