// Laws of what several threads are predicted to take: of the speeds of machines and of the terms of Analytical.
#include "../fixed_machines.hpp"
#include "laws.hpp"

#include <doctest/doctest.h>
#include <primsel/core/work.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/semi_empirical.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ps = primsel;

namespace cost_threads {
namespace {

/// Machines of which the speeds of several threads are known: two threads that share all, and that share nothing.
std::vector<ps::Machine> machines() {
    std::vector<ps::Machine> result;
    for (ps::Machine machine : fixed::machines()) {
        result.push_back(machine);
        machine.threads = 2, machine.threads_loops = 1e6;
        for (const double times : {1.0, 1.6, 2.0}) {
            machine.threads_flops = times * machine.fma_flops;
            machine.threads_cache_bandwidth = times * machine.bandwidth[3];
            machine.threads_memory_bandwidth = times * machine.bandwidth[4];
            result.push_back(machine);
        }
    }
    return result;
}

ps::Work work_in(double blocks) {
    return ps::Work{}
        .add({.rate = ps::Rate::scalar, .operations = 1e4, .bytes = 1e5, .working_set = 1e5, .blocks = blocks})
        .add({.rate = ps::Rate::gemm, .operations = 1e8, .bytes = 1e6, .working_set = 4e6, .blocks = blocks});
}

constexpr ps::ConvShape shape = laws::conv(28, 64, 64, 3);

/// The seconds of a convolution without those of its loops.
double seconds(ps::Machine machine, double blocks, int threads) {
    machine.threads_loops = 1e30;
    return ps::Analytical::seconds(ps::Analytical::terms(machine, work_in(blocks), 1 << 20, shape, 1, 1e7, 0, threads));
}

}  // namespace

TEST_CASE("threads: one has the speeds of one, and as many as were measured have those") {
    for (ps::Machine const& machine : machines()) {
        const ps::Machine one = machine.on_threads(1);
        CHECK(one.fma_flops == machine.fma_flops);
        CHECK(one.bandwidth == machine.bandwidth);
        CHECK(one.idle_bandwidth == machine.idle_bandwidth);
        CHECK(machine.loop_seconds(1) == 0);
        if (machine.threads == 0) continue;
        const ps::Machine all = machine.on_threads(machine.threads);
        CHECK(all.fma_flops == doctest::Approx(machine.threads_flops));
        CHECK(all.bandwidth[3] == doctest::Approx(machine.threads_cache_bandwidth));
        CHECK(all.bandwidth[4] == doctest::Approx(machine.threads_memory_bandwidth));
        CHECK(machine.loop_seconds(machine.threads) == doctest::Approx(1e-6));
    }
}

TEST_CASE("threads: what is known of several changes no price of one") {
    const std::vector<laws::Layer> kinds = laws::layers({64, 14, 14});
    for (ps::Machine machine : machines()) {
        ps::SemiEmpiricalCosts known(machine);
        machine.threads = 0;
        ps::SemiEmpiricalCosts unknown(machine);
        const auto check = [&](auto const& queries) {
            CHECK(laws::predict(known, laws::all_kernels, queries) ==
                  laws::predict(unknown, laws::all_kernels, queries));
        };
        check(laws::convs(laws::all_kernels, {shape}));
        check(laws::transforms(laws::all_kernels, {64, 14, 14}, 1));
        check(laws::ops(laws::all_kernels, kinds, 1));
    }
}

TEST_CASE(
    "threads: those at work are no more than blocks and threads, and the slowest has no block more than the mean") {
    for (int blocks = 1; blocks < 50; ++blocks) {
        CHECK(ps::threads_at_work(blocks, 1) == 1);
        for (int threads = 1; threads < 20; ++threads) {
            const double at_work = ps::threads_at_work(blocks, threads);
            CHECK(at_work <= std::min(blocks, threads));
            CHECK(at_work >= ps::threads_at_work(blocks, threads - 1 + (threads == 1 ? 1 : 0)));
            CHECK(blocks / at_work < 1.0 * blocks / threads + 1);
        }
    }
    CHECK(ps::threads_at_work(3, 2) == 1.5);
    CHECK(ps::threads_at_work(0, 7) == 7);
}

TEST_CASE("threads: more take no longer beside their loops, nor less than their share") {
    for (ps::Machine const& machine : machines()) {
        for (const double blocks : {0.0, 1.0, 2.0, 3.0, 7.0, 100.0}) {
            const double one = seconds(machine, blocks, 1);
            double before = one;
            for (int threads = 2; threads <= 16; ++threads) {
                CAPTURE(blocks);
                CAPTURE(threads);
                const double here = seconds(machine, blocks, threads);
                CHECK(here <= before * (1 + 1e-12));
                CHECK(here >= one / threads * (1 - 1e-12));
                before = here;
            }
            if (blocks == 1) CHECK(before == one);
        }
    }
}

TEST_CASE("threads: prices of one ask for no speeds of several, and those of several do") {
    static int most = 0;
    ps::Kernels kernels = laws::all_kernels;
    kernels.machine = [](int threads) -> ps::Machine const& {
        static const ps::Machine machine{};
        most = std::max(most, threads);
        return machine;
    };
    const std::vector<laws::Layer> kinds = laws::layers({64, 14, 14});
    ps::SemiEmpiricalCosts costs;
    const auto asked = [&](auto queries, int threads) {
        most = 0;
        for (auto& query : queries) query.run.threads = threads;
        (void)laws::predict(costs, kernels, queries);
        return most;
    };
    for (const int threads : {1, 3}) {
        CHECK(asked(laws::convs(kernels, {shape}), threads) == threads);
        CHECK(asked(laws::transforms(kernels, {64, 14, 14}, 1), threads) == threads);
        CHECK(asked(laws::ops(kernels, kinds, 1), threads) == threads);
    }
}

TEST_CASE("threads: each loop costs what the machine's do") {
    ps::Machine machine = fixed::machines()[1];
    machine.threads = 4, machine.threads_flops = 4 * machine.fma_flops;
    machine.threads_cache_bandwidth = machine.bandwidth[3], machine.threads_memory_bandwidth = machine.bandwidth[4];
    machine.threads_loops = 5e5;
    ps::Work work = work_in(8);
    work.phases[0].loops = 3;
    work.phases[1].loops = 2;
    const auto loops = [&](int threads) {
        return ps::Analytical::terms(machine, work, 0, shape, 1, 0, 0, threads).loops;
    };
    CHECK(loops(1) == 0);
    CHECK(loops(4) == doctest::Approx(5 * 2e-6));
    CHECK(loops(2) == doctest::Approx(5 * 2e-6 / 3));
}

}  // namespace cost_threads
