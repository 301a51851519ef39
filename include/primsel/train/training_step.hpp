#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/flush_subnormals.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/train/differentiate.hpp>
#include <primsel/train/loss.hpp>
#include <primsel/train/parameters.hpp>
#include <primsel/train/policies.hpp>
#include <primsel/train/recompute.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The gradient of a weight, where a step leaves it.
struct TrainedWeight {
    std::string name;
    std::span<float> values;
    std::span<const float> gradient;
};

/// A step of training made executable: forward, loss, and the gradients of all trained weights, for a batch. What is
/// done with the gradients is left to others.
template <class Policies>
class TrainingStep {
public:
    using Executor = typename Policies::executor;

    /// The parameters must outlive it, and are those of the graph that was differentiated. Computes layers again where
    /// the arena would exceed max_arena bytes. Throws error as differentiate, make_plan and fitting_step do.
    template <class How>
    TrainingStep(TrainingGraph step, Parameters& parameters, How const& how, Executor run_on,
                 std::size_t max_arena = PlanOptions{}.max_arena)
        : executor_(std::move(run_on)),
          step_(std::move(step)),
          planned_(planned(step_, how, executor_.concurrency(), max_arena)),
          parameters_(parameters),
          program_(planned_.graph, kernels(), planned_.plan, parameters.complete(planned_.graph, step_.seed).view(),
                   executor_.concurrency()),
          forward_steps_(program_.steps_before(planned_.graph.find(step_.gradient))) {
        for (std::size_t i = 0; i < program_.out_shapes().size(); ++i) {
            results_.emplace_back(program_.out_floats(i));
            outputs_.push_back(results_.back().data());
        }
        gradient_ = AlignedBuffer(program_.in_floats(1));
        find_trained();
    }

    /// Runs a batch with the weights as they are now, and returns its loss; the gradients are then those of the mean
    /// loss. images and targets are those of a whole batch.
    template <Loss L>
    double run(std::span<const float> images, std::span<const float> targets, L const& loss) {
        const float* inputs[] = {images.data(), gradient_.data()};
        const RunScope scope(executor_);
        const FlushSubnormals flushing;
        program_.bind(inputs, outputs_);
        for (std::size_t step = 0; step < forward_steps_; ++step) program_.run_step(step, executor_);
        const double value = loss(result(), targets, gradient_.span(), program_.batch());
        for (std::size_t step = forward_steps_; step < program_.steps(); ++step) program_.run_step(step, executor_);
        for (SharedGradient& shared : shared_) sum_up(shared);
        return value;
    }

    /// The network's, of the last batch.
    [[nodiscard]] std::span<const float> result() const {
        return std::span<const float>(results_[0].data(), program_.out_floats(0));
    }
    [[nodiscard]] std::vector<TrainedWeight> const& trained() const { return trained_; }
    /// Moves the running statistics of batch norms towards those of the last batch, as PyTorch does: by each layer's
    /// momentum, or by the given share.
    void update_statistics(std::optional<double> share = {}) {
        for (BatchNormStatistics const& of : step_.batch_norms) {
            const double momentum = share.value_or(of.momentum);
            const std::span<float> mean = parameters_[of.layer + ".running_mean"],
                                   variance = parameters_[of.layer + ".running_var"];
            const float* statistics = results_[of.result].data();
            const double values = static_cast<double>(of.values), unbiased = values / (values > 1 ? values - 1 : 1);
            for (std::size_t c = 0; c < mean.size(); ++c) {
                move(mean[c], statistics[c], momentum);
                move(variance[c], unbiased * static_cast<double>(statistics[mean.size() + c]), momentum);
            }
        }
    }
    /// Two numbers below 2^24 that dropout draws from.
    void seed(float first, float second) {
        if (step_.seed.empty()) return;
        const std::span<float> seed = parameters_[step_.seed];
        seed[0] = first, seed[1] = second;
    }

