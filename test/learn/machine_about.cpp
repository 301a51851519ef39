// A profile says the speeds of its machine, and is refused where it does not.
#include <primsel/learn/machine_about.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <string>

namespace ps = primsel;

TEST_CASE("a machine's speeds are read as they were written") {
    ps::Machine machine{.fma_flops = 1.25e11,
                        .half_flops = 1e11,
                        .matmul_flops = 1.125e11,
                        .vector_flops = 3e10,
                        .scalar_flops = 2e9,
                        .bandwidth = {5e11, 4e11, 3e11, 2e11, 1e10},
                        .idle_bandwidth = 5e10,
                        .l2_bytes = 1 << 20};
    std::map<std::string, std::string> about{{"cpu", "abacus"}};
    ps::learn::add_about(about, machine);
    CHECK(about.at("cpu") == "abacus");
    CHECK(about.at("product_flops") == "112500000000");
    const ps::Machine read = ps::learn::machine_about("abacus.csv", about);
    CHECK(read.fma_flops == machine.fma_flops);
    CHECK(read.half_flops == machine.half_flops);
    CHECK(read.matmul_flops == machine.matmul_flops);
    CHECK(read.vector_flops == machine.vector_flops);
    CHECK(read.scalar_flops == machine.scalar_flops);
    CHECK(read.bandwidth == machine.bandwidth);
    CHECK(read.idle_bandwidth == machine.idle_bandwidth);
    CHECK(read.l2_bytes == machine.l2_bytes);
    about.erase("idle_bandwidth"), about.erase("l2_bytes");  // older profiles do not say them
    CHECK(ps::learn::machine_about("abacus.csv", about).idle_bandwidth == 0);
    CHECK(ps::learn::machine_about("abacus.csv", about).l2_bytes == 0);
    about["idle_bandwidth"] = "idle";
    CHECK_THROWS_WITH_AS(static_cast<void>(ps::learn::machine_about("abacus.csv", about)),
                         "abacus.csv: its idle_bandwidth is 'idle', which is no speed", ps::error);
}

TEST_CASE("a profile without its machine's speeds, or with none that can be, is refused by name") {
    std::map<std::string, std::string> about;
    ps::learn::add_about(about, ps::Machine{});
    for (auto const& line : about) {
        std::string const& key = line.first;
        CAPTURE(key);
        auto without = about;
        without.erase(key);
        CHECK_THROWS_WITH_AS(static_cast<void>(ps::learn::machine_about("a.csv", without)),
                             ("a.csv: it does not say the machine's " + key).c_str(), ps::error);
        for (const char* wrong : {"", "fast", "0", "-1e9", "nan"}) {
            auto other = about;
            other[key] = wrong;
            CHECK_THROWS_WITH_AS(static_cast<void>(ps::learn::machine_about("a.csv", other)),
                                 ("a.csv: its " + key + " is '" + wrong + "', which is no speed").c_str(), ps::error);
        }
    }
}
