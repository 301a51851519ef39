#include "competing.hpp"

#include "timing.hpp"

#include <primsel/core/statistics.hpp>

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

namespace reproduce {
namespace {

double now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A process that computes on a core for one to three seconds, is away for one to three, and so on.
class Competitor {
public:
    explicit Competitor(std::vector<std::size_t> const& cores) {
        void* room = ::mmap(nullptr, sizeof(Changes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) ps::fail("the other process: ", std::strerror(errno));
        changes_ = new (room) Changes;
        child_ = ::fork();
        if (child_ < 0) ps::fail("the other process: ", std::strerror(errno));
        if (child_ == 0) compete(cores);
    }
    Competitor(Competitor const&) = delete;
    Competitor& operator=(Competitor const&) = delete;
    ~Competitor() {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
        ::munmap(changes_, sizeof(Changes));
    }

    /// When it came, went, came and so on.
    [[nodiscard]] std::vector<double> changes() const {
        const std::size_t count = changes_->count.load(std::memory_order_acquire);
        return {changes_->when.begin(), changes_->when.begin() + static_cast<std::ptrdiff_t>(count)};
    }

private:
    struct Changes {
        std::atomic<std::size_t> count{0};
        std::array<double, 4096> when{};
    };

    [[noreturn]] void compete(std::vector<std::size_t> const& cores) const noexcept {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ps::Random random(2019);
        const auto some_seconds = [&random] { return 1 + 2 * random.uniform(); };
        while (changes_->count + 2 <= changes_->when.size()) {
            const double pause = some_seconds();
            const timespec time{static_cast<time_t>(pause),
                                static_cast<long>(1e9 * (pause - static_cast<double>(static_cast<time_t>(pause))))};
            ::nanosleep(&time, nullptr);
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(cores[random.below(cores.size())], &set);
            ::sched_setaffinity(0, sizeof(set), &set);
            note();
            for (const double until = now() + some_seconds(); now() < until;) {
            }
            note();
        }
        ::_exit(0);
    }
    void note() const noexcept {
        const std::size_t count = changes_->count.load(std::memory_order_relaxed);
        changes_->when[count] = now();
        changes_->count.store(count + 1, std::memory_order_release);
    }

    Changes* changes_ = nullptr;
    pid_t child_ = -1;
};

std::vector<std::size_t> first_cores(Contest const& contest) {
    std::vector<std::size_t> cores;
    for (auto const& set : contest.core_sets) cores.push_back(set.at(0));
    return cores;
}

/// The operating points of each configuration on each core set, while nothing else runs.
std::vector<ps::dynamic::OperatingPoint> points_of(ps::dynamic::DynamicEngine<>& engine,
                                                   ps::dynamic::LinuxPlatform& platform,
                                                   std::vector<float> const& image) {
    std::vector<float> scores(engine.out_shape().size());
    std::vector<ps::dynamic::OperatingPoint> points;
    for (std::size_t set = 0; set < platform.core_sets().size(); ++set) {
        for (int c = 1; c <= engine.count(); ++c) {
            ps::dynamic::OperatingPoint point{.configuration = c, .core_set = set};
            platform.apply(point);
            engine.use(c);
            std::vector<double> seconds;
            for (int i = 0; i < 25; ++i) {
                const double began = platform.seconds();
                engine.run(image, scores);
                if (i >= 4) seconds.push_back(platform.seconds() - began);
            }
            point.seconds = ps::median(seconds);
            point.accuracy = static_cast<double>(c) / engine.count();  // the share of the groups
            points.push_back(point);
        }
    }
    return points;
}

/// Images as fast as they come, for so long.
template <class Run>
std::vector<ps::dynamic::GovernedImage> run_for(double seconds, Run const& run) {
    std::vector<ps::dynamic::GovernedImage> images;
    images.reserve(1U << 20U);
    for (const double until = now() + seconds; now() < until && images.size() < images.capacity();) {
        images.push_back(run());
    }
    return images;
}

}  // namespace

ContestResult compete(Subject const& subject, Contest const& contest) {
    ps::dynamic::DynamicEngine<> engine(subject.graph, subject.weights, subject.configurations);
    const std::vector<float> image = image_of(engine.in_shape());
    std::vector<float> scores(engine.out_shape().size());
    ps::dynamic::LinuxPlatform platform({.set_frequency = false, .core_sets = contest.core_sets});
    const std::vector<ps::dynamic::OperatingPoint> points = points_of(engine, platform, image);
    const auto whole = static_cast<std::size_t>(engine.count()) - 1;
    ContestResult result;
    result.budget = contest.budget * points[whole].seconds;
    for (std::string const& limit : platform.limits()) result.limits.push_back(limit);

    ps::dynamic::Governor governor(points, {.seconds = result.budget});
    ps::dynamic::Governed governed(platform, governor);
    std::vector<ps::dynamic::GovernedImage> images;
    std::vector<double> changes;
    {
        const Competitor other(first_cores(contest));
        images = run_for(contest.seconds, [&] {
            return governed.run([&](int c) noexcept { engine.use(c); }, [&]() noexcept { engine.run(image, scores); });
        });
        changes = other.changes();
    }
    result.images = images.size();
    result.switches = governor.switches();
    std::size_t next = 0, beside = 0;
    bool there = false;
    for (ps::dynamic::GovernedImage const& each : images) {
        const bool first = next < changes.size() && each.began + each.seconds > changes[next];
        while (next < changes.size() && each.began + each.seconds > changes[next]) ++next, there = !there;
        result.changes += first ? 1 : 0;
        result.late += each.missed ? 1 : 0;
        result.late_first += first && each.missed ? 1 : 0;
        beside += there ? 1 : 0;
        (there ? result.share_beside : result.share_alone) += each.point.accuracy;
    }
    result.share_beside /= static_cast<double>(std::max<std::size_t>(beside, 1));
    result.share_alone /= static_cast<double>(std::max<std::size_t>(images.size() - beside, 1));

    // The same process beside a network that does not change.
    platform.apply(points[whole]);
    engine.use(engine.count());
    const Competitor other(first_cores(contest));
    const std::vector<ps::dynamic::GovernedImage> fixed = run_for(contest.seconds / 2, [&] {
        ps::dynamic::GovernedImage each;
        each.began = now();
        engine.run(image, scores);
        each.missed = now() - each.began > result.budget;
        return each;
    });
    const auto late = static_cast<double>(std::ranges::count_if(fixed, &ps::dynamic::GovernedImage::missed));
    result.fixed_late_share = late / static_cast<double>(fixed.size());
    return result;
}

}  // namespace reproduce