    [[nodiscard]] Executor& executor() { return executor_; }
    [[nodiscard]] Graph const& graph() const { return planned_.graph; }
    [[nodiscard]] Plan const& plan() const { return planned_.plan; }
    [[nodiscard]] Program& program() { return program_; }
    [[nodiscard]] Program const& program() const { return program_; }
    /// Bytes that it holds beside the parameters: the arena, packed weights, results and gradients.
    [[nodiscard]] std::size_t memory_bytes() const {
        std::size_t floats = gradient_.size();
        for (AlignedBuffer const& result : results_) floats += result.size();
        for (SharedGradient const& shared : shared_) floats += shared.sum.size();
        return program_.arena_bytes() + program_.weight_bytes() + floats * sizeof(float);
    }
    [[nodiscard]] std::size_t forward_steps() const { return forward_steps_; }
    [[nodiscard]] static Kernels kernels() { return policy_kernels<Policies, CompileTraining>(); }

private:
    /// The gradient of a weight that several layers share: the sum of what each of them contributes.
    struct SharedGradient {
        struct Part {
            const float* gradient;
            bool transposed;
        };
        std::vector<Part> parts;
        std::size_t rows = 0;  // of the weight
        std::vector<float> sum{};
    };

    void find_trained() {
        std::map<std::string, std::vector<WeightGradient>> gradients;
        for (WeightGradient const& of : step_.weights) gradients[of.weight].push_back(of);
        for (WeightGradient const& of : step_.weights) {
            const auto found = gradients.find(of.weight);
            if (found == gradients.end()) continue;  // a shared one that has been listed
            const auto node = gradients.extract(found);
            const std::span<float> values = parameters_[of.weight];
            const auto place = [&](WeightGradient const& part) { return results_[part.result].data() + part.offset; };
            if (node.mapped().size() == 1 && !of.transposed) {
                trained_.push_back({of.weight, values, std::span<const float>(place(of), values.size())});
                continue;
            }
            SharedGradient shared{{}, network::matrix_rows(parameters_.view().at(of.weight).dims)};
            for (WeightGradient const& part : node.mapped()) shared.parts.push_back({place(part), part.transposed});
            shared.sum.resize(values.size());
            trained_.push_back({of.weight, values, shared.sum});
            shared_.push_back(std::move(shared));
        }
    }
    /// Always in the same order: the same bits for any number of threads.
    static void sum_up(SharedGradient& shared) {
        std::ranges::fill(shared.sum, 0.0F);
        const std::size_t rows = shared.rows, columns = shared.sum.size() / rows;
        for (auto const& [gradient, transposed] : shared.parts) {
            const std::size_t from_row = transposed ? 1 : columns, from_column = transposed ? rows : 1;
            for (std::size_t row = 0; row < rows; ++row) {
                float* const sums = shared.sum.data() + row * columns;
                const float* const from = gradient + row * from_row;
                for (std::size_t column = 0; column < columns; ++column) sums[column] += from[column * from_column];
            }
        }
    }
    template <class How>
    static PlannedStep planned(TrainingGraph const& step, How const& how, std::size_t workers, std::size_t max_arena) {
        const Graph simple = simplify(step.graph);
        // For one thread, so that the bits do not depend on their number.
        const auto make = [&](Graph const& graph) { return how.template plan<Policies>(graph, kernels(), 1); };
        if constexpr (requires { how.known; }) {
            if (how.known) {
                const std::size_t backward = simple.find(step.gradient);
                Graph graph = recompute(simple, backward, recomputed_in(*how.known, simple, backward));
                if (how.known->key == make_key(graph, kernels())) return {std::move(graph), *how.known};
            }
        }
        return fitting_step(simple, step.gradient, kernels(), make, workers, max_arena);
    }
    static void move(float& value, double towards, double momentum) {
        value = static_cast<float>((1 - momentum) * static_cast<double>(value) + momentum * towards);
    }

    Executor executor_;
    TrainingGraph step_;
    PlannedStep planned_;
    Parameters& parameters_;
    Program program_;
    std::size_t forward_steps_;
    std::vector<AlignedBuffer> results_;
    std::vector<float*> outputs_;
    AlignedBuffer gradient_;
    std::vector<SharedGradient> shared_;
    std::vector<TrainedWeight> trained_;
};

}  // namespace primsel::inline PRIMSEL_ABI
