// The part of the program that is compiled for each instruction set.
#include "interface.hpp"

#include <small.hpp>

const char* run(const float* image, float* result) {
    using Engine = primsel::FrozenEngine<small>;
    static Engine::Arena arena;
    static Engine engine;
    if (!engine.is_open()) {
        if (const char* refusal = engine.open(small_weights(), arena)) return refusal;
    }
    return engine.run(image, result) ? nullptr : "the network does not run";
}

const char* instruction_set() { return small::weights_key.arch.data(); }
