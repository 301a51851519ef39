// app net.bin: the scores of one image.
#include <net.hpp>

#include <cstdio>

using Engine = primsel::FrozenEngine<net>;

static Engine::Arena arena;
static Engine engine;
static float image[Engine::in_floats()], scores[Engine::out_floats()];

// In no program that leaves out what is not called.
extern "C" int never_called() { return 42; }

int main(int, char** words) {
    primsel::frozen::WeightsFile weights;
    const char* refusal = weights.open(words[1]);
    if (refusal == nullptr) refusal = engine.open(weights.bytes(), arena);
    if (refusal != nullptr) return std::puts(refusal), 1;
    for (std::size_t i = 0; i < engine.in_floats(); ++i) image[i] = static_cast<float>(i % 17) / 8 - 1;
    engine.run(image, scores);
    for (const float score : scores) std::printf("%.9g\n", static_cast<double>(score));
}
