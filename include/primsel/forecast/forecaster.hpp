#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/forecast/chosen_model.hpp>
#include <primsel/forecast/corrected_sum.hpp>
#include <primsel/forecast/layer_memory.hpp>
#include <primsel/forecast/layer_time.hpp>
#include <primsel/forecast/trees.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// The measurement of a network on a device; NaN for what was not measured.
struct ProfiledNetwork {
    NetworkLoad load;
    double seconds = 0, bytes = 0;
};

/// The forecast of a network; nothing where no measurement taught it.
struct NetworkForecast {
    std::optional<Estimate> seconds, bytes;
};

/// The choices behind a Forecaster; inherit and override line by line.
struct DefaultForecast {
    using time_model = ChosenModel<LayerTime<true, true>, LayerTime<true, false>, LayerTime<false, true>,
                                   LayerTime<false, false>, CorrectedSum, NetworkForest>;
    using memory_model = ChosenModel<LayerMemory, CorrectedSum, NetworkForest>;
};
/// The paper's method alone: random forests on the 42 features.
struct ForestForecast {
    using time_model = NetworkForest;
    using memory_model = NetworkForest;
};

/// Forecasts time and memory of networks on a device of which only measurements exist: all of them of training, or all
/// of inference.
template <class Policies = DefaultForecast>
class Forecaster {
public:
    using TimeModel = typename Policies::time_model;
    using MemoryModel = typename Policies::memory_model;
    static_assert(NetworkModel<TimeModel> && NetworkModel<MemoryModel>,
                  "primsel: Policies::time_model and memory_model are NetworkModels; see docs/forecast/models.md");

    Forecaster() = default;
    /// Takes models that the caller fitted, for instance with other options.
    Forecaster(std::optional<TimeModel> time, std::optional<MemoryModel> memory)
        : time_(std::move(time)), memory_(std::move(memory)) {}

    /// Fits both models. Throws error if a value is not positive, or nothing was measured.
    [[nodiscard]] static Forecaster fit(std::span<const ProfiledNetwork> profile) {
        return fit_by(
            profile, [](auto const& loads, auto const& values) { return TimeModel::fit(loads, values); },
            [](auto const& loads, auto const& values) { return MemoryModel::fit(loads, values); });
    }
    /// Fits one kind of model, of those between which the policies' ChosenModel chooses, to times and memory.
    template <NetworkModel Model>
    [[nodiscard]] static Forecaster fit_only(std::span<const ProfiledNetwork> profile) {
        return fit_by(
            profile,
            [](auto const& loads, auto const& values) { return TimeModel::template fit_only<Model>(loads, values); },
            [](auto const& loads, auto const& values) { return MemoryModel::template fit_only<Model>(loads, values); });
    }
    /// Fits the models by two functions of loads and values.
    [[nodiscard]] static Forecaster fit_by(std::span<const ProfiledNetwork> profile, auto const& fit_time,
                                           auto const& fit_memory) {
        Forecaster result;
        result.time_ = fitted<TimeModel>(profile, &ProfiledNetwork::seconds, fit_time);
        result.memory_ = fitted<MemoryModel>(profile, &ProfiledNetwork::bytes, fit_memory);
        if (!result.time_ && !result.memory_) fail("forecast: nothing to learn from");
        for (ProfiledNetwork const& of : profile) {
            if (of.load.training != profile[0].load.training) fail("forecast: measurements of training and of runs");
        }
        result.training_ = profile[0].load.training;
        return result;
    }

    [[nodiscard]] NetworkForecast forecast(NetworkLoad const& load) const {
        NetworkForecast result;
        if (time_) result.seconds = time_->predict(load);
        if (memory_) result.bytes = memory_->predict(load);
        return result;
    }
    [[nodiscard]] NetworkForecast forecast(Graph const& graph, int batch) const {
        return forecast(network_load(graph, batch, training_));
    }

    [[nodiscard]] std::optional<TimeModel> const& time() const { return time_; }
    [[nodiscard]] std::optional<MemoryModel> const& memory() const { return memory_; }
    /// Whether it was learned from steps of training.
    [[nodiscard]] bool training() const { return training_; }

    /// Facts about the device.
    std::map<std::string, std::string> about;

    void archive(Archive& archive) {
        std::uint8_t training = training_ ? 1 : 0;
        archive(about, training);
        archive.require(training <= 1, "a pass of ", int{training});
        training_ = training == 1;
        part(archive, time_), part(archive, memory_);
    }

private:
    template <class Model>
    [[nodiscard]] static std::optional<Model> fitted(std::span<const ProfiledNetwork> profile,
                                                     double ProfiledNetwork::*value, auto const& fit) {
        std::vector<NetworkLoad> loads;
        std::vector<double> values;
        for (ProfiledNetwork const& of : profile) {
            if (is_nan(of.*value)) continue;
            loads.push_back(of.load), values.push_back(of.*value);
        }
        if (loads.empty()) return std::nullopt;
        return fit(loads, values);
    }
    template <class Model>
    static void part(Archive& archive, std::optional<Model>& model) {
        std::string kind(model ? Model::kind : std::string_view());
        archive(kind);
        archive.require(kind.empty() || kind == Model::kind, "a model of the kind '", kind, "', not '", Model::kind,
                        "'");
        if (archive.reads() && !kind.empty()) model.emplace();
        if (model) archive(*model);
    }

    std::optional<TimeModel> time_;
    std::optional<MemoryModel> memory_;
    bool training_ = true;
};

namespace detail {
inline constexpr std::string_view forecaster_format = "primsel forecaster 3\n";
}

/// The forecaster as bytes, from which parse_forecaster makes one that forecasts the same, to the last bit.
template <class Policies>
[[nodiscard]] std::string to_bytes(std::string const& name, Forecaster<Policies> const& forecaster) {
    Archive archive(name);
    const_cast<Forecaster<Policies>&>(forecaster).archive(archive);  // writing changes nothing
    const auto content = archive.bytes();
    std::string bytes(detail::forecaster_format);
    const std::uint64_t sum = checksum(content);
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
    return bytes.append(reinterpret_cast<const char*>(content.data()), content.size());
}

/// Returns the forecaster that to_bytes wrote; errors call the bytes `name`. Throws error if the bytes are not a
/// forecaster, are truncated or damaged, or hold other models than Policies.
template <class Policies = DefaultForecast>
[[nodiscard]] Forecaster<Policies> parse_forecaster(std::string const& name, std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!text.starts_with(detail::forecaster_format)) fail(name, ": is no forecaster that this version reads");
    const std::size_t begin = detail::forecaster_format.size();
    std::uint64_t sum = 0;
    if (bytes.size() < begin + sizeof(sum)) fail(name, ": is cut off at byte ", bytes.size());
    Archive header(name, bytes.subspan(begin, sizeof(sum)), begin);
    header(sum);
    const auto content = bytes.subspan(begin + sizeof(sum));
    if (checksum(content) != sum) fail(name, ": is damaged or cut off: its checksum does not fit");
    Archive archive(name, content, begin + sizeof(sum));
    Forecaster<Policies> forecaster;
    archive(forecaster);
    archive.finish();
    return forecaster;
}

}  // namespace primsel::inline PRIMSEL_ABI::forecast
