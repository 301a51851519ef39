// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/learn/chosen_correction.hpp>
#include <primsel/learn/evaluate.hpp>
#include <primsel/learn/measured_kinds.hpp>
#include <primsel/learn/profile.hpp>
#include <primsel/learn/subjects.hpp>
#include <primsel/learn/tables.hpp>
#include <primsel/learn/trained_model.hpp>
#include <primsel/learn/transfer.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// The ways in which transfer_model corrects: by how samples deviate; by one factor a primitive; as the samples show to
/// be best, which may be not to trust the source; by training a perceptron on, at a tenth of the learning rate (Mulder
/// et al. 2020, section 4.4).
inline constexpr std::array<std::string_view, 4> transfer_methods{DeviationCorrection::kind, FactorCorrection::kind,
                                                                  ChosenCorrection::kind, "fine-tuned"};

struct TransferOptions {
    /// One of transfer_methods; if empty, the last for perceptrons and the first for others.
    std::string_view method = {};
    /// Draws which rows are held back.
    std::uint64_t seed = 1;
};

/// How a part of a model was corrected by a dataset.
struct TransferReport {
    /// "primitives" or "layouts", and the name of the dataset.
    std::string what, name;
    /// How it was corrected: one of transfer_methods.
    std::string_view method;
    /// How far the source is trusted (Trust), where that was chosen.
    std::optional<Trust> trust = {};
    /// Those that it was corrected by: 90 % of them, all of fewer than 50.
    std::size_t rows = 0;
    /// The time of correcting.
    double seconds = 0;
    /// On the rows that were held back: of what was learned, and of the model as it was. Nothing where none were.
    std::optional<Evaluation> test = {}, direct = {};
    /// Subjects that were measured and that the model does not know.
    std::vector<std::string> unknown = {};
};

struct TransferredModel {
    TrainedModel model;
    /// Those of the primitives, then of the layouts if there are any.
    std::vector<TransferReport> parts;
};

