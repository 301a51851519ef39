// A program without a planner: it classifies an image, of which it reads the floats from standard input, with a network
// that `primsel freeze` made a part of the program. See docs/engine/frozen.md.
#include "squeezenet.hpp"

#include <algorithm>
#include <cstdio>

namespace {

using Engine = primsel::FrozenEngine<squeezenet>;
Engine::Arena arena;
Engine engine;
float image[Engine::in_floats()], scores[Engine::out_floats()];

}  // namespace

int main() {
    if (const char* refusal = engine.open(squeezenet_weights(), arena)) {
        std::fprintf(stderr, "frozen: %s\n", refusal);
        return 1;
    }
    const std::size_t read = std::fread(image, sizeof(float), engine.in_floats(), stdin);
    if (read != engine.in_floats()) {
        std::fprintf(stderr, "frozen: %zu of the %zu floats of an image\n", read, engine.in_floats());
        return 1;
    }
    engine.run(image, scores);
    const float* best = std::max_element(scores, scores + engine.out_floats());
    std::printf("class %td, score %g\n", best - scores, static_cast<double>(*best));
}
