#pragma once

#include <primsel/dynamic/configuration.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/train/batches.hpp>
#include <primsel/train/metrics.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// Measures the accuracy of sub-networks by their numbers, from 1 on. Each is planned once, at its first use.
template <class Policies>
class ConfigurationAccuracy {
public:
    using Executor = typename Policies::executor;

    ConfigurationAccuracy(std::vector<Configuration> const& configurations, Executor run_on)
        : configurations_(configurations), executor_(std::move(run_on)), plans_(configurations.size()) {}

    template <DataSource Source>
    [[nodiscard]] double accuracy(int number, Weights const& weights, Source const& source,
                                  Normalise const& normalise) {
        const auto place = static_cast<std::size_t>(number) - 1;
        const Graph graph = simplify(configurations_[place].graph);
        const Kernels kernels = policy_kernels<Policies>();
        if (!plans_[place]) {
            plans_[place] = Predict<>().template plan<Policies>(graph, kernels, executor_.concurrency());
        }
        Program program(graph, kernels, *plans_[place], weights, executor_.concurrency());
        std::vector<float> results(program.out_floats());
        Metrics metrics(source.classes());
        Batches<Source> batches(source, evaluation_batches(graph.batch()), normalise);
        for (Batch batch = batches.next(); batch.count > 0; batch = batches.next()) {
            program.run(batch.images.data(), results.data(), executor_);
            metrics.add(results, batch.labels);
        }
        return metrics.accuracy();
    }

private:
    std::vector<Configuration> const& configurations_;
    Executor executor_;
    std::vector<std::optional<Plan>> plans_;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
