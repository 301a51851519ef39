#include <primsel/onnx/export.hpp>
#include <primsel/onnx/import.hpp>

int main() {
    primsel::Graph graph;
    graph.add("image", primsel::InputParams{{.c = 3, .h = 4, .w = 4}}, {});
    graph.add("relu", primsel::ActivationParams{}, {0});
    const std::string file = primsel::to_onnx(graph, {});
    const primsel::SharedBytes bytes{std::as_bytes(std::span<const char>(file)), nullptr};
    return primsel::parse_onnx("relu", bytes).graph.size() == 2 ? 0 : 1;
}
