#pragma once

#include <primsel/cost/cost_model.hpp>
#include <primsel/learn/multitask_process.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

/// How beliefs are distributed: other machines have surprises that no normal distribution has.
struct BeliefTails {
    /// The share of beliefs whose deviation is really `outlying` times as large.
    static constexpr double outliers = 0.1, outlying = 3;
    /// 95 % of all times lie within this many deviations on either side of the mean.
    static constexpr double within_95 = 2.53;
};

/// The usual differences between machines where plans choose what is measured: those by which the times of primitives
/// that were not measured are the most likely, over all pairs of machines of `bench_measure_usual`.
inline constexpr learn::MultitaskPrior usual_of_plans{
    .mean = {0, -4.0, -4.9, -2.1, -3.4, -3.5, -6.9, -0.6, -1.0, -0.5, -1.4, -0.8},
    .deviation = {},
    .slopes = {0.1, 0.1}};

/// Another cost model, corrected by measurements of this machine. A measured question is answered by its measurement.
/// Any other prediction is corrected by the deviations that were seen (MultitaskProcess). Only for the kernels that it
/// was made for, one image at a time and on one thread, as models predict.
template <CostModel Model>
class Corrected {
public:
    static constexpr std::string_view name = "corrected";

    Corrected(Kernels const& kernels, Model& model, learn::MultitaskPrior const& prior = usual_of_plans)
        : model_(&model), process_(families(kernels), prior) {}

    /// Learns the seconds that one image of each of these convolutions took with these primitives. They are believed at
    /// once; update() draws conclusions about others.
    void learn(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<const double> seconds) {
        std::vector<ConvQuery> ones(queries.begin(), queries.end());
        for (ConvQuery& one : ones) one.run.batch = 1;
        std::vector<double> predicted(ones.size());
        model_->predict(kernels, std::span<const ConvQuery>(ones), std::span(predicted));
        for (std::size_t i = 0; i < ones.size(); ++i) {
            Known& known = at(kernels, ones[i].shape);
            if (!known.row) known.row = process_.add_row(ConvFeatures::of(ones[i].shape));
            known.measured[ones[i].primitive] = seconds[i];
            if (predicted[i] > 0 && seconds[i] > 0) {
                process_.observe(*known.row, known.all[ones[i].primitive], std::log(seconds[i] / predicted[i]));
            }
        }
    }
    void learn(Kernels const& kernels, ConvQuery const& query, double seconds) {
        learn(kernels, std::span(&query, 1), std::span(&seconds, 1));
    }
    [[nodiscard]] bool measured(Kernels const& kernels, ConvQuery const& query) {
        return at(kernels, query.shape).measured.contains(query.primitive);
    }
    /// Draws conclusions from what was learned.
    void update() {
        process_.fit();
        scale_ = process_.scale();
        for (auto& [shape, known] : shapes_) known.beliefs.clear();
    }
    /// The standard deviation of the logarithm of its time, outliers apart; 0 for what was measured.
    [[nodiscard]] double deviation(Kernels const& kernels, ConvQuery const& query) {
        if (measured(kernels, query)) return 0;
        return std::sqrt(scale_ * belief(kernels, query).variance);
    }

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) {
        model_->predict(kernels, queries, seconds);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            Known const& known = at(kernels, queries[i].shape);
            const auto found = known.measured.find(queries[i].primitive);
            seconds[i] = found != known.measured.end() ? queries[i].run.batch * found->second
                                                       : seconds[i] * std::exp(belief(kernels, queries[i]).mean);
        }
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) {
        model_->predict(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) {
        model_->predict(kernels, queries, seconds);
    }

private:
    /// Facts and beliefs about a configuration.
    struct Known {
        std::vector<learn::PredictedPrimitive> all;
        std::optional<std::size_t> row;
        std::map<std::size_t, double> measured;
        std::vector<learn::Belief> beliefs;  // of all primitives, or none yet
    };
    [[nodiscard]] static std::vector<std::size_t> families(Kernels const& kernels) {
        std::vector<std::size_t> result;
        for (PrimitiveEntry const& primitive : kernels.primitives) {
            result.push_back(static_cast<std::size_t>(primitive.family));
        }
        return result;
    }
    [[nodiscard]] Known& at(Kernels const& kernels, ConvShape const& shape) {
        // A network asks for all primitives of a layer in turn.
        if (last_ < shapes_.size() && shapes_[last_].first == shape) return shapes_[last_].second;
        const auto found = std::ranges::find(shapes_, shape, &std::pair<ConvShape, Known>::first);
        last_ = static_cast<std::size_t>(found - shapes_.begin());
        if (found == shapes_.end()) shapes_.emplace_back(shape, Known{predicted(kernels, shape), {}, {}, {}});
        return shapes_[last_].second;
    }
    [[nodiscard]] std::vector<learn::PredictedPrimitive> predicted(Kernels const& kernels, ConvShape const& shape) {
        std::vector<ConvQuery> queries;
        for (std::size_t p = 0; p < kernels.primitives.size(); ++p) {
            if (kernels.primitives[p].supports(shape)) queries.push_back({shape, p});
        }
        std::vector<double> seconds(queries.size());
        model_->predict(kernels, std::span<const ConvQuery>(queries), std::span(seconds));
        std::vector<double> logarithms(kernels.primitives.size(), std::numeric_limits<double>::infinity());
        for (std::size_t i = 0; i < queries.size(); ++i) logarithms[queries[i].primitive] = std::log(seconds[i]);
        return learn::predicted_primitives(logarithms);
    }
    [[nodiscard]] learn::Belief belief(Kernels const& kernels, ConvQuery const& query) {
        Known& known = at(kernels, query.shape);
        if (known.beliefs.empty()) {
            known.beliefs.resize(known.all.size());
            process_.predict(ConvFeatures::of(query.shape), known.all, known.beliefs);
        }
        return known.beliefs[query.primitive];
    }

    Model* model_;
    learn::MultitaskProcess process_;
    double scale_ = 1;
    std::vector<std::pair<ConvShape, Known>> shapes_;
    std::size_t last_ = 0;  // of shapes_, who was asked for
};

}  // namespace primsel::inline PRIMSEL_ABI::measure
