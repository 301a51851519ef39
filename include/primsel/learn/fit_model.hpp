// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/learn/evaluate.hpp>
#include <primsel/learn/measured_kinds.hpp>
#include <primsel/learn/profile.hpp>
#include <primsel/learn/subjects.hpp>
#include <primsel/learn/tables.hpp>
#include <primsel/learn/trained_model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// The regressions that fit_model knows: Gaussian processes whose hyperparameters the primitives of a family share;
/// gradient-boosted trees; random forests; a perceptron that is trained for 200 epochs; NN1 and NN2 of Mulder et al.
/// 2020, which see c, k, im, f and s alone (c and im of layouts) and are trained until their validation errors stop
/// falling; least squares.
inline constexpr std::array<std::string_view, 7> regression_names{"gp",  "boosted", "forest", "mlp",
                                                                  "nn1", "nn2",     "linear"};

struct FitOptions {
    /// One of regression_names.
    std::string_view regression = "gp";
    /// Draws which rows are held back (split_rows), and whatever else is random.
    std::uint64_t seed = 1;
};

/// How a part of a model was learned, from 80 % of the rows of a dataset.
struct FitReport {
    /// "primitives" or "layouts", and the name of the dataset.
    std::string what, name;
    /// Those that were learned from.
    std::size_t rows = 0;
    /// The time of fitting.
    double seconds = 0;
    /// On 10 % of the rows, which were held back.
    Evaluation test;
};

struct FittedModel {
    TrainedModel model;
    /// Those of the primitives, then of the layouts if there are any.
    std::vector<FitReport> parts;
};

namespace detail {

/// The options of NN1 or NN2 for such data.
[[nodiscard]] inline MlpOptions published_options(MlpOptions options, Dataset const& data, std::uint64_t seed) {
    options.features = data.of_layouts() ? LayoutFeatures::raw : ConvFeatures::raw;
    options.seed = seed;
    return options;
}
/// As large as NN2, but trained for a bounded time, and less by what lies far off.
[[nodiscard]] inline MlpOptions mlp_options(std::uint64_t seed) {
    MlpOptions options;
    options.seed = seed;
    options.learning_rate = 2e-3;
    options.batch = 256;
    options.most_epochs = options.patience = 200;
    options.one_cycle = true;
    options.huber = 0.1;
    return options;
}

/// By the rows to train on, and those of validation to stop by.
[[nodiscard]] inline AnyRegression fit_named(FitOptions const& options, Dataset const& data, Split const& split,
                                             FloatTable const& features, FloatTable const& times,
                                             ExecutorRef executor) {
    const std::uint64_t seed = options.seed;
    const FloatTable x = features.select(split.train), y = times.select(split.train);
    if (options.regression == "linear") return LinearRegression::fit(x, y);
    if (options.regression == "forest") return Forest::fit(x, y, {.seed = seed}, executor);
    if (options.regression == "boosted") return BoostedTrees::fit(x, y, {.seed = seed}, executor);
    if (options.regression == "gp") {
        GaussianProcessOptions gp{.rows = 400, .seed = seed};
        if (data.of_layouts()) gp.steps = 150;  // few samples
        return GaussianProcess::fit(x, y, labels_of(data), gp, executor);
    }
    const FloatTable vx = features.select(split.validation), vy = times.select(split.validation);
    if (options.regression == "mlp") return Mlp::fit(x, y, vx, vy, mlp_options(seed), executor);
    if (options.regression == "nn1") {
        return MlpEach::fit(x, y, vx, vy, published_options(MlpOptions::nn1(), data, seed), executor);
    }
    if (options.regression == "nn2") {
        return Mlp::fit(x, y, vx, vy, published_options(MlpOptions(), data, seed), executor);
    }
    std::string names;
    for (const std::string_view name : regression_names) names += join(names.empty() ? "" : ", ", name);
    fail("fit_model: no regression is named ", options.regression, "; there are ", names);
}

[[nodiscard]] inline Trained<AnyRegression> fit_part(NamedDataset const& measured, FitOptions const& options,
                                                     FitReport& report, ExecutorRef executor) {
    constexpr std::size_t least = 10;
    auto const& [name, data] = measured;
    if (data.rows() < least) fail(name, ": ", data.rows(), " rows are too few to learn from and to judge by");
    const Timer timer;
    const Split split = split_rows(data.rows(), options.seed);
    // Subjects that no row to learn from has are left to other models.
    const Dataset some = with_subjects(data, without_idle(data.select(split.train)).subjects);
    const FloatTable features = features_of(some), times = log_times(some);
    Trained<AnyRegression> trained{some.subjects, fit_named(options, some, split, features, times, executor), false,
                                   measured_kinds(some.select(split.train))};
    report = {.what = what_of(data), .name = name, .rows = split.train.size(), .seconds = timer.seconds(), .test = {}};
    const Dataset test = some.select(split.test);
    report.test = evaluate(test, predict(trained, test));
    return trained;
}

}  // namespace detail

/// Fits a model of the times of primitives and layout transforms on the profile's machine. It leaves out subjects
/// without a measurement in the training rows, and transforms of a layout to itself. TrainedModel::about gets the facts
/// of the dataset of primitives, `seed` and, for each part, `<part>_rows`, `<part>_data` (fingerprint) and
/// `<part>_mdrae` (the error on the rows held back). The result is the same for any number of threads. Throws error if
/// a part has fewer than 10 rows, if the parts are of different instruction sets, or if the regression is unknown.
[[nodiscard]] inline FittedModel fit_model(Profile const& profile, FitOptions const& options, ExecutorRef executor) {
    require_one_arch(profile);
    FittedModel result;
    TrainedModel& model = result.model;
    model.about = profile.primitives.data.about;
    model.about["seed"] = std::to_string(options.seed);
    const auto learn_part = [&](NamedDataset const& measured) {
        FitReport& report = result.parts.emplace_back();
        Trained<AnyRegression> trained = detail::fit_part(measured, options, report, executor);
        model.about[report.what + "_data"] = fingerprint(measured.data);
        model.about[report.what + "_rows"] = std::to_string(report.rows);
        model.about[report.what + "_mdrae"] = core::fixed_text(report.test.all.median, 6);
        return trained;
    };
    model.primitives = learn_part(profile.primitives);
    if (profile.layouts) model.layouts = learn_part(*profile.layouts);
    return result;
}

/// The rows of a dataset that were held back when the model was made of it by fit_model or transfer_model; nothing
/// where it was made of other rows, or none were held back.
[[nodiscard]] inline std::optional<Dataset> held_back(TrainedModel const& model, Dataset const& data) {
    std::uint64_t seed = 0;
    const bool has_seed = read_number(model.about_of("seed"), seed);
    if (!has_seed || model.about_of(what_of(data) + "_data") != fingerprint(data)) return std::nullopt;
    return data.select(split_rows(data.rows(), seed).test);
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
