#include <primsel/core/thread_pool.hpp>
#include <primsel/core/usable_threads.hpp>

#include "../io/scratch.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace usable_threads_tests {

namespace ps = primsel;

constexpr double none = std::numeric_limits<double>::infinity();

/// A root of a file system with the files of /proc and of control groups that a test gives it.
class Root {
public:
    Root(std::string const& groups, std::string const& mounts) {
        write("/proc/self/cgroup", groups);
        write("/proc/self/mountinfo", mounts);
    }
    void write(std::string const& path, std::string const& text) const {
        const std::filesystem::path file = folder_.file("") + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    [[nodiscard]] ps::UsableThreads read() const { return ps::usable_threads(folder_.file("")); }
    [[nodiscard]] double quota() const { return read().quota; }

private:
    scratch::Folder folder_;
};

const std::string unified = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string split =
    "25 17 0:22 / / rw - ext4 /dev/sda1 rw\n"
    "32 31 0:28 / /sys/fs/cgroup/cpuset rw,nosuid shared:8 - cgroup cgroup rw,cpuset\n"
    "33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

TEST_CASE("UsableThreads::count: the processors, and no more than the quota, rounded up") {
    const auto count = [](std::size_t processors, double quota) {
        return ps::UsableThreads{.processors = processors, .quota = quota}.count();
    };
    CHECK(count(8, none) == 8);
    CHECK(count(8, 16) == 8);
    CHECK(count(8, 3) == 3);
    CHECK(count(8, 2.01) == 3);
    CHECK(count(8, 0.05) == 1);
    CHECK(count(1, 0.5) == 1);
    CHECK(count(0, 0) == 1);
}

#if !defined(_WIN32)  // whose files have no colons and backslashes in their names
TEST_CASE("usable_threads: the quota of control groups of version 2, the least along the path") {
    const Root root("0::/system.slice/serve.service/worker\n", unified);
    CHECK(root.quota() == none);
    CHECK(root.read().group.empty());
    const std::string slice = "/sys/fs/cgroup/system.slice";
    root.write(slice + "/serve.service/worker/cpu.max", "max 100000\n");
    CHECK(root.quota() == none);
    root.write(slice + "/cpu.max", "400000 100000\n");
    CHECK(root.quota() == 4);
    CHECK(root.read().group == slice);
    root.write(slice + "/serve.service/cpu.max", "75000 50000\n");
    CHECK(root.quota() == 1.5);
    CHECK(root.read().group == slice + "/serve.service");
    CHECK(root.read().count() == (root.read().processors < 2 ? 1 : 2));
    root.write(slice + "/serve.service/worker/cpu.max", "200000 100000\n");
    CHECK(root.quota() == 1.5);
    root.write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    CHECK(root.quota() == 0.5);
    CHECK(root.read().group == "/sys/fs/cgroup");
    CHECK(root.read().count() == 1);
    // Groups that are no ancestors bound nothing.
    root.write("/sys/fs/cgroup/system.slice/other/cpu.max", "1000 100000\n");
    root.write("/sys/fs/cgroup/system/cpu.max", "1000 100000\n");
    CHECK(root.quota() == 0.5);
}

TEST_CASE("usable_threads: the quota of control groups of version 1, beside those of version 2") {
    const Root root("5:cpuset:/a\n4:cpu,cpuacct:/a/b\n1:name=systemd:/c\n0::/c\n", split + unified);
    const std::string cpu = "/sys/fs/cgroup/cpu,cpuacct";
    root.write(cpu + "/a/b/cpu.cfs_quota_us", "-1\n");
    root.write(cpu + "/a/b/cpu.cfs_period_us", "100000\n");
    root.write("/sys/fs/cgroup/cpuset/a/cpu.cfs_quota_us", "1000\n");
    root.write("/sys/fs/cgroup/cpuset/a/cpu.cfs_period_us", "100000\n");
    CHECK(root.quota() == none);
    root.write(cpu + "/a/cpu.cfs_quota_us", "250000\n");
    CHECK(root.quota() == none);  // no period
    root.write(cpu + "/a/cpu.cfs_period_us", "100000\n");
    CHECK(root.quota() == 2.5);
    CHECK(root.read().group == cpu + "/a");
    root.write("/sys/fs/cgroup/c/cpu.max", "20000 10000\n");
    CHECK(root.quota() == 2);
    CHECK(root.read().group == "/sys/fs/cgroup/c");
}

TEST_CASE("usable_threads: a part of the hierarchy that is mounted in a container") {
    // With the host's namespace the path begins with what is mounted; with its own, the group is the root.
    for (const std::string path : {"/docker/ab", "/docker/ab/"}) {
        const Root root("0::" + path + "\n", "29 23 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
        root.write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
        CHECK(root.quota() == 3);
    }
    const Root inner("0::/docker/ab/c\n", "29 23 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    inner.write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    inner.write("/sys/fs/cgroup/c/cpu.max", "200000 100000\n");
    CHECK(inner.quota() == 2);
    // Another group's directory says nothing.
    const Root other("0::/docker/abc\n", "29 23 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    other.write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    other.write("/sys/fs/cgroup/c/cpu.max", "300000 100000\n");
    CHECK(other.quota() == none);
    const Root outside("0::/../elsewhere\n", unified);
    outside.write("/sys/fs/elsewhere/cpu.max", "100000 100000\n");
    outside.write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    CHECK(outside.quota() == none);
}

TEST_CASE("usable_threads: blanks in names of directories") {
    const Root root("0::/two words\n", "29 23 0:26 / /sys/fs/c\\040group rw - cgroup2 cgroup2 rw\n");
    root.write("/sys/fs/c group/two words/cpu.max", "200000 100000\n");
    CHECK(root.quota() == 2);
}
#endif

TEST_CASE("usable_threads: files that are missing or hold something else bound nothing") {
    CHECK(ps::usable_threads("/nowhere").quota == none);
    CHECK(ps::usable_threads("/nowhere").count() >= 1);
    for (const std::string groups : {"", "\n", "::", "0:", "0::", "0::relative", ":::::", "0::/\n0::/\n0::/"}) {
        for (const std::string mounts :
             {"", "\n", " - ", "1 2 3 4 5 6 - cgroup2", "a - cgroup2 b c\n", unified.c_str()}) {
            (void)Root(groups, mounts).read();
        }
    }
    const Root root("0::/\n", unified);
    for (const std::string text :
         {"", "max", "100000", "100000 0", "0 100000", "-5 100000", "x y", "100000 -1", "99999999999999999999999 1"}) {
        CAPTURE(text);
        root.write("/sys/fs/cgroup/cpu.max", text);
        CHECK(root.read().count() == root.read().processors);
    }
    root.write("/sys/fs/cgroup/cpu.max", std::string(100'000, ' ') + "100000 100000");
    CHECK(root.quota() == 1);
}

#if defined(__linux__)
TEST_CASE("usable_threads and ThreadPool take no more threads than the affinity mask has processors") {
    cpu_set_t before;
    REQUIRE(::sched_getaffinity(0, sizeof(before), &before) == 0);
    CHECK(ps::usable_threads("/nowhere").count() == static_cast<std::size_t>(CPU_COUNT(&before)));
    std::size_t counted = 0, in_pool = 0;
    std::thread([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int i = CPU_SETSIZE - 1; i >= 0; --i) {
            if (CPU_ISSET(i, &before)) {
                CPU_SET(i, &one);
                break;
            }
        }
        if (::sched_setaffinity(0, sizeof(one), &one) != 0) return;
        counted = ps::usable_threads("/nowhere").count();
        in_pool = ps::ThreadPool().concurrency();
    }).join();
    CHECK(counted == 1);
    CHECK(in_pool == 1);
    CHECK(ps::ThreadPool().concurrency() == ps::usable_threads().count());
}
#endif

}  // namespace usable_threads_tests
