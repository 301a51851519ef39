// Writes the trained network of examples/fashion_mnist as an ONNX file: write_model <weights.safetensors> <model.onnx>
#include "../fashion_mnist/fashion_net.hpp"

#include <primsel/io/weights.hpp>
#include <primsel/onnx/export.hpp>

#include <cstdio>
#include <exception>

int main(int count, char** arguments) try {
    if (count != 3) return 2;
    primsel::save_onnx(arguments[2], fashion::Net::graph(), primsel::read_weights<fashion::Net>(arguments[1]));
} catch (std::exception const& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 1;
}
