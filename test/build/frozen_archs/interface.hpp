// The image and the result of the network.
#pragma once

inline constexpr int small_c = 3, small_h = 20, small_w = 24, small_classes = 10;

extern "C" {
/// Runs one image. Returns null, or why it cannot.
const char* run(const float* image, float* result);
/// The level of the plan that runs.
const char* instruction_set();
}
