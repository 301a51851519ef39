// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/compact_mlp.hpp>
#include <primsel/learn/evaluate.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/log_predictions.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/learn/mlp.hpp>
#include <primsel/learn/profile.hpp>
#include <primsel/learn/subjects.hpp>
#include <primsel/learn/tables.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// So many configurations like those of the dataset, with none of them measured.
[[nodiscard]] inline Dataset configurations_like(Dataset const& data, std::size_t count, std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(generator() % below); };
    const auto near = [&](int value) {
        const double factor = std::exp(0.8 * (static_cast<double>(draw(1001)) / 1000 - 0.5));
        const int moved = std::max(1, static_cast<int>(std::lround(value * factor)));
        return draw(2) == 0 || moved < 16 ? moved : moved / 8 * 8;
    };
    Dataset result{.inputs = data.inputs, .subjects = data.subjects, .about = {}, .configurations = {}, .seconds = {}};
    const std::vector<double> unknown(data.subjects.size(), 0.0);
    while (result.rows() < count) {
        const auto row = data.configuration(draw(data.rows()));
        const auto perhaps_move = [&](int& size) {
            if (draw(2) == 0) size = near(size);
        };
        if (data.of_layouts()) {
            auto at = TensorConfiguration::of_row(row);
            for (int* const size : {&at.c, &at.im}) perhaps_move(*size);
            result.add(at.row(), unknown);
        } else {
            auto at = ConvConfiguration::of_row(row);
            for (int* const size : {&at.c, &at.k, &at.im}) perhaps_move(*size);
            // Kernel and stride of another.
            const auto other = ConvConfiguration::of_row(data.configuration(draw(data.rows())));
            if (draw(3) == 0) at.f = other.f, at.s = other.s;
            if (at.f <= at.im) result.add(at.row(), unknown);
        }
    }
    return result;
}

}  // namespace detail

struct DistillOptions {
    /// Of the perceptron's training; of changes of layout, whose perceptron is small, four times as many.
    std::size_t epochs = 200;
    std::uint64_t seed = 1;
};

/// A perceptron that fits into a header, and what its targets are called: how many times slower than Analytical says
/// each is (a logarithm), by ConvFeatures or LayoutFeatures. What Pretrained is made of.
struct Distilled {
    std::vector<std::string> subjects;
    CompactMlp model;
};

/// Makes one of a dataset: a Gaussian process learns how far off Analytical is, and a perceptron learns from the
/// process what it says of many more configurations than were measured. For any number of threads the same.
class Distillation {
public:
    /// Throws error when there are fewer than 20 rows, when they were measured by kernels of another Arch, when the
    /// profile does not say the speeds of its machine, against which is learned, and when a subject is none of the
    /// kernels.
    Distillation(NamedDataset const& measured, Kernels const& kernels, DistillOptions options = {})
        : data_(checked(measured, kernels)), options_(options), features_(features_of(data_)) {
        Analytical analytical(machine_about(measured.name, measured.data.about));
        predicted_ = log_predictions(data_, kernels, analytical);
        deviations_ = log_times(data_);
        for (std::size_t i = 0; i < deviations_.values.size(); ++i) deviations_.values[i] -= predicted_.values[i];
    }

    /// Of all rows.
    [[nodiscard]] Distilled learn(ExecutorRef executor) const {
        std::vector<std::size_t> rows(data_.rows());
        for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = row;
        return {data_.subjects, learn(rows, executor)};
    }

    /// What is learned of 90 % of the rows, by the others; takes as long as to learn.
    [[nodiscard]] Evaluation judge(ExecutorRef executor) const {
        const Split split = split_rows(data_.rows(), options_.seed);
        std::vector<std::size_t> most = split.train;
        most.insert(most.end(), split.validation.begin(), split.validation.end());
        const CompactMlp model = learn(most, executor);
        Table seconds = model.predict(features_.select(split.test)), base = predicted_.select(split.test);
        for (std::size_t i = 0; i < seconds.values.size(); ++i) seconds.values[i] += base.values[i];
        return evaluate(data_.select(split.test), seconds);
    }

private:
    [[nodiscard]] static Dataset checked(NamedDataset const& measured, Kernels const& kernels) {
        auto const& [name, data] = measured;
        constexpr std::size_t least = 20;
        if (data.rows() < least) fail(name, ": ", data.rows(), " rows are too few to learn from and to judge by");
        const auto found = data.about.find("arch");
        if (found == data.about.end() || found->second != kernels.arch) {
            fail(name, ": its arch is ", found == data.about.end() ? "not known" : found->second,
                 "; this program's is ", kernels.arch);
        }
        Dataset some = without_idle(data);
        for (std::string const& subject : some.subjects) {
            if (!is_subject(kernels, some, subject)) fail(name, ": this program has no ", subject);
        }
        return some;
    }

    [[nodiscard]] CompactMlp learn(std::span<const std::size_t> rows, ExecutorRef executor) const {
        const bool layouts = data_.of_layouts();
        const std::size_t epochs = layouts ? 4 * options_.epochs : options_.epochs;  // a small network
        const GaussianProcessOptions gp{.steps = 40, .rows = 300, .seed = options_.seed};
        const Table known = features_.select(rows), deviations = deviations_.select(rows);
        const auto teacher = GaussianProcess::fit(known, deviations, labels_of(data_), gp, executor);
        // What was measured stands beside what is believed of it: often enough to weigh something.
        Table x = features_of(detail::configurations_like(data_.select(rows), layouts ? 2000 : 8000, options_.seed));
        Table y = teacher.predict(x);
        for (int times = 0; times < 3; ++times) {
            x.values.insert(x.values.end(), known.values.begin(), known.values.end());
            y.values.insert(y.values.end(), deviations.values.begin(), deviations.values.end());
        }
        const MlpOptions mlp{
            .hidden = layouts ? std::vector<std::size_t>{64, 64} : std::vector<std::size_t>{128, 160, 96},
            .learning_rate = 3e-3,
            .batch = 128,
            .patience = epochs,
            .most_epochs = epochs,
            .one_cycle = true,
            .huber = 0.05,
            .seed = options_.seed};
        const Split split = split_rows(x.rows(), options_.seed);
        std::vector<std::size_t> train = split.train;
        train.insert(train.end(), split.validation.begin(), split.validation.end());
        return Mlp::fit(x.select(train), y.select(train), x.select(split.test), y.select(split.test), mlp, executor)
            .compact();
    }

    Dataset data_;
    DistillOptions options_;
    /// A row each: features, and of each subject what Analytical predicts and how far off that is, both logarithms.
    Table features_, predicted_, deviations_;
};

}  // namespace primsel::inline PRIMSEL_ABI
