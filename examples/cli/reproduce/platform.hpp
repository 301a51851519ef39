// The published measurements, and what plans cost by them.
#pragma once

#include <primsel/cost/dataset.hpp>
#include <primsel/cost/recorded.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/network/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli::reproduce {

namespace ps = primsel;

/// The convolution as the data knows it: c, k, im, f and s, padded to keep its size. No 1 x 1 convolution with a stride
/// was measured (ResNet's shortcuts are such): it stands for the same one with stride 1, in measurements and
/// predictions alike.
[[nodiscard]] ps::ConvShape as_published(ps::ConvShape const& shape);

/// What was measured, as a cost model.
class Truth {
public:
    static constexpr std::string_view name = ps::Recorded::name;

    Truth() = default;
    explicit Truth(ps::Recorded recorded) : recorded_(std::make_shared<const ps::Recorded>(std::move(recorded))) {}

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const;
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) const {
        recorded_->predict(kernels, queries, seconds);
    }

private:
    std::shared_ptr<const ps::Recorded> recorded_;
};

struct Network {
    std::string name;
    ps::Graph graph;
};

/// A machine that was measured. Changes of layout from a layout to itself are left out: they cost nothing.
struct Platform {
    std::string name;
    ps::Dataset primitives, layouts;
    ps::Table features, times, layout_features, layout_times;
    /// Of each primitive of the data.
    std::vector<std::string> families;
    std::vector<ps::PrimitiveEntry> entries;
    /// The primitives that were measured, and no others.
    ps::Kernels kernels;
    Truth truth;
    /// Seconds of the plan made from measurements, for each network.
    std::vector<double> best;
};

struct World {
    /// Throws error when a file is missing, is no dataset or is not of the published configurations.
    explicit World(std::string const& folder);
    World(World const&) = delete;
    World& operator=(World const&) = delete;

    Platform intel, amd;
    /// The six of table 4.
    std::vector<Network> networks;
    /// Of the files' content.
    std::string fingerprint;

    [[nodiscard]] Platform const& platform(std::string_view name) const { return name == intel.name ? intel : amd; }
    /// Throws error for a name that none of the networks has.
    [[nodiscard]] std::size_t network(std::string_view name) const;
};

/// Of a network's convolutions, a row each, as the data knows them.
[[nodiscard]] ps::Table features_of_layers(World const& world, std::string_view network);

}  // namespace cli::reproduce
