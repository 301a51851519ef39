#pragma once

#include <primsel/cost/cost_model.hpp>
#include <primsel/learn/multitask_process.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// How far measurements lay from what was believed just before. Beliefs that were too sure of a family are less sure of
/// all of its primitives, and a little of all others.
class Surprise {
public:
    /// A measured deviation, and what was believed of it.
    void add(std::size_t family, Belief const& believed, double deviation) {
        constexpr double most = 16;  // one outlier is no rule
        const double away = deviation - believed.mean;
        const double squared = std::min(away * away / std::max(believed.variance, 1e-12), most);
        all_.add(squared);
        families_[family].add(squared);
    }
    /// By how much standard deviations are too small, at least 1.
    [[nodiscard]] double factor(std::size_t family) const {
        const double usual = all_.mean(1);
        const auto found = families_.find(family);
        return std::sqrt(std::max(1.0, found == families_.end() ? usual : found->second.mean(usual)));
    }

private:
    struct Squares {
        double sum = 0, count = 0;

        void add(double squared) { sum += squared, ++count; }
        /// As if four more had been `usual`.
        [[nodiscard]] double mean(double usual) const { return (sum + 4 * usual) / (count + 4); }
    };

    Squares all_;
    std::map<std::size_t, Squares> families_;
};

/// Another cost model, corrected by measurements of this machine. A measured question is answered by its measurement.
/// Any other prediction is corrected by the deviations that were seen (MultitaskProcess). Only for the kernels that it
/// was made for, one image at a time and on one thread, as models predict.
template <CostModel Model>
class Corrected {
public:
    static constexpr std::string_view name = "corrected";

    Corrected(Kernels const& kernels, Model& model) : model_(&model), labels_(families(kernels)), process_(labels_) {}

    /// What one image of each of these convolutions takes with these primitives. Believed at once; what that says of
    /// others comes with update().
    void learn(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<const double> seconds) {
        std::vector<ConvQuery> ones(queries.begin(), queries.end());
        for (ConvQuery& one : ones) one.batch = 1;
        std::vector<double> predicted(ones.size());
        model_->predict(kernels, std::span<const ConvQuery>(ones), std::span(predicted));
        for (std::size_t i = 0; i < ones.size(); ++i) {
            if (fitted_ && predicted[i] > 0 && seconds[i] > 0) {
                surprise_.add(process_label(ones[i]), belief(ones[i]), std::log(seconds[i] / predicted[i]));
            }
            Known& known = at(ones[i].shape);
            if (!known.row) known.row = process_.add_row(ConvFeatures::of(ones[i].shape));
            known.measured[ones[i].primitive] = seconds[i];
            if (predicted[i] > 0 && seconds[i] > 0) {
                process_.observe(*known.row, ones[i].primitive, std::log(seconds[i] / predicted[i]));
            }
        }
    }
    void learn(Kernels const& kernels, ConvQuery const& query, double seconds) {
        learn(kernels, std::span(&query, 1), std::span(&seconds, 1));
    }
    [[nodiscard]] bool measured(ConvQuery const& query) { return at(query.shape).measured.contains(query.primitive); }
    /// Draws conclusions from what was learned; from time to time how far to trust the model, too.
    void update() {
        if (process_.observations() >= tune_at_) {
            process_.tune(3);
            tune_at_ = 2 * process_.observations();
        }
        process_.fit();
        fitted_ = process_.observations() > 0;
        for (auto& [shape, known] : shapes_) known.beliefs.clear();
    }
    /// The standard deviation of the logarithm of its time; 0 for what was measured.
    [[nodiscard]] double deviation(ConvQuery const& query) {
        if (measured(query)) return 0;
        return surprise_.factor(process_label(query)) * std::sqrt(belief(query).variance);
    }

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) {
        model_->predict(kernels, queries, seconds);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            Known const& known = at(queries[i].shape);
            const auto found = known.measured.find(queries[i].primitive);
            seconds[i] = found != known.measured.end() ? queries[i].batch * found->second
                                                       : seconds[i] * std::exp(belief(queries[i]).mean);
        }
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) {
        model_->predict(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) {
        model_->predict(kernels, queries, seconds);
    }

private:
    /// Of a configuration.
    struct Known {
        std::optional<std::size_t> row;
        std::map<std::size_t, double> measured;
        std::vector<Belief> beliefs;  // of all primitives, or none yet
    };
    [[nodiscard]] static std::vector<std::size_t> families(Kernels const& kernels) {
        std::vector<std::size_t> result;
        for (PrimitiveEntry const& primitive : kernels.primitives) {
            result.push_back(static_cast<std::size_t>(primitive.family));
        }
        return result;
    }
    [[nodiscard]] Known& at(ConvShape const& shape) {
        // A network asks for all primitives of a layer in turn.
        if (last_ < shapes_.size() && shapes_[last_].first == shape) return shapes_[last_].second;
        const auto found = std::ranges::find(shapes_, shape, &std::pair<ConvShape, Known>::first);
        last_ = static_cast<std::size_t>(found - shapes_.begin());
        return found != shapes_.end() ? found->second : shapes_.emplace_back(shape, Known{}).second;
    }
    [[nodiscard]] Belief belief(ConvQuery const& query) {
        Known& known = at(query.shape);
        if (known.beliefs.empty()) {
            std::vector<std::size_t> all(process_.primitives());
            for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
            known.beliefs.resize(all.size());
            process_.predict(ConvFeatures::of(query.shape), all, known.beliefs);
        }
        return known.beliefs[query.primitive];
    }

    [[nodiscard]] std::size_t process_label(ConvQuery const& query) const { return labels_[query.primitive]; }

    Model* model_;
    std::vector<std::size_t> labels_;  // the family of each primitive
    MultitaskProcess process_;
    Surprise surprise_;
    bool fitted_ = false;
    std::vector<std::pair<ConvShape, Known>> shapes_;
    std::size_t last_ = 0;  // of shapes_, who was asked for
    std::size_t tune_at_ = 8;
};

}  // namespace primsel::inline PRIMSEL_ABI
