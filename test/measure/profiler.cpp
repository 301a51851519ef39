#include <primsel/measure/profiler.hpp>

#include <doctest/doctest.h>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primitive/all.hpp>
#include <primsel/primitive/training.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

/// Time that passes only when somebody works, at a speed that changes.
struct World {
    double now = 0, stolen = 0;
    long interruptions = 0;
    /// How much slower than nominal the machine is at a time.
    double (*slower)(double) = [](double) { return 1.0; };
    std::size_t references = 0;

    /// In small steps, as the speed changes meanwhile.
    void work(double seconds) {
        while (seconds > 0) {
            const double step = std::min(seconds, 5e-6);
            now += step * slower(now);
            seconds -= step;
        }
    }
    /// Others have the processor.
    void interrupt(double seconds) {
        now += seconds;
        stolen += seconds;
        ++interruptions;
    }
};
struct FakeClock {
    World* world;
    [[nodiscard]] double now() const { return world->now; }
    [[nodiscard]] double spent() const { return world->now - world->stolen; }
    [[nodiscard]] long interruptions() const { return world->interruptions; }
};
struct FakeReference {
    World* world;
    void operator()() const {
        ++world->references;
        world->work(30e-6);
    }
};
using Timer = ps::measure::detail::QuietTimer<FakeClock, FakeReference>;
constexpr double no_rival = 1e9;

/// A timer, what it times, and how often that ran.
struct Trial {
    explicit Trial(ps::measure::detail::QuietOptions const& options = {}) : timer(options, {&world}, {&world}) {
        timer.set_nominal(30e-6);
    }
    /// One call takes so long at the nominal speed, in blocks.
    ps::measure::detail::Timing time(double seconds, double best = no_rival, std::size_t copies = 1,
                                     std::size_t blocks = 1) {
        runs = calls = prepared = most_calls = 0;
        return timer.time(
            [&](std::size_t n) {
                ++runs;
                calls += n;
                most_calls = std::max(most_calls, n);
                for (std::size_t i = 0; i < n * blocks; ++i) {
                    world.work(seconds / static_cast<double>(blocks));
                    timer.between_blocks();
                }
            },
            [&](std::size_t n) { prepared += n; }, best, copies);
    }
    World world;
    Timer timer;
    std::size_t runs = 0, calls = 0, prepared = 0, most_calls = 0;
};

/// Fast and slow by turns, from 0.2 to 20 ms long, 30 % apart.
double flickering(double time) { return std::sin(time * 2000) + std::sin(time * 313 + 1) > 0.3 ? 1.3 : 1.0; }

std::vector<double> drawn(std::size_t count, double spread, unsigned seed) {
    std::mt19937 bits(seed);
    std::normal_distribution<double> normal(1, spread);
    std::vector<double> values(count);
    for (double& value : values) value = normal(bits);
    return values;
}

}  // namespace

TEST_CASE("profiler: a median is known when few values say so, and then it is right") {
    CHECK_FALSE(ps::measure::detail::median_known({}, 0.01));
    CHECK_FALSE(ps::measure::detail::median_known({1, 1, 1, 1}, 0.01));
    CHECK(ps::measure::detail::median_known({1, 1, 1, 1, 1}, 0.01));
    CHECK_FALSE(ps::measure::detail::median_known({1, 1, 1, 1, 1.1}, 0.01));
    CHECK(ps::measure::detail::median_known({1, 1, 1, 1, 1.1}, 0.06));
    // More values bear outliers.
    std::vector<double> many(25, 1.0);
    for (std::size_t i = 0; i < 6; ++i) many[i] = 3;
    CHECK(ps::measure::detail::median_known(many, 0.01));
    for (std::size_t i = 0; i < 12; ++i) many[i] = 3;
    CHECK_FALSE(ps::measure::detail::median_known(many, 0.01));

    std::size_t known = 0, wrong = 0;
    for (unsigned seed = 0; seed < 2000; ++seed) {
        const auto values = drawn(25, 0.015, seed);
        if (!ps::measure::detail::median_known(values, 0.01)) continue;
        ++known;
        if (std::abs(ps::quantile(values, 0.5) - 1) > 0.01) ++wrong;
    }
    CHECK(known > 500);
    CHECK(static_cast<double>(wrong) < 0.05 * static_cast<double>(known));
}

