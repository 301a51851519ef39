// The published measurements, and what plans cost by them.
#pragma once

#include "reproduce.hpp"

#include <primsel/cost/table.hpp>
#include <primsel/learn/configuration.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/learn/recorded.hpp>
#include <primsel/network/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reproduce {

namespace ps = primsel;

/// The measured times, as a cost model.
class Truth {
public:
    static constexpr std::string_view name = ps::learn::Recorded::name;

    Truth() = default;
    Truth(ps::learn::Dataset const& primitives, ps::learn::Dataset const& layouts);

    /// The convolution as the data knows it: c, k, im, f and s, padded to keep its size. Where no kernel of that size
    /// was measured with that stride, the same one with stride 1 stands for it, in measurements and predictions alike.
    [[nodiscard]] ps::ConvShape as_measured(ps::ConvShape const& shape) const;
    /// Whether the convolution's kernel size was measured with its stride.
    [[nodiscard]] bool knows_stride(ps::ConvShape const& shape) const {
        return strides_.contains({shape.fh, shape.stride_h});
    }

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const;
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) const {
        recorded_->predict(kernels, queries, seconds);
    }

private:
    std::shared_ptr<const ps::learn::Recorded> recorded_;
    /// The kernel sizes and strides that were measured.
    std::set<std::pair<int, int>> strides_;
};

struct Network {
    std::string name;
    ps::Graph graph;
};

/// A machine that was measured. Changes of layout from a layout to itself are left out: they cost nothing.
struct Platform {
    std::string name;
    ps::learn::Dataset primitives, layouts;
    ps::FloatTable features, times, layout_features, layout_times;
    /// The family of each primitive of the data.
    std::vector<std::string> families;
    std::vector<ps::PrimitiveEntry> entries;
    /// The primitives that were measured, and no others.
    ps::Kernels kernels;
    Truth truth;
    /// Seconds of the plan made from measurements, for each network; nothing where a layer was not measured.
    std::vector<std::optional<double>> best;
    /// Seconds to run each primitive once at each layer of each network, as the paper profiles.
    std::vector<double> profiling;
    /// The row of each configuration of World::configurations, for those that were measured here.
    std::vector<std::optional<std::size_t>> row_of;

    /// Rows to train, to validate and to test. All machines train with the same configurations and test the same.
    [[nodiscard]] ps::learn::Split split(std::uint64_t seed) const;
};

struct World {
    /// Reads A_primitives.csv and A_layouts.csv of a machine A, or A.csv and A-layouts.csv. Throws error when a file is
    /// missing, is no dataset or has too few rows, and when the machines have no primitive in common.
    World(std::string const& folder, Machines const& machines);
    World(World const&) = delete;
    World& operator=(World const&) = delete;

    /// A machine that is known well, and one of which little need be known.
    Platform source, target;
    /// Whether they are Intel and AMD, as the paper measured them.
    bool published = false;
    /// The six of table 4.
    std::vector<Network> networks;
    /// Those that were measured on either machine.
    std::vector<ps::learn::ConvConfiguration> configurations;
    /// A checksum of the files' content.
    std::string fingerprint;
    /// A sentence for each thing that was not measured: what it is, and how the report does without.
    std::vector<std::string> left_out;

    [[nodiscard]] Platform const& platform(std::string_view name) const {
        return name == source.name ? source : target;
    }
    /// Throws error for a name that none of the networks has.
    [[nodiscard]] std::size_t network(std::string_view name) const;

private:
    void keep_common_primitives();
    void match_configurations();
    void plan_by_measurements(Platform& platform, Network const& network);
    [[nodiscard]] std::set<std::pair<int, int>> stand_ins(Platform const& platform) const;
};

/// The features of a network's convolutions, a row each, as the target's data know them.
[[nodiscard]] ps::FloatTable features_of_layers(World const& world, std::string_view network);

}  // namespace reproduce
