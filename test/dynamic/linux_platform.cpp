// On a made-up system: what is there is used and put back, what is missing, malformed or unreadable is told and left
// out. On this machine: whatever it has, it runs.
#include <doctest/doctest.h>
#include <primsel/core/thread_pool.hpp>
#include <primsel/dynamic/governed.hpp>
#include <primsel/dynamic/linux_platform.hpp>

#include <pthread.h>
#include <sched.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../allocations.hpp"
#include "../error_of.hpp"

namespace on_linux {
namespace {

namespace ps = primsel;
namespace fs = std::filesystem;

/// A folder that is gone at the end.
class System {
public:
    System() {
        std::string name = (fs::temp_directory_path() / "primsel-system-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        root_ = name;
    }
    System(System const&) = delete;
    System& operator=(System const&) = delete;
    ~System() { fs::remove_all(root_); }

    void write(std::string_view path, std::string_view text) const {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    [[nodiscard]] std::string read(std::string_view path) const {
        std::ifstream file(root_ / path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void remove(std::string_view path) const { fs::remove_all(root_ / path); }
    /// There, but no file that can be read or written.
    void spoil(std::string_view path) const {
        fs::remove_all(root_ / path);
        fs::create_directories(root_ / path);
    }
    [[nodiscard]] ps::dynamic::LinuxOptions options() const { return {.root = root_.string()}; }

private:
    fs::path root_;
};

const std::string cpu = "sys/devices/system/cpu/";

/// Two clusters of two.
void fill(System const& system) {
    system.write(cpu + "present", "0-3\n");
    system.write(cpu + "online", "0-3\n");
    for (const int core : {0, 1, 2, 3}) {
        const bool big = core >= 2;
        const std::string folder = cpu + "cpu" + std::to_string(core) + "/cpufreq/";
        system.write(cpu + "cpufreq/policy" + std::to_string(core) + "/related_cpus", big ? "2 3\n" : "0 1\n");
        system.write(folder + "cpuinfo_min_freq", "200000\n");
        system.write(folder + "cpuinfo_max_freq", big ? "1800000\n" : "1300000\n");
        system.write(folder + "scaling_min_freq", "200000\n");
        system.write(folder + "scaling_max_freq", big ? "1800000\n" : "1300000\n");
        system.write(folder + "scaling_available_frequencies", big ? "1800000 1000000 200000 \n" : "200000 1300000 \n");
    }
    system.write("sys/class/thermal/thermal_zone0/temp", "41000\n");
    system.write("sys/class/thermal/thermal_zone1/temp", "52500\n");
    system.write("sys/class/powercap/intel-rapl:0/energy_uj", "900000\n");
    system.write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000000\n");
    system.write("proc/stat",
                 "cpu  9 0 0 9 0 0 0 0 0 0\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu2 100 0 0 100 0 0 0 0 0 0\n"
                 "cpu3 100 0 0 100 0 0 0 0 0 0\nintr 1\n");
}

bool tells(ps::dynamic::LinuxPlatform const& platform, std::string_view part) {
    for (std::string const& line : platform.limits()) {
        if (line.find(part) != std::string::npos) return true;
    }
    return false;
}

void use_all(ps::dynamic::LinuxPlatform& platform) {
    std::vector<ps::dynamic::CoreState> states(platform.core_sets().size());
    for (int round = 0; round < 2; ++round) {
        platform.observe(states);
        for (std::size_t set = 0; set < states.size(); ++set) {
            std::vector<double> const& hertz = platform.core_sets()[set].hertz;
            REQUIRE(!hertz.empty());
            CHECK(states[set].top < hertz.size());
            CHECK(states[set].cores <= platform.core_sets()[set].cores.size());
            CHECK((std::isnan(states[set].slowdown) || (states[set].slowdown >= 1 && states[set].slowdown <= 2)));
            for (std::size_t level = 0; level < hertz.size(); ++level) {
                CHECK(hertz[level] > 0);
                platform.apply({.core_set = set, .level = level});
            }
        }
        const double joules = platform.joules();
        CHECK((std::isnan(joules) || std::isfinite(joules)));
    }
}

}  // namespace

TEST_CASE("Clusters, frequencies, temperature, energy and load of a system are found") {
    System system;
    fill(system);
    ps::dynamic::LinuxPlatform platform(system.options());
    REQUIRE(platform.core_sets().size() == 2);
    CHECK(platform.core_sets()[0].cores == std::vector<std::size_t>{0, 1});
    CHECK(platform.core_sets()[1].cores == std::vector<std::size_t>{2, 3});
    CHECK(platform.core_sets()[1].hertz == std::vector<double>{200e6, 1000e6, 1800e6});
    CHECK(platform.limits().empty());

    CHECK(platform.joules() == 0);
    system.write("sys/class/powercap/intel-rapl:0/energy_uj", "950000\n");
    CHECK(platform.joules() == doctest::Approx(0.05));
    system.write("sys/class/powercap/intel-rapl:0/energy_uj", "50000\n");  // it began again at 1 J
    CHECK(platform.joules() == doctest::Approx(0.15));

    system.write("proc/stat", "cpu0 150 0 0 150 0 0 0 0 0 0\ncpu2 190 0 0 110 0 0 0 0\ncpu3 110 0 0 190 0 0 0 0\nx\n");
    std::vector<ps::dynamic::CoreState> states(2);
    platform.observe(states);
    CHECK(states[0].cores == 2);
    CHECK(states[1].top == 2);
    CHECK(states[1].celsius == doctest::Approx(52.5));
    CHECK(states[1].slowdown == doctest::Approx(2));  // one core is busy and one is not: half of them
    CHECK(std::isnan(states[0].slowdown));            // of cpu1 nothing is known
    system.write(cpu + "online", "0-2\n");
    platform.observe(states);
    CHECK(states[1].cores == 1);
}

TEST_CASE("Frequencies are set, caps are seen, and what was before comes back") {
    System system;
    fill(system);
    const std::string least = cpu + "cpu2/cpufreq/scaling_min_freq", most = cpu + "cpu2/cpufreq/scaling_max_freq";
    {
        ps::dynamic::LinuxPlatform platform(system.options());
        CHECK(platform.apply({.core_set = 1, .level = 1}));
        CHECK(system.read(least) == "1000000");
        CHECK(system.read(most) == "1000000");
        std::vector<ps::dynamic::CoreState> states(2);
        platform.observe(states);
        CHECK(states[1].top == 2);
        system.write(most, "300000\n");  // the system allows less than was asked
        platform.observe(states);
        CHECK(states[1].top == 0);
        CHECK(platform.apply({.core_set = 1, .level = 0}));
        platform.observe(states);
        CHECK(states[1].top == 0);  // it is not asked at once again
        CHECK_FALSE(platform.apply({.core_set = 2}));
        CHECK_FALSE(platform.apply({.core_set = 1, .level = 3}));
    }
    CHECK(system.read(least) == "200000");
    CHECK(system.read(most) == "1800000");
}

TEST_CASE("What is missing is told and left out") {
    System system;
    {
        ps::dynamic::LinuxPlatform platform(system.options());
        CHECK(platform.core_sets().size() == 1);
        CHECK(tells(platform, "tells no cores"));
        CHECK(tells(platform, "no cpufreq"));
        CHECK(tells(platform, "no thermal zone"));
        CHECK(tells(platform, "energy is unknown"));
        CHECK(std::isnan(platform.joules()));
        use_all(platform);
    }
    fill(system);
    system.remove("sys/class/powercap");
    system.write("sys/class/hwmon/hwmon3/power1_input", "2000000\n");
    system.spoil(cpu + "cpu0/cpufreq/scaling_max_freq");
    ps::dynamic::LinuxPlatform platform(system.options());
    CHECK(platform.core_sets()[0].hertz.size() == 1);
    CHECK(platform.core_sets()[1].hertz.size() == 3);
    CHECK(platform.limits().size() == 1);
    CHECK(platform.joules() == 0);
    CHECK(platform.joules() >= 0);  // 2 W for a moment
    use_all(platform);
    ps::dynamic::LinuxOptions options = system.options();
    options.set_frequency = false;
    CHECK(ps::dynamic::LinuxPlatform(options).core_sets()[1].hertz == std::vector<double>{1800e6});
    options.core_sets = {{3}, {0, 1}};
    CHECK(ps::dynamic::LinuxPlatform(options).core_sets()[0].name == "cpu3");
    options.core_sets = {{4}};
    CHECK(tests::error_of([&] { ps::dynamic::LinuxPlatform other(options); }) ==
          "linux platform: core 4 cannot be used");
    options.core_sets = {{}};
    CHECK(tests::error_of([&] { ps::dynamic::LinuxPlatform other(options); }) ==
          "linux platform: a core set has no cores");
}

TEST_CASE("Whatever stands in the files, it runs") {
    System system;
    fill(system);
    std::vector<std::string> files;
    const fs::path root = system.options().root;
    for (auto const& entry : fs::recursive_directory_iterator(root)) {
        if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root).string());
    }
    REQUIRE(files.size() > 20);
    const std::vector<std::string> pieces{"",
                                          "\n",
                                          "-",
                                          ",",
                                          "-1",
                                          "0",
                                          "3-1",
                                          "0-99999",
                                          "1-2-3",
                                          "99999999999999999999",
                                          "-9223372036854775808",
                                          "9223372036854775807",
                                          "cpu0",
                                          "cpu3 1 2",
                                          " ",
                                          "1e9",
                                          "nan",
                                          "0x10",
                                          "\xff",
                                          "0,,1",
                                          "1800000"};
    std::mt19937 bits(1);
    for (int round = 0; round < 60; ++round) {
        fill(system);
        const std::size_t changes = 1 + bits() % 6;
        for (std::size_t i = 0; i < changes; ++i) {
            std::string const& file = files[bits() % files.size()];
            std::string text;
            for (std::size_t parts = bits() % 4; parts > 0; --parts) text += pieces[bits() % pieces.size()];
            if (bits() % 8 == 0) text = std::string(bits() % 9000, static_cast<char>(bits()));
            if (bits() % 8 == 0)
                system.spoil(file);
            else if (!fs::is_directory(root / file))
                system.write(file, text);
        }
        {
            ps::dynamic::LinuxPlatform platform(system.options());
            use_all(platform);
        }
        for (std::string const& file : files) {
            if (fs::is_directory(root / file)) system.remove(file);
        }
    }
}

TEST_CASE("Texts of cores and numbers are what they say or nothing") {
    ps::dynamic::detail::CoreBits cores;
    CHECK(ps::dynamic::detail::read_cores("0-2,5\n", cores));
    CHECK(cores.to_ulong() == 0b100111);
    CHECK(ps::dynamic::detail::read_cores("", cores));
    CHECK(cores.none());
    for (const char* text : {"a", "1-", "-1", "2-1", "1,", ",1", "0-1024", "1 2", "1-2-3"}) {
        CAPTURE(text);
        CHECK_FALSE(ps::dynamic::detail::read_cores(text, cores));
    }
    std::int64_t value = 0;
    CHECK(ps::dynamic::detail::read_whole(" -12\n", value));
    CHECK(value == -12);
    for (const char* text : {"", " ", "1 2", "1.5", "+1", "99999999999999999999"}) {
        CHECK_FALSE(ps::dynamic::detail::read_whole(text, value));
    }
}

TEST_CASE("On this machine a governed loop runs, allocates nothing, and leaves the thread where it was") {
    cpu_set_t before, after;
    REQUIRE(::sched_getaffinity(0, sizeof(before), &before) == 0);
    {
        ps::dynamic::LinuxPlatform platform;
        ps::dynamic::Governor governor({{.configuration = 1, .seconds = 1e-6, .accuracy = 0.5},
                                        {.configuration = 2, .seconds = 2e-6, .accuracy = 0.6}},
                                       {.seconds = 10});
        ps::dynamic::Governed governed(platform, governor);
        const std::size_t allocated = scratch::allocations;
        for (int i = 0; i < 200; ++i) {
            const ps::dynamic::GovernedImage image = governed.run([](int) {}, [] {});
            if (image.seconds < 0 || image.missed) FAIL("time goes back");
        }
        CHECK(scratch::allocations == allocated);
        CHECK(governor.images() == 200);
        CHECK(governed.configuration() == 2);
    }
    REQUIRE(::sched_getaffinity(0, sizeof(after), &after) == 0);
    CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("Threads that are taken along move as the caller's does, and come back") {
    const auto cores_of = [](pthread_t thread) {
        cpu_set_t cores;
        REQUIRE(::pthread_getaffinity_np(thread, sizeof(cores), &cores) == 0);
        return cores;
    };
    ps::ThreadPool pool(2);
    const auto handles = pool.native_handles();
    REQUIRE(handles.size() == 1);
    const cpu_set_t before = cores_of(handles[0]);
    {
        ps::dynamic::LinuxPlatform platform;
        platform.take_along(handles);
        const bool moved = platform.apply({.core_set = 0, .threads = 1});
        const cpu_set_t own = cores_of(::pthread_self()), other = cores_of(handles[0]);
        if (moved) CHECK(CPU_COUNT(&own) == 1);
        CHECK(CPU_EQUAL(&own, &other));
    }
    const cpu_set_t after = cores_of(handles[0]);
    CHECK(CPU_EQUAL(&before, &after));
}

}  // namespace on_linux
