#include "models.hpp"

#include <primsel/learn/forest.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/linear.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace reproduce {
namespace {

ps::FloatTable column(ps::FloatTable const& table, std::size_t at) {
    ps::FloatTable one(table.rows(), 1);
    for (std::size_t row = 0; row < table.rows(); ++row) one(row, 0) = table(row, at);
    return one;
}

template <class Model>
AnyModel shared_raw(Model model, std::size_t raw) {
    return {[model = std::make_shared<const Model>(std::move(model)), raw](ps::FloatTable const& x) {
        return model->predict(first_columns(x, raw));
    }};
}

/// A network for each target.
struct Nn1 {
    std::vector<ps::learn::Mlp> nets;

    [[nodiscard]] ps::FloatTable predict(ps::FloatTable const& features) const {
        ps::FloatTable result(features.rows(), nets.size());
        for (std::size_t i = 0; i < nets.size(); ++i) {
            const ps::FloatTable one = nets[i].predict(features);
            for (std::size_t row = 0; row < one.rows(); ++row) result(row, i) = one(row, 0);
        }
        return result;
    }
};

/// The rows that have the target, or nothing.
std::vector<std::size_t> measured_rows(ps::FloatTable const& targets, std::size_t target) {
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < targets.rows(); ++row) {
        if (!std::isnan(targets(row, target))) rows.push_back(row);
    }
    return rows;
}

Nn1 fit_nn1(Samples const& samples, std::size_t raw, Effort const& effort) {
    const ps::FloatTable x = first_columns(samples.features, raw), vx = first_columns(samples.validation_features, raw);
    ps::Sequential executor;
    Nn1 model;
    for (std::size_t target = 0; target < samples.targets.columns; ++target) {
        const auto rows = measured_rows(samples.targets, target),
                   validation = measured_rows(samples.validation_targets, target);
        model.nets.push_back(ps::learn::Mlp::fit(
            x.select(rows), column(samples.targets, target).select(rows), vx.select(validation),
            column(samples.validation_targets, target).select(validation), effort.nn1(rows.size()), executor));
    }
    return model;
}

/// Some 300 steps, whatever the number of rows.
void make_quick(ps::learn::MlpOptions& options, std::size_t rows) {
    options.batch = 128;
    options.most_epochs = std::clamp<std::size_t>(300 * options.batch / std::max<std::size_t>(rows, 1), 1, 120);
    options.one_cycle = true;
}

}  // namespace

ps::FloatTable first_columns(ps::FloatTable const& table, std::size_t columns) {
    ps::FloatTable some(table.rows(), columns);
    for (std::size_t row = 0; row < table.rows(); ++row) {
        for (std::size_t i = 0; i < columns; ++i) some(row, i) = table(row, i);
    }
    return some;
}

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

ps::learn::Split Effort::split(std::size_t rows, std::uint64_t by) const {
    ps::learn::Split split = ps::learn::split_rows(rows, by);
    if (quick) split.train.resize(std::max<std::size_t>(split.train.size() / 3, 1));
    return split;
}
ps::learn::MlpOptions Effort::nn1(std::size_t rows) const {
    ps::learn::MlpOptions options = ps::learn::MlpOptions::nn1();
    options.seed = seed;
    if (quick) make_quick(options, rows), options.learning_rate = 1e-2;
    return options;
}
ps::learn::MlpOptions Effort::nn2(std::size_t rows) const {
    ps::learn::MlpOptions options;
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
    return ps::learn::Mlp::fit(first_columns(samples.features, raw), samples.targets,
                               first_columns(samples.validation_features, raw), samples.validation_targets,
                               effort.nn2(samples.features.rows()), executor);
}
AnyModel as_regression(ps::learn::Mlp mlp, std::size_t raw) { return shared_raw(std::move(mlp), raw); }

AnyModel fit(Kind kind, Samples const& samples, std::size_t raw, std::vector<std::string> const& labels,
             Effort const& effort) {
    ps::Sequential executor;
    switch (kind) {
        case Kind::lin:
            return shared_raw(ps::learn::LinearRegression::fit(first_columns(samples.features, raw), samples.targets),
                              raw);
        case Kind::nn1:
            return shared_raw(fit_nn1(samples, raw, effort), raw);
        case Kind::nn2:
            return as_regression(fit_nn2(samples, raw, effort), raw);
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