namespace detail {

[[nodiscard]] inline Split transfer_split(std::size_t rows, std::uint64_t seed) {
    constexpr std::size_t enough_to_judge = 50;
    Split split = split_rows(rows, seed);
    split.train.insert(split.train.end(), split.validation.begin(), split.validation.end());
    split.validation.clear();
    if (rows < enough_to_judge) {
        split.train.insert(split.train.end(), split.test.begin(), split.test.end());
        split.test.clear();
    }
    return split;
}

[[nodiscard]] inline bool is_perceptron(AnyRegression const& regression) {
    return regression.get_if<Mlp>() != nullptr || regression.get_if<MlpEach>() != nullptr;
}

/// Checks the method, or chooses it by the regression.
[[nodiscard]] inline std::string_view transfer_method(TransferOptions const& options, TrainedModel const& source,
                                                      std::string_view source_name) {
    const bool perceptron = is_perceptron(source.primitives.regression);
    if (options.method.empty()) return perceptron ? transfer_methods.back() : transfer_methods.front();
    if (std::ranges::find(transfer_methods, options.method) == transfer_methods.end()) {
        fail("transfer_model: no method is named ", options.method, "; there are ", transfer_methods[0], ", ",
             transfer_methods[1], ", ", transfer_methods[2], " and ", transfer_methods[3]);
    }
    if (options.method == transfer_methods.back() && !perceptron) {
        fail(source_name, ": is no perceptron (nn1, nn2, mlp), and cannot be ", options.method);
    }
    return options.method;
}

/// The last tenth of the rows decides when to stop: a ninth of those that are not held back.
template <class Perceptron>
[[nodiscard]] AnyRegression fine_tune(Perceptron perceptron, MlpOptions options, std::uint64_t seed,
                                      FloatTable const& features, FloatTable const& times, ExecutorRef executor) {
    options.learning_rate /= 10;
    options.seed = seed;
    std::vector<std::size_t> train, validation;
    for (std::size_t row = 0; row < features.rows(); ++row) {
        (row < features.rows() - features.rows() / 9 ? train : validation).push_back(row);
    }
    perceptron.fine_tune(features.select(train), times.select(train), features.select(validation),
                         times.select(validation), options, executor);
    return perceptron;
}

[[nodiscard]] inline AnyRegression correct(std::string_view method, std::uint64_t seed, SourceRegression source,
                                           Dataset const& data, FloatTable const& features, FloatTable const& times,
                                           ExecutorRef executor) {
    // A change of layout depends on so little that Gaussian processes do with few rows; with fewer yet factors are
    // better (in 4 of 8 draws of 6 or 8 rows of Mulder et al. 2020, and in none of 10).
    constexpr std::size_t few_layouts = 10;
    const bool layouts = data.of_layouts();
    if (method == FactorCorrection::kind || (layouts && features.rows() < few_layouts)) {
        return transfer<FactorCorrection>(std::move(source), features, times);
    }
    if (method == ChosenCorrection::kind) {
        return transfer<ChosenCorrection>(std::move(source), features, times, labels_of(data), executor, seed);
    }
    if (method == transfer_methods.back()) {
        if (const auto* one = source.get_if<Mlp>()) return fine_tune(*one, {}, seed, features, times, executor);
        if (const auto* each = source.get_if<MlpEach>()) {
            return fine_tune(*each, MlpOptions::nn1(), seed, features, times, executor);
        }
    }
    const std::size_t few = layouts ? 0 : DeviationCorrection::many;
    return transfer<DeviationCorrection>(std::move(source), features, times, labels_of(data), executor, few);
}

/// Measured subjects that the model does not know. Throws error when that is all, or the model was made from it.
[[nodiscard]] inline std::vector<std::string> unknown_to(TrainedModel const& source, std::string_view source_name,
                                                         NamedDataset const& measured,
                                                         std::vector<std::string> const& subjects) {
    auto const& [name, data] = measured;
    const std::string what = what_of(data);
    if (subjects.empty()) fail(source_name, ": has learned no ", what);
    if (data.rows() == 0) fail(name, ": has no rows");
    if (source.about_of(what + "_data") == fingerprint(data)) {
        fail(name, ": is what ", source_name, " was learned from");
    }
    const std::vector<std::string> known = without_idle(data).subjects;
    std::vector<std::string> unknown;
    for (std::string const& subject : known) {
        if (std::ranges::find(subjects, subject) == subjects.end()) unknown.push_back(subject);
    }
    if (unknown.size() == known.size()) {
        fail(name, ": of none of its ", what, " does ", source_name, " know anything");
    }
    return unknown;
}

[[nodiscard]] inline Trained<AnyRegression> transfer_part(TrainedModel const& source, std::string_view source_name,
                                                          NamedDataset const& measured, std::string_view method,
                                                          std::uint64_t seed, TransferReport& report,
                                                          ExecutorRef executor) {
    auto const& [name, data] = measured;
    Trained<AnyRegression> const& known = data.of_layouts() ? source.layouts : source.primitives;
    report.what = what_of(data);
    report.name = name;
    report.unknown = unknown_to(source, source_name, measured, known.subjects);
    const std::optional<SourceRegression> regression = known.regression.source();
    if (!regression) {
        fail(source_name, ": its ", report.what, " were transferred already; transfer what they came from");
    }
    const Timer timer;
    const Split split = transfer_split(data.rows(), seed);
    const Dataset some = with_subjects(data, known.subjects);
    const FloatTable features = features_of(some), times = log_times(some);
    const FloatTable to_learn = features.select(split.train), learned = times.select(split.train);
    const FloatTable differences = deviations(*regression, to_learn, learned);
    if (std::ranges::none_of(differences.values, is_prediction)) {
        fail(name, ": ", source_name, " has no prediction for anything that was measured");
    }
    Trained<AnyRegression> trained{
        known.subjects, correct(method, seed, *regression, some, to_learn, learned, executor), false, known.kinds};
    if (!known.kinds.empty()) {
        const auto measured_here = measured_kinds(some.select(split.train));
        for (std::size_t i = 0; i < measured_here.size(); ++i) {
            std::vector<KernelKind> both;
            std::ranges::set_union(known.kinds[i], measured_here[i], std::back_inserter(both));
            trained.kinds[i] = std::move(both);
        }
    }
    report.method = is_perceptron(trained.regression) ? transfer_methods.back() : trained.regression.kind();
    using Chosen = Transferred<SourceRegression, ChosenCorrection>;
    if (const auto* chosen = trained.regression.get_if<Chosen>()) report.trust = chosen->correction().trust();
    report.rows = split.train.size();
    report.seconds = timer.seconds();
    if (!split.test.empty()) {
        const Dataset test = some.select(split.test);
        report.test = evaluate(test, predict(trained, test));
        report.direct = evaluate(test, predict(known, test));
    }
    return trained;
}

}  // namespace detail

/// A model of one machine, corrected by few samples of another: of primitives, and of changes of layout if the profile
/// has any; without, the new model says nothing of them. It says of itself what the dataset of primitives says of the
/// new machine, what the source said (`source_...`), `seed` and `method`; of each part its `_rows`, and where rows were
/// held back their `_data` (fingerprint) and `_mdrae`. `source_name` is what errors call the source. Throws error when
/// the source knows nothing of what was measured, was learned from these very rows, or was corrected before, or is no
/// perceptron and should be fine-tuned, and when the profile's parts are of different instruction sets.
[[nodiscard]] inline TransferredModel transfer_model(TrainedModel const& source, std::string_view source_name,
                                                     Profile const& profile, TransferOptions const& options,
                                                     ExecutorRef executor) {
    require_one_arch(profile);
    TransferredModel result;
    TrainedModel& model = result.model;
    model.about = profile.primitives.data.about;
    for (auto const& [key, value] : source.about) model.about["source_" + key] = value;
    model.about["seed"] = std::to_string(options.seed);
    const std::string_view method = detail::transfer_method(options, source, source_name);
    model.about["method"] = method;
    const auto transfer_part = [&](NamedDataset const& measured) {
        TransferReport report;
        Trained<AnyRegression> trained =
            detail::transfer_part(source, source_name, measured, method, options.seed, report, executor);
        model.about[report.what + "_rows"] = std::to_string(report.rows);
        if (report.test) {
            model.about[report.what + "_data"] = fingerprint(measured.data);
            model.about[report.what + "_mdrae"] = core::fixed_text(report.test->all.median, 6);
        }
        result.parts.insert(result.parts.begin(), std::move(report));
        return trained;
    };
    // Layouts first: they are quick to fit, so their errors are reported early.
    if (profile.layouts) model.layouts = transfer_part(*profile.layouts);
    model.primitives = transfer_part(profile.primitives);
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
