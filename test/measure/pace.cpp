// The machine's present speed, by runs that took place.
#include "../io/scratch.hpp"

#include <primsel/io/file.hpp>
#include <primsel/measure/pace.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

namespace measure_pace_tests {

namespace ps = primsel;
using ps::measure::Pace;
using ps::measure::PaceFile;

TEST_CASE("pace: a median over networks, each by its latest run") {
    Pace pace;
    CHECK(pace.factor() == 1);
    CHECK(pace.size() == 0);
    pace.add("a", 0.010, 0.012, 100);
    CHECK(pace.factor() == doctest::Approx(1.2));
    pace.add("b", 0.010, 0.010, 100);
    CHECK(pace.factor() == doctest::Approx(1.1));
    pace.add("c", 0.001, 0.9, 100);  // one that was interrupted
    CHECK(pace.factor() == doctest::Approx(1.2));
    pace.add("c", 0.001, 0.001, 100);
    CHECK(pace.factor() == doctest::Approx(1));
    CHECK(pace.size() == 3);
    CHECK(pace.latest() == 100);
}

TEST_CASE("pace: follows the machine within minutes, and not a single run beside many of the same minute") {
    Pace pace;
    std::mt19937 bits(3);
    const auto noise = [&] { return std::uniform_real_distribution(0.94, 1.06)(bits); };
    for (int i = 0; i < 9; ++i) pace.add(std::to_string(i), 1, 1.05 * noise(), 1000 + i);
    CHECK(pace.factor() == doctest::Approx(1.05).epsilon(0.03));
    pace.add("interrupted", 1, 9, 1010);
    CHECK(pace.factor() == doctest::Approx(1.05).epsilon(0.03));
    for (int i = 0; i < 3; ++i) pace.add(std::to_string(i), 1, 1.4 * noise(), 1010 + 3 * Pace::half_life + i);
    CHECK(pace.factor() == doctest::Approx(1.4).epsilon(0.06));
    // The latest count, if there are more than it keeps.
    for (int i = 0; i < 100; ++i) pace.add("net" + std::to_string(i), 1, 2, 5000);
    CHECK(pace.factor() == 2);
    CHECK(pace.size() < 50);
}

TEST_CASE("pace: the factor is among the runs', whatever their order") {
    std::mt19937 bits(8);
    for (int repetition = 0; repetition < 200; ++repetition) {
        Pace pace;
        double least = 1e9, most = 0;
        const int runs = 1 + static_cast<int>(bits() % 15);
        for (int i = 0; i < runs; ++i) {
            const double factor = std::uniform_real_distribution(0.5, 3.0)(bits);
            least = std::min(least, factor), most = std::max(most, factor);
            pace.add(std::to_string(i), 0.25, 0.25 * factor, static_cast<double>(bits() % 100000));
        }
        CHECK(pace.factor() >= least * (1 - 1e-12));
        CHECK(pace.factor() <= most * (1 + 1e-12));
    }
}

TEST_CASE("pace: what is no time is ignored") {
    Pace pace;
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    for (const double bad : {0.0, -1.0, nan, infinity}) {
        pace.add("a", bad, 1, 0);
        pace.add("a", 1, bad, 0);
    }
    for (const double bad : {-1.0, nan, infinity}) pace.add("a", 1, 1, bad);
    CHECK(pace.size() == 0);
}

TEST_CASE("pace: is kept beside the same speeds of the same machine, and nothing that happens to the file matters") {
    const scratch::Folder folder;
    const ps::Machine machine;
    const PaceFile file("avx2", machine, folder.file("a/b"));
    CHECK(file.read().size() == 0);
    Pace pace;
    for (int i = 0; i < 12; ++i) pace.add("net" + std::to_string(i), 1, 1 + 0.01 * i, 1e9 + i);
    REQUIRE(file.write(pace));
    CHECK(file.read().size() == 12);
    CHECK(file.read().latest() == 1e9 + 11);
    CHECK(file.read().factor() == doctest::Approx(pace.factor()).epsilon(1e-6));
    ps::Machine faster = machine;
    faster.fma_flops *= 1.2;
    CHECK(PaceFile("avx2", faster, folder.file("a/b")).read().size() == 0);
    CHECK(PaceFile("avx512bw", machine, folder.file("a/b")).read().size() == 0);
    // Runs on one thread do not depend on the speeds of several.
    ps::Machine several = machine;
    several.threads = 2, several.threads_flops = machine.fma_flops, several.threads_loops = 1e6;
    CHECK(PaceFile("avx2", several, folder.file("a/b")).read().size() == 12);
    REQUIRE(PaceFile("avx2", several, folder.file("a/b"), 2).write(pace));
    CHECK(PaceFile("avx2", several, folder.file("a/b"), 2).read().size() == 12);
    const ps::SharedBytes bytes = ps::read_file(file.path());
    std::string text(bytes.text());
    text.replace(text.find("1.05"), 4, "1.95");
    ps::write_file(file.path(), text);
    CHECK(file.read().size() == 0);
    CHECK_FALSE(PaceFile("avx2", machine, "").write(pace));
    CHECK(PaceFile("avx2", machine, "").read().size() == 0);
}

}  // namespace measure_pace_tests
