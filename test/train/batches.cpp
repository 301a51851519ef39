#include <primsel/train/batches.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "values.hpp"

namespace ps = primsel;

namespace batched {

struct Copy {
    std::vector<float> images, labels;
    int count;
    std::int64_t epoch, number;
    friend bool operator==(Copy const&, Copy const&) = default;
};
Copy copy_of(ps::Batch const& batch) {
    return {{batch.images.begin(), batch.images.end()},
            {batch.labels.begin(), batch.labels.end()},
            batch.count,
            batch.epoch,
            batch.number};
}
/// The first `count` batches, or as many as there are.
template <class Batches>
std::vector<Copy> taken(Batches& batches, int count, bool slowly = false) {
    std::vector<Copy> copies;
    for (int i = 0; i < count; ++i) {
        const ps::Batch batch = batches.next();
        if (batch.count == 0) break;
        copies.push_back(copy_of(batch));
        if (slowly) std::this_thread::sleep_for(std::chrono::microseconds(300));
        // It is still what it was.
        CHECK(copies.back() == copy_of(batch));
    }
    return copies;
}
constexpr ps::Augment augment{.flip = true, .crop = 1};

/// Slow, or throwing what is no error of the library's.
struct Source : ps::LabelledImages {
    std::size_t bad = 1000;
    bool slow = false;
    void read(std::size_t index, float* dst) const {
        if (index == bad) throw std::runtime_error("no such image");
        if (slow) std::this_thread::sleep_for(std::chrono::microseconds(100));
        ps::LabelledImages::read(index, dst);
    }
};
static_assert(ps::DataSource<Source>);

}  // namespace batched

TEST_CASE("every epoch has every sample once, in an order of its own") {
    const ps::LabelledImages images = values::numbered(24);
    ps::Batches batches(images, {.batch = 4, .seed = 3});
    CHECK(batches.batches_per_epoch() == 6);
    std::set<std::vector<float>> orders;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
        std::vector<float> order;
        for (std::int64_t i = 0; i < 6; ++i) {
            const ps::Batch batch = batches.next();
            CHECK(batch.count == 4);
            CHECK(batch.epoch == epoch);
            CHECK(batch.number == 6 * epoch + i);
            for (std::size_t image = 0; image < 4; ++image) {
                const float which = batch.images[6 * image] * 255;
                order.push_back(which);
                CHECK(batch.labels[image] == std::fmod(which, 3.0F));
                CHECK(batch.images[6 * image + 5] == doctest::Approx((which + 200) / 255));
            }
        }
        orders.insert(order);
        std::ranges::sort(order);
        for (std::size_t i = 0; i < 24; ++i) CHECK(order[i] == doctest::Approx(static_cast<double>(i)));
    }
    CHECK(orders.size() == 4);
}

TEST_CASE("batches are the same whatever the timing and the number of buffers") {
    batched::Source images{values::numbered(50), 1000, false};
    const ps::Normalise normalise{{0.25F}, {0.5F}};
    std::vector<batched::Copy> first;
    for (const bool slow_source : {false, true}) {
        images.slow = slow_source;
        for (const int buffers : {1, 2, 3, 7}) {
            for (const bool slowly : {false, true}) {
                ps::Batches batches(images, {.batch = 8, .seed = 5, .buffers = buffers}, normalise, batched::augment);
                const std::vector<batched::Copy> copies = batched::taken(batches, 20, slowly);
                CHECK(copies.size() == 20);
                if (first.empty()) first = copies;
                CHECK(copies == first);
            }
        }
    }
    ps::Batches others(images, {.batch = 8, .seed = 6}, normalise, batched::augment);
    CHECK(batched::taken(others, 20) != first);
}

TEST_CASE("a training that begins anew in the middle gets the same rest") {
    const ps::LabelledImages images = values::numbered(50);
    const ps::BatchOptions options{.batch = 8, .seed = 5};
    ps::Batches whole(images, options, {}, batched::augment);
    const std::vector<batched::Copy> copies = batched::taken(whole, 20);
    for (const int first : {0, 1, 5, 6, 13, 19}) {
        CAPTURE(first);
        ps::BatchOptions later = options;
        later.first = first;
        ps::Batches rest(images, later, {}, batched::augment);
        CHECK(batched::taken(rest, 20 - first) == std::vector<batched::Copy>(copies.begin() + first, copies.end()));
    }
}

