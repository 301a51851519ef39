// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/learn/chosen_correction.hpp>
#include <primsel/learn/evaluate.hpp>
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
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// The ways in which transfer_model corrects: by how samples deviate, by one factor a primitive, or as the samples show
/// to be best, which may be not to trust the source.
inline constexpr std::array<std::string_view, 3> transfer_methods{DeviationCorrection::kind, FactorCorrection::kind,
                                                                  ChosenCorrection::kind};

struct TransferOptions {
    /// One of transfer_methods.
    std::string_view method = transfer_methods[0];
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

[[nodiscard]] inline AnyRegression correct(TransferOptions const& options, SourceRegression source, Dataset const& data,
                                           FloatTable const& features, FloatTable const& times, ExecutorRef executor) {
    if (std::ranges::find(transfer_methods, options.method) == transfer_methods.end()) {
        fail("transfer_model: no method is named ", options.method, "; there are ", transfer_methods[0], ", ",
             transfer_methods[1], " and ", transfer_methods[2]);
    }
    // A change of layout depends on so little that Gaussian processes do with few rows; with fewer yet factors are
    // better (in 4 of 8 draws of 6 or 8 rows of Mulder et al. 2020, and in none of 10).
    constexpr std::size_t few_layouts = 10;
    const bool layouts = data.of_layouts();
    if (options.method == FactorCorrection::kind || (layouts && features.rows() < few_layouts)) {
        return transfer<FactorCorrection>(std::move(source), features, times);
    }
    if (options.method == ChosenCorrection::kind) {
        return transfer<ChosenCorrection>(std::move(source), features, times, labels_of(data), executor, options.seed);
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
                                                          NamedDataset const& measured, TransferOptions const& options,
                                                          TransferReport& report, ExecutorRef executor) {
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
    const Split split = transfer_split(data.rows(), options.seed);
    const Dataset some = with_subjects(data, known.subjects);
    const FloatTable features = features_of(some), times = log_times(some);
    const FloatTable to_learn = features.select(split.train), learned = times.select(split.train);
    const FloatTable differences = deviations(*regression, to_learn, learned);
    if (std::ranges::none_of(differences.values, is_prediction)) {
        fail(name, ": ", source_name, " has no prediction for anything that was measured");
    }
    Trained<AnyRegression> trained{known.subjects, correct(options, *regression, some, to_learn, learned, executor)};
    report.method = trained.regression.kind();
    using Chosen = Transferred<SourceRegression, ChosenCorrection>;
    if (const auto* chosen = trained.regression.get_if<Chosen>()) report.trust = chosen->correction().trust();
    report.rows = split.train.size();
    report.seconds = timer.seconds();
    if (!split.test.empty()) {
        const Dataset test = some.select(split.test);
        const FloatTable asked = features.select(split.test);
        report.test = evaluate(test, trained.regression.predict(asked));
        report.direct = evaluate(test, regression->predict(asked));
    }
    return trained;
}

}  // namespace detail

/// A model of one machine, corrected by few samples of another: of primitives, and of changes of layout if the profile
/// has any; without, the new model says nothing of them. It says of itself what the dataset of primitives says of the
/// new machine, what the source said (`source_...`), `seed` and `method`; of each part its `_rows`, and where rows were
/// held back their `_data` (fingerprint) and `_mdrae`. `source_name` is what errors call the source. Throws error when
/// the source knows nothing of what was measured, was learned from these very rows, or was transferred before, and when
/// the profile's parts are of different instruction sets.
[[nodiscard]] inline TransferredModel transfer_model(TrainedModel const& source, std::string_view source_name,
                                                     Profile const& profile, TransferOptions const& options,
                                                     ExecutorRef executor) {
    require_one_arch(profile);
    TransferredModel result;
    TrainedModel& model = result.model;
    model.about = profile.primitives.data.about;
    for (auto const& [key, value] : source.about) model.about["source_" + key] = value;
    model.about["seed"] = std::to_string(options.seed);
    model.about["method"] = options.method;
    const auto transfer_part = [&](NamedDataset const& measured) {
        TransferReport report;
        Trained<AnyRegression> trained =
            detail::transfer_part(source, source_name, measured, options, report, executor);
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
