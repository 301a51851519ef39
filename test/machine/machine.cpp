#include <primsel/machine/measure_machine.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>

namespace ps = primsel;

TEST_CASE("machine: is measured once and then remembered") {
    ps::Machine const& machine = ps::this_machine();
    MESSAGE("gemm ", machine.fma_flops * 1e-9, " GFLOP/s, vector ", machine.vector_flops * 1e-9, " GFLOP/s, scalar ",
            machine.scalar_flops * 1e-9, " GFLOP/s, bandwidth ", machine.bandwidth.front() * 1e-9, " to ",
            machine.bandwidth.back() * 1e-9, " GB/s");
    CHECK(&machine == &ps::this_machine());
}

TEST_CASE("machine: the speeds of several threads are measured for those who ask, and the rest stays as it is") {
    ps::Machine const &one = ps::this_machine(), &several = ps::this_machine(3);
    CHECK(one.threads == 0);
    CHECK(several.threads == static_cast<double>(ps::machine::measured_threads()));
    CHECK(&several == &ps::MeasuredMachine::speeds<ps::default_arch>(2));
    CHECK(&one == &ps::MeasuredMachine::speeds<ps::default_arch>(1));
    CHECK(several.fma_flops == one.fma_flops);
    CHECK(several.bandwidth == one.bandwidth);
    if (!several.knows_threads()) return;
    CHECK(several.threads_flops <= several.threads * one.fma_flops);
    CHECK(several.threads_memory_bandwidth >= one.bandwidth.back());
}

TEST_CASE("machine: this one's figures are positive, and no cache is slower than a larger one, however busy it is") {
    ps::Machine const& machine = ps::this_machine();
    for (const double speed : {machine.fma_flops, machine.matmul_flops, machine.vector_flops, machine.scalar_flops}) {
        CHECK(std::isfinite(speed));
        CHECK(speed > 0);
    }
    for (std::size_t i = 0; i < machine.bandwidth.size(); ++i) {
        CAPTURE(i);
        CHECK(std::isfinite(machine.bandwidth[i]));
        CHECK(machine.bandwidth[i] > 0);
        if (i > 0) CHECK(machine.bandwidth[i] <= machine.bandwidth[i - 1]);
    }
    CHECK(machine.idle_bandwidth >= machine.bandwidth.back());
    CHECK(machine.idle_bandwidth <= machine.bandwidth[3]);
}

TEST_CASE("machine: bytes that lie idle are pushed out of the caches, in each millisecond the same share") {
    ps::Machine machine;
    machine.bandwidth = {50, 40, 30, 20, 10};
    const double within = ps::Machine::working_sets[3], once = ps::Machine::idle_seconds;
    CHECK(machine.bandwidth_after(1, within) == 20);  // not known
    machine.idle_bandwidth = 1 / (0.25 / 20 + 0.75 / 10);
    CHECK(machine.bandwidth_after(0, within) == doctest::Approx(20));
    CHECK(machine.bandwidth_after(once, within) == doctest::Approx(machine.idle_bandwidth));
    CHECK(machine.bandwidth_after(once / 2, within) == doctest::Approx(1 / (0.5 / 20 + 0.5 / 10)));
    CHECK(machine.bandwidth_after(once / 2, 1) == doctest::Approx(1 / (0.5 / 50 + 0.5 / 10)));
    CHECK(machine.bandwidth_after(100 * once, within) == doctest::Approx(10));
    CHECK(machine.bandwidth_after(once, 1e12) == doctest::Approx(10));
    machine.idle_bandwidth = 20;  // nobody pushes
    CHECK(machine.bandwidth_after(1, within) == doctest::Approx(20));
    machine.idle_bandwidth = 10;  // nothing is left, as far as can be told; but not at once
    CHECK(machine.bandwidth_after(once, within) == doctest::Approx(1 / (0.02 / 20 + 0.98 / 10)));
    CHECK(machine.bandwidth_after(once / 100, within) > 19);
    CHECK(machine.bandwidth_after(10 * once, within) == doctest::Approx(10));
    machine.bandwidth[3] = 10;  // there is no such cache
    CHECK(machine.bandwidth_after(once, within) == 10);
}

TEST_CASE("machine: where memory is as fast as a cache, it is so at any time, to the last bit") {
    ps::Machine machine;
    machine.bandwidth = {3e10, 3e10, 3e10, 2e10, 7e9};
    machine.idle_bandwidth = 9e9;
    for (double seconds = 1e-6; seconds < 1; seconds *= 1.3) CHECK(machine.bandwidth_after(seconds, 1e12) == 7e9);
}

TEST_CASE("machine: bandwidth between the measured working sets") {
    ps::Machine machine;
    machine.bandwidth = {50, 40, 30, 20, 10};
    for (std::size_t i = 0; i < machine.bandwidth.size(); ++i) {
        CHECK(machine.bandwidth_for(ps::Machine::working_sets[i]) == doctest::Approx(machine.bandwidth[i]));
    }
    CHECK(machine.bandwidth_for(0) == 50);
    CHECK(machine.bandwidth_for(1) == 50);
    CHECK(machine.bandwidth_for(1e12) == 10);
    // Half way on a logarithmic scale.
    CHECK(machine.bandwidth_for(std::sqrt(ps::Machine::working_sets[1] * ps::Machine::working_sets[2])) ==
          doctest::Approx(35));
    // Never rises, and has no steps.
    double last = machine.bandwidth_for(1);
    for (double bytes = 1; bytes < 1e9; bytes *= 1.01) {
        const double next = machine.bandwidth_for(bytes);
        CHECK(next <= last);
        CHECK(next > last - 0.2);
        last = next;
    }
}

TEST_CASE("machine: between two measured working sets the bandwidth falls where L2 ends") {
    ps::Machine machine;
    machine.bandwidth = {50, 40, 30, 20, 10};
    for (const double l2 : {256e3, 512e3, 1e6, 2e6, 3e6, 12e6}) {
        CAPTURE(l2);
        ps::Machine known = machine;
        known.l2_bytes = l2;
        for (const double set : ps::Machine::working_sets) {
            CHECK(known.bandwidth_for(set) == doctest::Approx(machine.bandwidth_for(set)));
        }
        double last = known.bandwidth_for(1);
        for (double bytes = 1; bytes < 1e9; bytes *= 1.001) {
            const double next = known.bandwidth_for(bytes);
            CHECK(next <= last);
            CHECK(next > last - 0.1);
            last = next;
        }
    }
    machine.l2_bytes = 2e6;
    CHECK(machine.bandwidth_for(1.5e6) == 30);
    CHECK(machine.bandwidth_for(std::sqrt(1.5e6 * 3e6)) == doctest::Approx(25));
    CHECK(machine.bandwidth_for(3e6) == doctest::Approx(20));
    CHECK(machine.bandwidth_for(5e6) == doctest::Approx(20));
}

TEST_CASE("machine: the processor has a name") {
    const std::string name = ps::cpu_name();
    MESSAGE(name);
    REQUIRE_FALSE(name.empty());
    CHECK(name == ps::cpu_name());
    CHECK(name.front() != ' ');
    CHECK(name.back() != ' ');
    for (const char c : name) CHECK((c >= ' ' && c <= '~'));
}
