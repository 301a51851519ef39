#include "timing.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/train/random.hpp>

#include <algorithm>
#include <chrono>

namespace reproduce {
namespace {

struct Threaded : ps::DefaultPolicies {
    using executor = ps::ThreadPool;
};

}  // namespace

std::vector<float> image_of(ps::Shape shape) {
    std::vector<float> image(shape.size());
    ps::Random random(7);
    for (float& value : image) value = static_cast<float>(random.uniform()) - 0.5F;
    return image;
}

Timed time_of(Subject const& subject, int runs) {
    ps::dynamic::DynamicEngine<> alone(subject.graph, subject.weights, subject.configurations);
    const auto threaded = [&](ps::dynamic::GroupThreads threads) {
        return ps::dynamic::DynamicEngine<Threaded>(subject.graph, subject.weights, subject.configurations,
                                                    ps::dynamic::DynamicOptions{.threads = threads}, ps::ThreadPool(2));
    };
    ps::dynamic::DynamicEngine<Threaded> layers = threaded(ps::dynamic::GroupThreads::share_layers),
                                         groups = threaded(ps::dynamic::GroupThreads::take_groups),
                                         faster = threaded(ps::dynamic::GroupThreads::faster);
    const std::vector<float> image = image_of(alone.in_shape());
    std::vector<float> scores(alone.out_shape().size());
    using Samples = std::vector<std::vector<double>>;
    const auto count = static_cast<std::size_t>(alone.count());
    Samples of_one(count), of_layers(count), of_groups(count), of_faster(count);
    const auto time = [&](Samples& samples, auto& engine, std::size_t place) {
        constexpr int times = 5;
        engine.use(static_cast<int>(place) + 1);
        engine.run(image, scores);
        const ps::Timer timer;
        for (int i = 0; i < times; ++i) engine.run(image, scores);
        samples[place].push_back(timer.seconds() / times);
    };
    for (int i = 0; i < runs; ++i) {
        for (std::size_t place = 0; place < count; ++place) {
            time(of_one, alone, place);
            time(of_layers, layers, place);
            time(of_groups, groups, place);
            time(of_faster, faster, place);
        }
    }
    const auto medians = [](Samples& samples) {
        std::vector<double> all;
        for (std::vector<double>& seconds : samples) all.push_back(ps::median(seconds));
        return all;
    };
    Timed result{medians(of_one), medians(of_layers), medians(of_groups), medians(of_faster), {}};
    for (int c = 1; c <= faster.count(); ++c) result.side_by_side.push_back(faster.side_by_side(c));
    return result;
}

Switching switching_of(Subject const& subject, std::size_t calls) {
    ps::dynamic::DynamicEngine<> engine(subject.graph, subject.weights, subject.configurations);
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
