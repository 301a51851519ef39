// The parts of a training about the smallest network that there is: one dense layer without bias.
#include <primsel/train.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "values.hpp"

namespace ps = primsel;

namespace together {

constexpr std::size_t classes = 3, pixels = 16;

/// Noise, brighter in the row of the label.
ps::LabelledImages rows(std::size_t count) {
    ps::LabelledImages images{.image = {1, 4, 4}, .class_count = classes};
    ps::Random random(count);
    for (std::size_t i = 0; i < count; ++i) {
        images.labels.push_back(static_cast<int>(random.below(classes)));
        for (std::size_t p = 0; p < pixels; ++p) {
            const bool is_row = p / 4 == static_cast<std::size_t>(images.labels.back());
            images.bytes.push_back(static_cast<std::uint8_t>(random.below(120) + (is_row ? 100 : 0)));
        }
    }
    return images;
}

struct State {
    std::vector<float> weights = std::vector<float>(classes * pixels), optimizer;
    std::int64_t step = 0;
};

std::vector<float> results(State const& state, ps::Batch const& batch) {
    std::vector<float> result(batch.labels.size() * classes);
    for (std::size_t i = 0; i < result.size(); ++i) {
        for (std::size_t p = 0; p < pixels; ++p) {
            result[i] += state.weights[i % classes * pixels + p] * batch.images[i / classes * pixels + p];
        }
    }
    return result;
}

template <class Optimizer>
void train(State& state, ps::LabelledImages const& images, Optimizer const& optimizer, std::int64_t until) {
    constexpr int batch_size = 10;
    ps::Batches batches(images, {.batch = batch_size, .first = state.step}, ps::normalisation(images),
                        ps::Augment{.flip = true});
    const ps::Warmup<ps::Cosine> rate{.epochs = 1};
    state.optimizer.resize(optimizer.state_per_weight() * state.weights.size());
    while (state.step < until) {
        const ps::Batch batch = batches.next();
        const std::vector<float> result = results(state, batch);
        std::vector<float> slopes(result.size()), gradient(state.weights.size());
        ps::SoftmaxCrossEntropy{}(result, batch.labels, slopes, batch_size);
        for (std::size_t i = 0; i < slopes.size(); ++i) {
            for (std::size_t p = 0; p < pixels; ++p) {
                gradient[i % classes * pixels + p] += slopes[i] * batch.images[i / classes * pixels + p];
            }
        }
        const double now = rate(0.05, state.step, 200, batches.batches_per_epoch());
        optimizer.step(state.weights, gradient, state.optimizer, now, ++state.step, 1e-3);
    }
}

}  // namespace together

TEST_CASE_TEMPLATE("a linear classifier learns rows, and stopping in between changes no bit", Optimizer, ps::Sgd,
                   ps::Adam, ps::AdamW) {
    const ps::LabelledImages images = together::rows(95), others = together::rows(200);
    Optimizer optimizer{};
    if constexpr (requires { optimizer.momentum; }) optimizer.momentum = 0.9;
    together::State whole, parts;
    together::train(whole, images, optimizer, 200);
    for (const int until : {1, 77, 200}) together::train(parts, images, optimizer, until);
    CHECK(whole.weights == parts.weights);

    ps::Metrics metrics(together::classes);
    ps::Batches evaluation(others, ps::evaluation_batches(32), ps::normalisation(images));
    for (ps::Batch batch = evaluation.next(); batch.count > 0; batch = evaluation.next()) {
        metrics.add(together::results(whole, batch), batch.labels);
    }
    CHECK(metrics.samples() == 200);
    CHECK(metrics.accuracy() > 0.95);
}