TEST_CASE("profiler: a steady machine is timed exactly, and stops early") {
    for (const double seconds : {50e-6, 1e-3, 20e-3}) {
        Trial trial;
        const auto timing = trial.time(seconds);
        CHECK(timing.seconds == doctest::Approx(seconds).epsilon(1e-9));
        CHECK(timing.quiet == timing.runs);
        CHECK(timing.runs >= 5);
        CHECK(timing.runs <= 9);  // a group is taken whole
        CHECK(trial.prepared == trial.calls);
    }
}

TEST_CASE("profiler: what varies gets all its runs, what takes long fewer") {
    Trial trial;
    std::size_t count = 0;
    const auto timing = trial.timer.time([&](std::size_t) { trial.world.work(1e-3 * (count++ % 2 == 0 ? 0.9 : 1.1)); },
                                         [](std::size_t) {}, no_rival, 1);
    CHECK(timing.runs == 25);
    CHECK(timing.seconds == doctest::Approx(1e-3).epsilon(0.11));
    // 0.3 seconds for a subject, to warm up included; then one run, and one only.
    CHECK(trial.time(0.12).runs == 1);
    CHECK(trial.time(0.09).runs == 2);
    CHECK(trial.time(0.5).runs == 1);
    CHECK(trial.runs == 2);
    CHECK(trial.time(1.5).runs == 1);
    CHECK(trial.runs == 1);
    CHECK(trial.time(1.5).seconds == doctest::Approx(1.5));
}

TEST_CASE("profiler: what is hopeless gets three runs") {
    Trial trial;
    CHECK(trial.time(11e-3, 1e-3).runs == 3);
    CHECK(trial.time(9e-3, 1e-3).runs >= 5);
}

TEST_CASE("profiler: short calls count together, each prepared for, at most as many as there are copies") {
    Trial trial;
    for (const std::size_t copies : {1U, 4U, 1000U}) {
        const auto timing = trial.time(2.1e-6, no_rival, copies);
        CHECK(timing.seconds == doctest::Approx(2.1e-6));
        CHECK(trial.most_calls == std::min<std::size_t>(copies, 10));
        CHECK(trial.prepared == trial.calls);
    }
    (void)trial.time(1e-9, no_rival, 1000);
    CHECK(trial.most_calls == 32);
    (void)trial.time(50e-6, no_rival, 1000);
    CHECK(trial.most_calls == 1);
}

TEST_CASE("profiler: a machine whose speed changes is timed at its nominal speed") {
    for (const double seconds : {5e-6, 50e-6, 300e-6, 2e-3, 20e-3}) {
        CAPTURE(seconds);
        Trial trial;
        trial.world.slower = flickering;
        const auto timing = trial.time(seconds, no_rival, 32, static_cast<std::size_t>(seconds / 5e-6));
        CHECK(timing.seconds == doctest::Approx(seconds).epsilon(0.03));
        CHECK(timing.runs <= 50);
    }
}

TEST_CASE("profiler: on a machine that is never quiet every run counts, corrected") {
    Trial trial;
    trial.world.slower = [](double) { return 1.4; };
    for (const double seconds : {50e-6, 5e-3}) {
        const double start = trial.world.now;
        const auto timing = trial.time(seconds);
        CHECK(timing.quiet == 0);
        CHECK(timing.runs > 0);
        CHECK(timing.runs <= 50);
        CHECK(timing.seconds == doctest::Approx(seconds).epsilon(1e-6));
        CHECK(trial.world.now - start < 0.35);
    }
    CHECK(trial.timer.quiet_runs() == 0);
    CHECK(trial.timer.runs() > 0);
    // A faster machine than the nominal is none that is quiet either.
    trial.world.slower = [](double) { return 0.8; };
    CHECK(trial.time(1e-3).quiet == 0);
    CHECK(trial.time(1e-3).seconds == doctest::Approx(1e-3));
}

