#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/forecast/engine_forecast.hpp>
#include <primsel/forecast/forecaster.hpp>
#include <primsel/search/detail/draw.hpp>
#include <primsel/search/supernet.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// The costs of a sub-network. A cost that is not known is NaN.
struct SubnetCosts {
    /// Bytes of a training step, and of a run.
    double training_bytes = 0, inference_bytes = 0;
    /// Seconds of a run.
    double seconds = 0;
};
/// The most that a sub-network may take.
struct SubnetBounds {
    double training_bytes = std::numeric_limits<double>::infinity(),
           inference_bytes = std::numeric_limits<double>::infinity(), seconds = std::numeric_limits<double>::infinity();

    /// Whether the costs keep the bounds. An unknown cost keeps only an infinite bound.
    [[nodiscard]] bool hold(SubnetCosts const& costs) const {
        const auto within = [](double value, double most) { return value <= most || is_infinite(most); };
        return within(costs.training_bytes, training_bytes) && within(costs.inference_bytes, inference_bytes) &&
               within(costs.seconds, seconds);
    }
};

/// The batch sizes of training and inference.
struct SubnetBatches {
    int training = 32, inference = 1;
};

/// The costs of an engine and a trainer of this library, from their plans: memory is exact, a call takes some tenths of
/// a second. Throws error as planning does.
template <Supernet S>
[[nodiscard]] SubnetCosts engine_costs(S const& supernet, Subnet const& subnet, SubnetBatches const& batches) {
    const forecast::EngineForecast run = forecast::forecast_inference(supernet.graph(subnet, batches.inference));
    const forecast::EngineForecast step = forecast::forecast_training(supernet.graph(subnet, batches.training),
                                                                      {.batch = batches.training}, {.momentum = 0.9});
    return {.training_bytes = static_cast<double>(step.memory.total()),
            .inference_bytes = static_cast<double>(run.memory.total()),
            .seconds = run.seconds};
}

/// Forecasts the costs of sub-networks in some microseconds each, from the known costs of a few.
template <class Policies = forecast::DefaultForecast>
class SubnetForecasts {
public:
    /// Takes forecasters of a device; costs without a forecaster are unknown. `cautious` is the number of standard
    /// deviations added to each forecast.
    SubnetForecasts(std::optional<forecast::Forecaster<Policies>> training,
                    std::optional<forecast::Forecaster<Policies>> inference, SubnetBatches const& batches,
                    double cautious = 1)
        : training_(std::move(training)), inference_(std::move(inference)), batches_(batches), cautious_(cautious) {}

    /// Fits forecasters to the costs of some sub-networks. Throws error as Forecaster::fit does, and unless there are
    /// costs for each sub-network.
    template <Supernet S>
    [[nodiscard]] static SubnetForecasts fit(S const& supernet, std::span<const Subnet> subnets,
                                             std::span<const SubnetCosts> costs, SubnetBatches const& batches,
                                             double cautious = 1) {
        if (subnets.size() != costs.size()) {
            fail("search: ", subnets.size(), " sub-networks and costs of ", costs.size());
        }
        std::vector<forecast::ProfiledNetwork> training, inference;
        for (std::size_t i = 0; i < subnets.size(); ++i) {
            const std::vector<forecast::ConvSizes> sizes = supernet.convolutions(subnets[i]);
            const double none = std::numeric_limits<double>::quiet_NaN();
            training.push_back({forecast::network_load(sizes, batches.training), none, costs[i].training_bytes});
            inference.push_back(
                {forecast::network_load(sizes, batches.inference, false), costs[i].seconds, costs[i].inference_bytes});
        }
        return {forecast::Forecaster<Policies>::fit(training), forecast::Forecaster<Policies>::fit(inference), batches,
                cautious};
    }

    [[nodiscard]] SubnetCosts operator()(std::span<const forecast::ConvSizes> sizes) const {
        const auto none = std::numeric_limits<double>::quiet_NaN();
        const auto most = [&](std::optional<forecast::Estimate> const& of) {
            return of ? of->value + cautious_ * of->deviation : none;
        };
        SubnetCosts costs{none, none, none};
        if (training_)
            costs.training_bytes = most(training_->forecast(forecast::network_load(sizes, batches_.training)).bytes);
        if (inference_) {
            const forecast::NetworkForecast run =
                inference_->forecast(forecast::network_load(sizes, batches_.inference, false));
            costs.inference_bytes = most(run.bytes), costs.seconds = most(run.seconds);
        }
        return costs;
    }

private:
    std::optional<forecast::Forecaster<Policies>> training_, inference_;
    SubnetBatches batches_;
    double cautious_;
};

/// Sub-networks to learn from: the smallest, the largest, and `count` - 2 others drawn by the seed.
[[nodiscard]] inline std::vector<Subnet> sample_subnets(std::span<const std::size_t> choices, std::size_t count,
                                                        std::uint64_t seed = 1) {
    std::vector<Subnet> subnets;
    detail::Draw draw(seed, 1);
    for (std::size_t i = 0; i < count; ++i) {
        Subnet subnet = i == 1 ? largest_subnet(choices) : smallest_subnet(choices);
        if (i > 1) {
            for (std::size_t place = 0; place < choices.size(); ++place) {
                subnet[place] = static_cast<std::uint8_t>(draw.below(choices[place]));
            }
        }
        subnets.push_back(std::move(subnet));
    }
    return subnets;
}

}  // namespace primsel::inline PRIMSEL_ABI::search
