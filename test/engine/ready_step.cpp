// The order in which a run takes steps and images.
#include <primsel/core/thread_pool.hpp>
#include <primsel/engine/ready_step.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace ready_steps {

namespace ps = primsel;

/// A step that notes which images it was run for.
struct Noted {
    std::size_t name = 0;
    std::vector<std::array<std::size_t, 3>>* notes = nullptr;
    std::mutex* guard = nullptr;

    void run(ps::engine::RunMemory const&, std::size_t first, int images, ps::ExecutorRef executor) const noexcept {
        const std::lock_guard lock(*guard);
        notes->push_back({name, first, static_cast<std::size_t>(images)});
        alone = executor.concurrency() == 1;
    }
    mutable bool alone = false;
};

struct Run {
    std::vector<std::array<std::size_t, 3>> notes;
    std::mutex guard;
    std::vector<Noted> noted;
    std::vector<ps::engine::ReadyStep> steps;
    std::vector<std::size_t> order, lanes;

    explicit Run(std::size_t count) : order(count) {
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t i = 0; i < count; ++i) noted.push_back({i, &notes, &guard});
        for (Noted const& step : noted) steps.push_back(ps::engine::ready(step));
    }
    [[nodiscard]] ps::engine::ReadyRun ready(std::size_t single, std::size_t images) const {
        return {.steps = steps, .order = order, .lanes = lanes, .single = single, .images = images};
    }
};

TEST_CASE("the first steps take one image after another, the others all images") {
    for (std::size_t count = 1; count <= 5; ++count) {
        for (std::size_t single = 0; single <= count; ++single) {
            for (std::size_t images = 1; images <= 3; ++images) {
                Run run(count);
                std::swap(run.order.front(), run.order.back());
                const ps::engine::ReadyRun ready = run.ready(single, images);
                std::vector<std::array<std::size_t, 3>> expected;
                for (std::size_t image = 0; image < images; ++image) {
                    for (std::size_t i = 0; i < single; ++i) expected.push_back({run.order[i], image, 1});
                }
                for (std::size_t i = single; i < count; ++i) expected.push_back({run.order[i], 0, images});
                CHECK(ready.count() == expected.size());
                ps::Sequential here;
                ready.run(here);
                CHECK(run.notes == expected);
                for (std::size_t i = 0; i < expected.size(); ++i) CHECK(ready.position(i) == expected[i][0]);
                for (std::size_t ordered = 0; ordered <= count; ++ordered) {
                    const std::size_t first = ready.first_whole_step(ordered);
                    for (std::size_t i = first; i < expected.size(); ++i) {
                        CHECK((expected[i][2] == images || single == 0));
                    }
                    CHECK(first == single * images + (ordered > single ? ordered - single : 0));
                }
            }
        }
    }
}

TEST_CASE("each lane is run in its order by one worker, between the steps that all workers share") {
    Run run(7);
    run.lanes = {1, 3, 6};
    ps::ThreadPool pool(2);
    run.ready(0, 1).run(pool);
    REQUIRE(run.notes.size() == 7);
    CHECK(run.notes.front()[0] == 0);
    CHECK(run.notes.back()[0] == 6);
    std::vector<std::size_t> one, other;
    for (auto const& note : run.notes) {
        if (note[0] >= 1 && note[0] < 3) one.push_back(note[0]);
        if (note[0] >= 3 && note[0] < 6) other.push_back(note[0]);
    }
    CHECK(one == std::vector<std::size_t>{1, 2});
    CHECK(other == std::vector<std::size_t>{3, 4, 5});
    for (std::size_t i = 0; i < 7; ++i) CHECK(run.noted[i].alone == (i >= 1 && i < 6));
}

}  // namespace ready_steps
