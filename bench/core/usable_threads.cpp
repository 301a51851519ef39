// The number of threads that the library chooses by itself under an affinity mask and CPU quotas of control groups:
// here, and with masks of one processor up to all and files of control groups as systems and containers have them. They
// are written into a temporary folder, which is read in place of /.
#include <primsel/core/thread_pool.hpp>
#include <primsel/core/usable_threads.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace {

namespace ps = primsel;
using Files = std::vector<std::pair<std::string, std::string>>;

struct Limits {
    const char* name;
    Files files;
};

/// The files that tell a process its groups of version 2 or 1.
Files unified(std::string const& group, Files files) {
    files.emplace_back("/proc/self/cgroup", "0::" + group + "\n");
    files.emplace_back("/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    return files;
}
Files split(std::string const& group, std::string const& quota_us) {
    return {{"/proc/self/cgroup", "4:cpu,cpuacct:" + group + "\n"},
            {"/proc/self/mountinfo", "33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"},
            {"/sys/fs/cgroup/cpu" + group + "/cpu.cfs_quota_us", quota_us + "\n"},
            {"/sys/fs/cgroup/cpu" + group + "/cpu.cfs_period_us", "100000\n"}};
}

/// Allows the first processors of a mask alone.
bool allow(cpu_set_t const& all, int count) {
    cpu_set_t some;
    CPU_ZERO(&some);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&some) < count; ++i) {
        if (CPU_ISSET(i, &all)) CPU_SET(i, &some);
    }
    return ::sched_setaffinity(0, sizeof(some), &some) == 0;
}

void print(const char* name, int processors, ps::UsableThreads const& threads, const char* note) {
    std::printf("%-48s%12d%10.2f%9zu%s\n", name, processors, threads.quota, threads.count(), note);
}

}  // namespace

int main() {
    cpu_set_t all;
    if (::sched_getaffinity(0, sizeof(all), &all) != 0) return 1;
    const int processors = CPU_COUNT(&all);
    std::printf("%-48s%12s%10s%9s\n", "control groups", "processors", "quota", "threads");
    const ps::UsableThreads here = ps::usable_threads();
    print("this process", processors, here, ps::ThreadPool().concurrency() == here.count() ? "" : "  another pool!");

    const std::vector<Limits> all_limits{
        {"none", {}},
        {"version 2, no quota", unified("/a", {{"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}})},
        {"version 2, half a processor", unified("/a", {{"/sys/fs/cgroup/a/cpu.max", "50000 100000\n"}})},
        {"version 2, one and a half", unified("/a", {{"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"}})},
        {"version 2, 8 within a group of 1", unified("/a/b", {{"/sys/fs/cgroup/a/cpu.max", "100000 100000\n"},
                                                              {"/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n"}})},
        {"version 1, no quota", split("/a", "-1")},
        {"version 1, half a processor", split("/a", "50000")},
        {"version 1, one and a half", split("/a", "150000")},
        {"version 1, 64", split("/a", "6400000")},
    };
    const std::filesystem::path root =
        std::filesystem::temp_directory_path() / ("primsel_usable_threads_" + std::to_string(::getpid()));
    for (Limits const& limits : all_limits) {
        for (auto const& [path, text] : limits.files) {
            const std::filesystem::path file = root.string() + path;
            std::filesystem::create_directories(file.parent_path());
            std::ofstream(file) << text;
        }
        for (int count = 1; count <= processors; count *= 2) {
            if (allow(all, count)) print(limits.name, count, ps::usable_threads(root.string()), "");
        }
        std::filesystem::remove_all(root);
    }
}
