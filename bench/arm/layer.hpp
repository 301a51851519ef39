// The layers of a program whose instructions loops.py traces.
#pragma once

#include <cstdio>

extern "C" {
[[gnu::noinline]] inline void begin_layer() { asm volatile("" ::: "memory"); }
[[gnu::noinline]] inline void end_layer() { asm volatile("" ::: "memory"); }
}

/// Runs a layer of so many multiply-adds of vectors; 0 for sums.
template <class Run>
void layer(const char* name, long multiply_adds, Run const& run) {
    std::printf("%s\t%ld\n", name, multiply_adds);
    begin_layer();
    run();
    end_layer();
}

/// Room for the operands of any layer: zeros.
alignas(64) inline float room[4][1 << 16];
