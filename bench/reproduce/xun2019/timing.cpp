#include "timing.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/train/random.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace reproduce {
namespace {

struct Threaded : ps::DefaultPolicies {
    using executor = ps::ThreadPool;
};

/// Two engines that each run half of the groups, on a thread each.
class Halves {
public:
    explicit Halves(Subject const& subject)
        : pool_(2),
          first_(subject.graph, subject.weights, subject.configurations),
          second_(subject.graph, subject.weights, subject.configurations),
          first_scores_(first_.out_shape().size()),
          second_scores_(first_scores_) {
        first_.use(first_.count() / 2), second_.use(first_.count() / 2);
    }
    void run(std::vector<float> const& image) {
        pool_.parallel_for(2, [&](std::size_t block, std::size_t) {
            if (block == 0)
                first_.run(image, first_scores_);
            else
                second_.run(image, second_scores_);
        });
    }

private:
    ps::ThreadPool pool_;
    ps::DynamicEngine<> first_, second_;
    std::vector<float> first_scores_, second_scores_;
};

}  // namespace

std::vector<float> image_of(ps::Shape shape) {
    std::vector<float> image(shape.size());
    ps::Random random(7);
    for (float& value : image) value = static_cast<float>(random.uniform()) - 0.5F;
    return image;
}

Timed time_of(Subject const& subject, int runs) {
    ps::DynamicEngine<> alone(subject.graph, subject.weights, subject.configurations);
    ps::DynamicEngine<Threaded> together(subject.graph, subject.weights, subject.configurations, ps::DynamicOptions{},
                                         ps::ThreadPool(2));
    const int count = alone.count();
    const bool has_halves = ps::group_number(subject.graph[1].name) > 0 && count % 2 == 0;
    std::optional<Halves> halves;
    if (has_halves) halves.emplace(subject);
    const std::vector<float> image = image_of(alone.in_shape());
    std::vector<float> scores(alone.out_shape().size());
    std::vector<std::vector<double>> one(static_cast<std::size_t>(count)), two = one;
    std::vector<double> of_halves;
    const auto time = [](std::vector<double>& seconds, auto const& run) {
        constexpr int times = 5;
        run();
        const ps::Timer timer;
        for (int i = 0; i < times; ++i) run();
        seconds.push_back(timer.seconds() / times);
    };
    for (int i = 0; i < runs; ++i) {
        for (int c = 1; c <= count; ++c) {
            const auto place = static_cast<std::size_t>(c) - 1;
            alone.use(c), together.use(c);
            time(one[place], [&] { alone.run(image, scores); });
            time(two[place], [&] { together.run(image, scores); });
        }
        if (halves) time(of_halves, [&] { halves->run(image); });
    }
    Timed result;
    for (std::vector<double>& seconds : one) result.one_thread.push_back(ps::median(seconds));
    for (std::vector<double>& seconds : two) result.two_threads.push_back(ps::median(seconds));
    if (halves) result.halves = ps::median(of_halves);
    return result;
}

Switching switching_of(Subject const& subject, std::size_t calls) {
    ps::DynamicEngine<> engine(subject.graph, subject.weights, subject.configurations);
    std::vector<float> nanoseconds(calls);
    using clock = std::chrono::steady_clock;
    const auto since = [](clock::time_point start) {
        return std::chrono::duration<double, std::nano>(clock::now() - start).count();
    };
    for (std::size_t i = 0; i < calls; ++i) {
        const auto start = clock::now();
        engine.use(1 + static_cast<int>(i % static_cast<std::size_t>(engine.count())));
        nanoseconds[i] = static_cast<float>(since(start));
    }
    Switching result;
    std::vector<double> sorted(nanoseconds.begin(), nanoseconds.end());
    result.worst = *std::ranges::max_element(sorted);
    result.median = ps::median(sorted);
    // The first run after a change, and one that follows a run of the same configuration.
    const std::vector<float> image = image_of(engine.in_shape());
    std::vector<float> scores(engine.out_shape().size());
    std::vector<double> first, later;
    for (int i = 0; i < 200; ++i) {
        engine.use(1 + i % engine.count());
        for (std::vector<double>* to : {&first, &later}) {
            const auto start = clock::now();
            engine.run(image, scores);
            if (i % engine.count() == engine.count() - 1) to->push_back(since(start));
        }
    }
    result.first_run = ps::median(first), result.later_run = ps::median(later);
    return result;
}

}  // namespace reproduce
