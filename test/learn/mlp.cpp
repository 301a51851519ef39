// Laws of perceptrons.
#include <primsel/learn/mlp.hpp>

#include "two_targets.hpp"

#include <doctest/doctest.h>

namespace ps = primsel;

namespace {

using two_targets::error, two_targets::fit_twice, two_targets::TwoTargets;

}  // namespace

TEST_CASE("a perceptron learns both, stops early and goes on from where it was") {
    const TwoTargets train(1500, 6), validation(200, 7), test(500, 8, false);
    ps::learn::MlpOptions options;
    options.hidden = {32, 32};
    options.learning_rate = 5e-3;
    options.batch = 256;
    options.most_epochs = 150;
    options.patience = 40;
    ps::learn::MlpTraining training;
    ps::Sequential alone;
    const ps::FloatTable predicted = fit_twice(
        [&](ps::ExecutorRef executor) {
            return ps::learn::Mlp::fit(train.features, train.targets, validation.features, validation.targets, options,
                                       executor, &training);
        },
        test.features);
    CHECK(error(predicted, test.targets, 0) < 0.05);
    CHECK(error(predicted, test.targets, 1) < 0.25);
    CHECK(training.epochs <= options.most_epochs);
    CHECK(training.best_epoch < training.epochs);

    // Another machine, on which everything takes e times as long: a few samples move the model there.
    TwoTargets moved(60, 9, false);
    for (float& value : moved.targets.values) value += 1;
    TwoTargets there(300, 10, false);
    for (float& value : there.targets.values) value += 1;
    ps::learn::Mlp model =
        ps::learn::Mlp::fit(train.features, train.targets, validation.features, validation.targets, options, alone);
    const double before = error(model.predict(there.features), there.targets, 0);
    options.learning_rate /= 10;
    model.fine_tune(moved.features, moved.targets, moved.features, moved.targets, options, alone);
    CHECK(error(model.predict(there.features), there.targets, 0) < 0.5 * before);
}
