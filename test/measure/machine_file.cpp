// A machine's speeds are kept for the same machine, and nothing that happens to the file matters.
#include <primsel/measure/machine_file.hpp>

#include "../io/scratch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace ps = primsel;

namespace {

const ps::Machine some_machine{.fma_flops = 2.4e11,
                               .half_flops = 1.3e11,
                               .matmul_flops = 1.9e11,
                               .bf16_flops = 1.7e12,
                               .int8_flops = 3.1e12,
                               .vector_flops = 3.7e10,
                               .scalar_flops = 2.2e9,
                               .bandwidth = {2.9e11, 1.2e11, 1.1e11, 3.5e10, 2.9e10},
                               .idle_bandwidth = 3.1e10,
                               .l2_bytes = 2 << 20,
                               .threads = 2,
                               .threads_flops = 4.1e11,
                               .threads_cache_bandwidth = 6.1e10,
                               .threads_memory_bandwidth = 4.9e10,
                               .threads_loops = 1.3e6};

bool same_speeds(ps::Machine const& a, ps::Machine const& b) {
    return a.fma_flops == b.fma_flops && a.half_flops == b.half_flops && a.matmul_flops == b.matmul_flops &&
           a.bf16_flops == b.bf16_flops && a.int8_flops == b.int8_flops && a.vector_flops == b.vector_flops &&
           a.scalar_flops == b.scalar_flops && a.bandwidth == b.bandwidth && a.idle_bandwidth == b.idle_bandwidth &&
           a.l2_bytes == b.l2_bytes && a.threads == b.threads && a.threads_flops == b.threads_flops &&
           a.threads_cache_bandwidth == b.threads_cache_bandwidth &&
           a.threads_memory_bandwidth == b.threads_memory_bandwidth && a.threads_loops == b.threads_loops;
}

/// The answer of kept_or_measured on a machine that runs at `peak` and measures `measured`, and how often it measured.
struct Asked {
    ps::Machine machine;
    int measured = 0;
};
Asked ask(ps::measure::MachineFile const& file, ps::Machine const& measured, double peak, bool renew = false,
          bool all_precisions = false) {
    Asked asked;
    asked.machine = ps::measure::detail::kept_or_measured(
        file, renew, [&] { return ++asked.measured, measured; }, [&] { return peak; }, all_precisions);
    return asked;
}

}  // namespace

TEST_CASE("a machine's speeds are there for the same Arch, and for no other") {
    const scratch::Folder folder;
    const ps::measure::MachineFile file("avx2", folder.file("a/b")), other("avx512bw", folder.file("a/b"));
    CHECK_FALSE(file.read());
    REQUIRE(file.write(some_machine));
    REQUIRE(file.read());
    CHECK(same_speeds(*file.read(), some_machine));
    CHECK(ps::measure::MachineFile("avx2", folder.file("a/b")).path() == file.path());
    CHECK(other.path() != file.path());
    CHECK_FALSE(other.read());
    // Not even under the other's name.
    std::filesystem::copy_file(file.path(), other.path());
    CHECK_FALSE(other.read());
}

TEST_CASE("speeds of a damaged file are none, whichever byte is another") {
    const scratch::Folder folder;
    const ps::measure::MachineFile file("avx2", folder.file(""));
    REQUIRE(file.write(some_machine));
    const std::string whole = scratch::content(file.path());
    for (std::size_t i = 0; i < whole.size(); ++i) {
        CAPTURE(i);
        scratch::write(file.path(), whole.substr(0, i));
        CHECK((!file.read() || i + 1 == whole.size()));  // without the last newline it says the same
        for (const char other : {'0', '7', 'x', ' ', ':', '\n', '\0', '\xff'}) {
            std::string damaged = whole;
            damaged[i] = other;
            scratch::write(file.path(), damaged);
            const std::optional<ps::Machine> read = file.read();
            CHECK((!read || same_speeds(*read, some_machine)));
        }
    }
    scratch::write(file.path(), whole + whole);
    CHECK((!file.read() || same_speeds(*file.read(), some_machine)));
    scratch::write(file.path(), std::string(1 << 20, '#'));
    CHECK_FALSE(file.read());
    REQUIRE(file.write(some_machine));
    CHECK(file.read());
    CHECK(folder.entries() == 1);
}

TEST_CASE("what is no computer's speeds is not believed") {
    const scratch::Folder folder;
    const ps::measure::MachineFile file("avx2", folder.file(""));
    ps::Machine rising = some_machine, stopped = some_machine, endless = some_machine;
    rising.bandwidth[2] = 2 * rising.bandwidth[1];
    stopped.scalar_flops = 0;
    endless.fma_flops = 1e18;
    for (ps::Machine const& machine : {rising, stopped, endless}) {
        REQUIRE(file.write(machine));
        CHECK_FALSE(file.read());
    }
}

