// One program for every x86-64 processor: main is compiled for the oldest, classify for SSE4.2, AVX2 and AVX-512
// (CMakeLists.txt), and which of them runs is decided when the program starts.
#include "classify.hpp"

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

int main() {
    std::vector<float> image(3 * 32 * 32);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::sin(0.01F * static_cast<float>(i));
    try {
        std::printf("class %d, by %s\n", classify(image.data()), instruction_set());
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
