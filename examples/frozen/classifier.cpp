// A network without a planner, which `primsel freeze` made a part of the program, behind a function of C. See
// docs/engine/frozen.md.
#include "classifier.h"

#include "squeezenet.hpp"

namespace {

using Engine = primsel::FrozenEngine<squeezenet>;
static_assert(Engine::in_floats() == classifier_pixels && Engine::out_floats() == classifier_classes);
Engine::Arena arena;
Engine engine;

}  // namespace

const char* classify(const float* image, float* scores) {
    if (!engine.is_open()) {
        if (const char* refusal = engine.open(squeezenet_weights(), arena)) return refusal;
    }
    return engine.run(image, scores) ? nullptr : "the network does not run";
}
