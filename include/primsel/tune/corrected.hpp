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

/// Another cost model, corrected by measurements of this machine. A measured question is answered by its measurement.
/// Any other prediction is corrected by the deviations that were seen (MultitaskProcess). Only for the kernels that it
/// was made for, one image at a time and on one thread, as models predict.
template <CostModel Model>
class Corrected {
public:
    static constexpr std::string_view name = "corrected";

    Corrected(Kernels const& kernels, Model& model) : model_(&model), process_(families(kernels)) {}

    /// What one image of each of these convolutions takes with these primitives. Believed at once; what that says of
    /// others comes with update().
    void learn(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<const double> seconds) {
        std::vector<ConvQuery> ones(queries.begin(), queries.end());
        for (ConvQuery& one : ones) one.batch = 1;
        std::vector<double> predicted(ones.size());
        model_->predict(kernels, std::span<const ConvQuery>(ones), std::span(predicted));
        for (std::size_t i = 0; i < ones.size(); ++i) {
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
            tune_at_ = 4 * process_.observations();
        }
        process_.fit();
        for (auto& [shape, known] : shapes_) known.beliefs.clear();
    }
    /// The standard deviation of the logarithm of its time; 0 for what was measured.
    [[nodiscard]] double deviation(ConvQuery const& query) {
        if (measured(query)) return 0;
        return std::sqrt(belief(query).variance);
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

    Model* model_;
    MultitaskProcess process_;
    std::vector<std::pair<ConvShape, Known>> shapes_;
    std::size_t last_ = 0;  // of shapes_, who was asked for
    std::size_t tune_at_ = 16;
};

}  // namespace primsel::inline PRIMSEL_ABI
