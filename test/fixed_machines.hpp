// Machines that no test measures: a law of costs holds on each of them, however busy this machine is.
#pragma once

#include <primsel/kernels/kernels.hpp>
#include <primsel/machine/machine.hpp>

#include <vector>

namespace fixed {

/// The usual one, and odd ones: such as a measurement on a busy machine may give.
inline std::vector<primsel::Machine> machines() {
    using Machine = primsel::Machine;
    Machine server;  // wide vectors, and caches that others use
    server.fma_flops = 1.5e11, server.half_flops = 1.5e11, server.matmul_flops = 1.2e11, server.vector_flops = 3e10,
    server.scalar_flops = 3e9;
    server.bandwidth = {4e11, 1.5e11, 5e10, 2e10, 8e9};
    server.idle_bandwidth = 1e10;
    Machine board;  // slow, with small caches
    board.fma_flops = 4e9, board.half_flops = 4e9, board.matmul_flops = 3e9, board.vector_flops = 1e9,
    board.scalar_flops = 5e8;
    board.bandwidth = {8e9, 4e9, 1e9, 1e9, 1e9};
    board.idle_bandwidth = 1e9;
    Machine no_caches;
    no_caches.bandwidth = {5e9, 5e9, 5e9, 5e9, 5e9};
    Machine steep;  // each level ten times as slow as the one before
    steep.bandwidth = {1e13, 1e12, 1e11, 1e10, 1e9};
    Machine no_vectors;  // as unoptimised programs measure
    no_vectors.fma_flops = no_vectors.half_flops = no_vectors.matmul_flops = no_vectors.vector_flops =
        no_vectors.scalar_flops = 1e8;
    Machine disturbed;  // while the arithmetic was timed: the peak is the least of all speeds
    disturbed.fma_flops = 1e8, disturbed.half_flops = 2e8, disturbed.matmul_flops = 1e10, disturbed.vector_flops = 5e8,
    disturbed.scalar_flops = 1e9;
    Machine fast_memory, fast_arithmetic;
    fast_memory.bandwidth = {1e14, 1e14, 1e14, 1e14, 1e14};
    fast_arithmetic.fma_flops = fast_arithmetic.half_flops = fast_arithmetic.matmul_flops =
        fast_arithmetic.vector_flops = fast_arithmetic.scalar_flops = 1e15;
    return {Machine{}, server, board, no_caches, steep, no_vectors, disturbed, fast_memory, fast_arithmetic};
}

/// These kernels, as if this machine were the usual one.
inline primsel::Kernels on_fixed_machine(primsel::Kernels kernels) {
    kernels.machine = [](int) -> primsel::Machine const& {
        static const primsel::Machine machine{};
        return machine;
    };
    return kernels;
}

}  // namespace fixed
