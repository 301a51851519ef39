// An engine for any graph: every kernel of the default list and every other layer.
#include <primsel/primsel.hpp>

int main() {
    const primsel::Graph graph = primsel::zoo::ResNet18::graph();
    primsel::Engine<primsel::Graph> engine{graph, primsel::random_weights(graph)};
    primsel::Tensor<> image(engine.in_shape()), scores(engine.out_shape());
    engine.run(image.span(), scores.span());
    return scores(0, 0, 0) > 0 ? 0 : 1;
}
