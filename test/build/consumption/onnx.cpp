#include <primsel/onnx/export.hpp>

int main() {
    primsel::Graph graph;
    graph.add("image", primsel::InputParams{{.c = 3, .h = 4, .w = 4}}, {});
    graph.add("relu", primsel::ActivationParams{}, {0});
    return primsel::to_onnx(graph, {}).empty() ? 1 : 0;
}