TEST_CASE("profiler: a slow phase that ends soon is waited for") {
    Trial trial;
    trial.world.slower = [](double time) { return time < 0.02 ? 1.5 : 1.0; };
    const auto timing = trial.time(200e-6);
    CHECK(timing.quiet >= 5);
    CHECK(timing.runs - timing.quiet <= 2);
    CHECK(timing.seconds == doctest::Approx(200e-6));
}

TEST_CASE("profiler: runs that were interrupted are taken again, or count what they spent") {
    Trial trial;
    std::size_t count = 0;
    const auto run = [&](std::size_t every) {
        return trial.timer.time(
            [&](std::size_t) {
                trial.world.work(1e-3);
                if (++count % every == 0) trial.world.interrupt(4e-3);
            },
            [](std::size_t) {}, no_rival, 1);
    };
    const auto some = run(3);
    CHECK(some.quiet >= 5);
    CHECK(some.runs > some.quiet);
    CHECK(some.seconds == doctest::Approx(1e-3));
    const auto all = run(1);
    CHECK(all.quiet == 0);
    CHECK(all.seconds == doctest::Approx(1e-3));
}

TEST_CASE("profiler: a reference that was interrupted itself is done again") {
    World world;
    std::size_t count = 0;
    struct Interrupted {
        World* world;
        std::size_t* count;
        void operator()() const { world->work(30e-6 + (++*count % 3 == 0 ? 50e-6 : 0)); }
    };
    ps::measure::detail::QuietTimer<FakeClock, Interrupted> timer({}, {&world}, {&world, &count});
    timer.set_nominal(30e-6);
    const auto timing = timer.time([&](std::size_t) { world.work(3e-3); }, [](std::size_t) {}, no_rival, 1);
    CHECK(timing.quiet == timing.runs);
    CHECK(timing.seconds == doctest::Approx(3e-3));
}

TEST_CASE("profiler: blocks too short for a clock are not all followed by one, nor by a reference") {
    Trial trial;
    const std::size_t before = trial.world.references;
    const auto timing = trial.time(10e-3, no_rival, 1, 100'000);
    CHECK(timing.seconds == doctest::Approx(10e-3).epsilon(1e-6));
    const double references = static_cast<double>(trial.world.references - before) / static_cast<double>(trial.runs);
    CHECK(references > 15);  // one each 0.3 ms
    CHECK(references < 40);
    trial.timer.between_blocks();  // outside of runs nothing happens
    CHECK(trial.world.references - before ==
          static_cast<std::size_t>(references * static_cast<double>(trial.runs) + 0.5));
}

TEST_CASE("profiler: the nominal speed is one that the machine has now and then") {
    Trial trial;
    trial.world.slower = [](double time) { return std::fmod(time, 0.01) < 0.003 ? 1.0 : 1.2; };
    std::size_t busy = 0;
    trial.timer.learn(0.2, [&] { ++busy; });
    CHECK(busy > 1000);
    CHECK(trial.timer.nominal() == doctest::Approx(30e-6).epsilon(0.01));
    // Not the fastest of all, which may have been chance.
    trial.world.slower = [](double time) { return std::fmod(time, 0.01) < 0.0005 ? 0.5 : 1.0; };
    trial.timer.learn(0.2, [] {});
    CHECK(trial.timer.nominal() == doctest::Approx(30e-6).epsilon(0.01));
}

namespace {

ps::Kernels profiled_kernels() { return ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>(); }
constexpr ps::measure::ProfileOptions brief{.runs = 1, .seconds = 1e-3, .learn_seconds = 1e-3};

}  // namespace

TEST_CASE("profiler: every primitive that supports a configuration takes time, others take none") {
    ps::measure::Profiler<> profiler(profiled_kernels(), brief);
    const auto names = profiler.primitives();
    REQUIRE(names.size() == profiled_kernels().primitives.size());
    for (const ps::learn::ConvConfiguration at :
         {ps::learn::ConvConfiguration{3, 5, 9, 3, 1}, ps::learn::ConvConfiguration{8, 4, 6, 1, 1},
          ps::learn::ConvConfiguration{16, 33, 13, 5, 2}, ps::learn::ConvConfiguration{4, 4, 11, 5, 1}}) {
        const auto seconds = profiler.convolution(at);
        REQUIRE(seconds.size() == names.size());
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            CAPTURE(names[i]);
            CHECK(names[i] == profiled_kernels().primitives[i].id);
            CHECK((seconds[i] > 0) == static_cast<bool>(profiled_kernels().primitives[i].supports(at.shape())));
            CHECK(std::isfinite(seconds[i]));
        }
    }
    CHECK(profiler.runs() > 0);
    CHECK(profiler.quiet_share() >= 0);
    CHECK(profiler.quiet_share() <= 1);
}

