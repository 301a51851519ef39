#pragma once

/// An image as 3 x 32 x 32 (c, h, w). Of ten classes, the one it most likely belongs to.
extern "C" int classify(const float* image);
/// The instruction set that classify uses.
extern "C" const char* instruction_set();
