#pragma once

#include "models.hpp"
#include "platform.hpp"

#include <primsel/io/json.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reproduce {

/// Something that takes seconds to minutes and depends on nothing but the data, the settings and its name.
struct Experiment {
    std::string name;
    /// About what it takes on one core, in seconds.
    double seconds;
    std::function<ps::Json()> run;
};

/// Ways from few measurements of the target to a model of it.
enum class Method {
    scratch_nn2,
    tuned_nn2,
    factor_nn2,
    scratch_ours,
    factor_ours,
    transferred,
    trusted,
    chosen_for_all,
    chosen_for_network,
    others_for_all,
    others_for_network
};
inline constexpr std::array methods{Method::scratch_nn2,    Method::tuned_nn2,         Method::factor_nn2,
                                    Method::scratch_ours,   Method::factor_ours,       Method::transferred,
                                    Method::trusted,        Method::chosen_for_all,    Method::chosen_for_network,
                                    Method::others_for_all, Method::others_for_network};
/// The network whose plans are judged, and for which rows are chosen.
inline constexpr std::string_view judged_network = "googlenet";
/// Whether the rows are chosen, and are not the subsets that are drawn.
[[nodiscard]] constexpr bool chooses(Method method) { return method >= Method::chosen_for_all; }
/// Whether none of the six networks' layers may be among them: what is predicted of those was then never looked up.
[[nodiscard]] constexpr bool chooses_others(Method method) { return method >= Method::others_for_all; }
[[nodiscard]] std::string_view to_string_view(Method method);

/// The shares of the training rows, in tenths of a percent.
[[nodiscard]] std::vector<int> fractions(Effort const& effort);
/// The most subsets that any of them is drawn or chosen in.
[[nodiscard]] std::size_t subsets(Effort const& effort);
/// Large ones differ little and take long.
[[nodiscard]] std::size_t subsets(Effort const& effort, Method method, int fraction);
/// Measurements that are chosen for a network: no more than so many, in the end as many as seem to pay.
inline constexpr std::array<std::size_t, 7> refine_counts{0, 8, 16, 32, 64, 128, 100'000};
inline constexpr std::array<std::string_view, 7> families{"direct", "im2", "kn2", "wino3", "wino5", "conv-1x1", "mec"};

// The names of the experiments.
[[nodiscard]] std::string model_experiment(Kind kind, std::string_view platform, std::uint64_t seed);
[[nodiscard]] std::string merged_experiment(Kind kind, std::string_view platform, std::uint64_t seed);
[[nodiscard]] std::string noise_experiment(std::string_view platform, std::uint64_t seed);
[[nodiscard]] std::string direct_experiment(World const& world, Kind kind);
[[nodiscard]] std::string subset_experiment(Method method, int fraction, std::size_t subset);
[[nodiscard]] std::string refine_experiment(std::string_view network, std::size_t most);
[[nodiscard]] std::string family_experiment(std::string_view family);

/// All of them, the quick and telling ones first. The world must outlive them.
[[nodiscard]] std::vector<Experiment> list_experiments(World const& world, Effort const& effort);

}  // namespace reproduce