TEST_CASE("profiler: the primitives of a step of training take time, all images together or one after another") {
    using Some = ps::concatenate<ps::TypeList<ps::DirectHwc, ps::Indirect>, ps::GradientPrimitives>;
    const ps::Kernels kernels = ps::make_kernels<Some, ps::default_arch, ps::AllLayouts>();
    ps::measure::Profiler<> profiler(kernels, {.runs = 3, .seconds = 0.01, .learn_seconds = 0.01, .images = 3});
    for (ps::learn::ConvConfiguration const& at : {ps::learn::ConvConfiguration{3, 16, 12, 3, 2}, {16, 20, 8, 1, 1}}) {
        const std::vector<double> seconds = profiler.convolution(at);
        REQUIRE(seconds.size() == kernels.primitives.size());
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            CAPTURE(kernels.primitives[i].id);
            CHECK((seconds[i] > 0) == static_cast<bool>(kernels.primitives[i].supports(at.shape())));
        }
    }
}

TEST_CASE("profiler: every change of layout takes time unless nothing moves") {
    ps::measure::Profiler<> profiler(profiled_kernels(), brief);
    const auto names = profiler.layout_pairs();
    CHECK(names ==
          std::vector<std::string>{"chw-to-hcw", "chw-to-hwc", "hcw-to-chw", "hcw-to-hwc", "hwc-to-chw", "hwc-to-hcw"});
    for (const double seconds : profiler.transforms({5, 7})) CHECK(seconds > 0);
    for (const double seconds : profiler.transforms({5, 1})) CHECK(seconds == 0);
    const auto one_channel = profiler.transforms({1, 6});
    CHECK(one_channel[0] == 0);
}

TEST_CASE("profiler: what needs too much memory is left out") {
    ps::measure::ProfileOptions options = brief;
    options.max_bytes = 4000;
    ps::measure::Profiler<> profiler(profiled_kernels(), options);
    const auto small = profiler.convolution({2, 2, 4, 1, 1}), large = profiler.convolution({16, 16, 16, 1, 1});
    CHECK(std::ranges::any_of(small, [](double seconds) { return seconds > 0; }));
    CHECK(std::ranges::all_of(large, [](double seconds) { return seconds == 0; }));
    CHECK(profiler.transforms({2, 4})[0] > 0);
    CHECK(profiler.transforms({16, 16})[0] == 0);
}

#if defined(__linux__)
TEST_CASE("profiler: its thread stays on one processor and is free again afterwards") {
    const auto processors = [] {
        cpu_set_t set;
        REQUIRE(::sched_getaffinity(0, sizeof(set), &set) == 0);
        return CPU_COUNT(&set);
    };
    const int before = processors();
    {
        ps::measure::Profiler<> profiler(profiled_kernels(), brief);
        CHECK(processors() == 1);
    }
    CHECK(processors() == before);
    ps::measure::ProfileOptions nowhere = brief;
    nowhere.cpu = CPU_SETSIZE - 1;
    CHECK_THROWS_WITH_AS(ps::measure::Profiler<>(profiled_kernels(), nowhere),
                         "processor 1023: this thread may not run there", ps::error);
    CHECK(processors() == before);
}
#endif