TEST_CASE("the last batch of an epoch is left out or padded") {
    const ps::LabelledImages images = values::numbered(10);
    ps::Batches training(images, {.batch = 4, .epochs = 3});
    const auto copies = batched::taken(training, 100);
    CHECK(copies.size() == 6);
    for (auto const& copy : copies) CHECK(copy.count == 4);
    CHECK(training.next().count == 0);
    CHECK(training.next().images.empty());

    ps::Batches evaluation(images, ps::evaluation_batches(4), {{10}, {1}});
    CHECK(evaluation.batches_per_epoch() == 3);
    const auto padded = batched::taken(evaluation, 100);
    CHECK(padded.size() == 3);
    CHECK(padded[1].labels == std::vector<float>{1, 2, 0, 1});
    CHECK(padded[2].count == 2);
    CHECK(padded[2].labels == std::vector<float>{2, 0, -1, -1});
    for (std::size_t i = 0; i < 24; ++i) CHECK((padded[2].images[i] == 0) == (i >= 12));

    ps::Batches none(images, {.batch = 4, .first = 6, .epochs = 3});
    CHECK(none.next().count == 0);
    ps::Batches single(images, ps::evaluation_batches(100));
    CHECK(single.next().count == 10);
    CHECK(single.next().count == 0);
}

TEST_CASE("what a source throws comes out of next, after the batches before it") {
    const batched::Source images{values::numbered(12), 9, false};
    ps::Batches batches(images, {.batch = 2, .shuffle = false, .buffers = 4});
    for (int i = 0; i < 4; ++i) CHECK(batches.next().count == 2);
    for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH_AS((void)batches.next(), "no such image", std::runtime_error);
}

TEST_CASE("batches end at any time") {
    batched::Source images{values::numbered(100), 1000, true};
    for (int taken = 0; taken < 5; ++taken) {
        ps::Batches batches(images, {.batch = 5, .buffers = 2});
        for (int i = 0; i < taken; ++i) (void)batches.next();
    }
    images.bad = 0;
    const ps::Batches unseen(images, {.batch = 5, .shuffle = false});
}

TEST_CASE("batches in a child of fork, which does not have their thread, are refused and destroyed") {
    const batched::Source images{values::numbered(100), 1000, true};
    for (int taken = 0; taken < 5; ++taken) {
        auto batches = std::make_optional<ps::Batches<batched::Source>>(images, ps::BatchOptions{.batch = 5});
        for (int i = 0; i < taken; ++i) (void)batches->next();
        const pid_t child = fork();
        if (child == 0) {
            alarm(300);
            const bool refused = values::error_of([&] { (void)batches->next(); }).starts_with("batches: the thread");
            batches.reset();
            _exit(refused ? 0 : 1);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
        CHECK(batches->next().count == 5);
    }
}

TEST_CASE("impossible batches are refused") {
    const ps::LabelledImages images = values::numbered(10);
    const auto refused = [&](ps::BatchOptions const& options, ps::Normalise const& normalise = {}) {
        return values::error_of([&] { const ps::Batches batches(images, options, normalise); });
    };
    CHECK(refused({.batch = 11}) == "batches: 10 samples are less than a batch of 11");
    CHECK(refused({.batch = 0}).starts_with("batches: impossible options: batch 0"));
    CHECK(refused({.buffers = 0}).starts_with("batches: impossible options"));
    CHECK(refused({.first = -1}).starts_with("batches: impossible options"));
    CHECK(refused({.batch = 2}, {{1, 2}, {1, 2}}).starts_with("normalise: 2 means"));
    const ps::Subset<ps::LabelledImages> none(images, {});
    CHECK(values::error_of([&] { const ps::Batches batches(none, ps::evaluation_batches(4)); }) ==
          "batches: 0 samples are less than a batch of 4");
}
