#include "models.hpp"

#include <primsel/learn/forest.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/linear.hpp>
#include <primsel/learn/mlp_each.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace reproduce {
namespace {

/// Some 300 steps, whatever the number of rows.
void make_quick(ps::learn::MlpOptions& options, std::size_t rows) {
    options.batch = 128;
    options.most_epochs = std::clamp<std::size_t>(300 * options.batch / std::max<std::size_t>(rows, 1), 1, 120);
    options.one_cycle = true;
}

}  // namespace

ps::FloatTable AnyModel::predict(ps::FloatTable const& features) const {
    ps::FloatTable result = tell(features);
    for (float& value : result.values) {
        if (!std::isfinite(value)) value = 0;  // the logarithm of a second
    }
    return result;
}

std::string_view to_string_view(Kind kind) {
    constexpr std::array<std::string_view, kinds.size()> names{"Lin", "NN1", "NN2", "Forest", "Boosted trees", "ours"};
    return names[static_cast<std::size_t>(kind)];
}

ps::learn::Split Effort::split(Platform const& platform, std::uint64_t by) const {
    ps::learn::Split split = platform.split(by);
    if (quick) split.train.resize(std::max<std::size_t>(split.train.size() / 3, 1));
    return split;
}
ps::learn::MlpOptions Effort::nn1(std::size_t features, std::size_t rows) const {
    ps::learn::MlpOptions options = ps::learn::MlpOptions::nn1();
    options.features = features;
    options.seed = seed;
    if (quick) make_quick(options, rows), options.learning_rate = 1e-2;
    return options;
}
ps::learn::MlpOptions Effort::nn2(std::size_t features, std::size_t rows) const {
    ps::learn::MlpOptions options;
    options.features = features;
    options.seed = seed;
    if (quick) make_quick(options, rows);
    return options;
}

Samples primitive_samples(Platform const& platform, ps::learn::Split const& split) {
    return {platform.features.select(split.train), platform.times.select(split.train),
            platform.features.select(split.validation), platform.times.select(split.validation)};
}
Samples layout_samples(Platform const& platform, ps::learn::Split const& split) {
    return {platform.layout_features.select(split.train), platform.layout_times.select(split.train),
            platform.layout_features.select(split.validation), platform.layout_times.select(split.validation)};
}

ps::learn::Mlp fit_nn2(Samples const& samples, std::size_t raw, Effort const& effort) {
    ps::Sequential executor;
    return ps::learn::Mlp::fit(samples.features, samples.targets, samples.validation_features,
                               samples.validation_targets, effort.nn2(raw, samples.features.rows()), executor);
}

AnyModel fit(Kind kind, Samples const& samples, std::size_t raw, std::vector<std::string> const& labels,
             Effort const& effort) {
    ps::Sequential executor;
    switch (kind) {
        case Kind::lin: {
            const auto line = ps::learn::LinearRegression::fit(samples.features.first_columns(raw), samples.targets);
            return {[line, raw](ps::FloatTable const& x) { return line.predict(x.first_columns(raw)); }};
        }
        case Kind::nn1:
            return shared(ps::learn::MlpEach::fit(samples.features, samples.targets, samples.validation_features,
                                                  samples.validation_targets, effort.nn1(raw, samples.features.rows()),
                                                  executor));
        case Kind::nn2:
            return shared(fit_nn2(samples, raw, effort));
        case Kind::forest: {
            ps::learn::ForestOptions options;
            options.seed = effort.seed;
            if (effort.quick) options.trees = 12;
            return shared(ps::learn::Forest::fit(samples.features, samples.targets, options, executor));
        }
        case Kind::boosted: {
            ps::learn::BoostingOptions options;
            options.seed = effort.seed;
            if (effort.quick) options.trees = 80, options.learning_rate = 0.2;
            return shared(ps::learn::BoostedTrees::fit(samples.features, samples.targets, options, executor));
        }
        case Kind::ours:
            break;
    }
    ps::learn::GaussianProcessOptions options{.rows = 400};
    options.seed = effort.seed;
    if (labels.empty()) options.steps = 150;
    if (effort.quick) options.steps /= 2, options.rows = 200, options.shared_from = 0;
    return shared(ps::learn::GaussianProcess::fit(samples.features, samples.targets, labels, options, executor));
}

}  // namespace reproduce