TEST_CASE("a machine is measured once, again where told to, and where it has become faster") {
    const scratch::Folder folder;
    const ps::measure::MachineFile file("avx2", folder.file(""));
    ps::Machine slow = some_machine;
    slow.fma_flops /= 2;
    const double peak = some_machine.fma_flops;
    CHECK(ask(file, slow, slow.fma_flops).measured == 1);
    CHECK(ask(file, some_machine, slow.fma_flops).measured == 0);
    CHECK(same_speeds(ask(file, some_machine, slow.fma_flops).machine, slow));
    // Others ran beside when it was measured.
    CHECK(same_speeds(ask(file, some_machine, peak).machine, some_machine));
    CHECK(ask(file, slow, peak).measured == 0);
    // Others run now.
    CHECK(same_speeds(ask(file, slow, peak / 3).machine, some_machine));
    CHECK(ask(file, slow, peak, true).measured == 1);
    CHECK(same_speeds(*file.read(), slow));
}

TEST_CASE("a file without the speeds of low precision is enough for floats alone") {
    const scratch::Folder folder;
    const ps::measure::MachineFile file("avx2", folder.file(""));
    ps::Machine floats = some_machine;
    floats.int8_flops = 0;
    REQUIRE(file.write(floats));
    CHECK(ask(file, some_machine, 1).measured == 0);
    CHECK(ask(file, some_machine, 1, false, true).measured == 1);
    CHECK(ask(file, some_machine, 1, false, true).measured == 0);
    CHECK(same_speeds(ask(file, floats, 1).machine, some_machine));
}

TEST_CASE("the speeds of several threads are added when they are asked for, and nothing else is measured again") {
    const scratch::Folder folder;
    const ps::measure::MachineFile file("avx2", folder.file(""));
    ps::Machine one = some_machine;
    one.threads = one.threads_flops = one.threads_cache_bandwidth = one.threads_memory_bandwidth = one.threads_loops =
        0;
    int added = 0;
    const auto complete = [&](double threads) {
        // A program for one thread has these speeds already.
        const Asked asked = ask(file, one, 1);
        const ps::Machine all = ps::measure::detail::kept_or_completed(
            file, asked.machine, static_cast<std::size_t>(threads), [&](ps::Machine machine) {
                ++added;
                machine.threads = threads, machine.threads_flops = some_machine.threads_flops;
                machine.threads_cache_bandwidth = some_machine.threads_cache_bandwidth;
                machine.threads_memory_bandwidth = some_machine.threads_memory_bandwidth;
                machine.threads_loops = some_machine.threads_loops;
                return machine;
            });
        CHECK(all.threads >= threads);
        return asked.measured;
    };
    CHECK(ask(file, one, 1).measured == 1);
    CHECK(ask(file, some_machine, 1).measured == 0);
    CHECK(complete(2) == 0);
    CHECK(added == 1);
    REQUIRE(file.read());
    CHECK(same_speeds(*file.read(), some_machine));
    // Known now, also to programs that may run on fewer processors.
    for (const double threads : {2.0, 1.0}) CHECK(complete(threads) == 0);
    CHECK(added == 1);
    // More can run than when they were measured.
    CHECK(complete(3) == 0);
    CHECK(added == 2);
    ps::Machine three = some_machine;
    three.threads = 3;
    CHECK(same_speeds(*file.read(), three));
    // The machine has become faster: all is measured, that of threads when they are asked for.
    CHECK(ask(file, one, 2 * one.fma_flops).measured == 1);
    CHECK(same_speeds(*file.read(), one));
    CHECK(complete(2) == 0);
    CHECK(added == 3);
}

TEST_CASE("where threads never meet, that is kept, too") {
    const scratch::Folder folder;
    const ps::measure::MachineFile file("avx2", folder.file(""));
    ps::Machine alone = some_machine;
    alone.threads = 0;
    const auto complete = [&](ps::Machine const& kept) {
        int added = 0;
        (void)ps::measure::detail::kept_or_completed(file, kept, 2, [&](ps::Machine machine) {
            ++added, machine.threads = 2, machine.threads_loops = 0;
            return machine;
        });
        return added;
    };
    CHECK(complete(alone) == 1);
    REQUIRE(file.read());
    CHECK_FALSE(file.read()->knows_threads());
    CHECK(complete(*file.read()) == 0);
}

TEST_CASE("where a machine's speeds cannot be kept they are measured, and that is no error") {
    const scratch::Folder folder;
    const scratch::SmallDisk full(16);
    for (std::string const& directory : {std::string(), std::string("/dev/null/primsel"), folder.file("")}) {
        const ps::measure::MachineFile file("avx2", directory);
        CHECK(ask(file, some_machine, 1).measured == 1);
        CHECK(ask(file, some_machine, 1).measured == 1);
        CHECK_FALSE(file.write(some_machine));
    }
    CHECK(folder.entries() == 0);
}
