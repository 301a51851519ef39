// The published measurements, and what plans cost by them.
#pragma once

#include "reproduce.hpp"

#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/learn/recorded.hpp>
#include <primsel/network/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reproduce {

namespace ps = primsel;

/// The measured times, as a cost model.
class Truth {
public:
    static constexpr std::string_view name = ps::learn::Recorded::name;

    Truth() = default;
    Truth(ps::learn::Dataset const& primitives, ps::learn::Dataset const& layouts);

    /// The convolution as the data knows it: c, k, im, f and s, padded to keep its size. Where no 1 x 1 convolution
    /// with a stride was measured (ResNet's shortcuts are such), the same one with stride 1 stands for it, in
    /// measurements and predictions alike.
    [[nodiscard]] ps::ConvShape as_measured(ps::ConvShape const& shape) const;
    [[nodiscard]] bool knows_strided_shortcuts() const { return strided_shortcuts_; }

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const;
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) const {
        recorded_->predict(kernels, queries, seconds);
    }

private:
    std::shared_ptr<const ps::learn::Recorded> recorded_;
    bool strided_shortcuts_ = false;
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
    /// Seconds of the plan made from measurements, for each network.
    std::vector<double> best;
};

struct World {
    /// Throws error when a file is missing or is no dataset, when the machines were not measured by the same
    /// configurations, and when a layer of a network was not measured.
    World(std::string const& folder, Machines const& machines);
    World(World const&) = delete;
    World& operator=(World const&) = delete;

    /// A machine that is known well, and one of which little need be known.
    Platform source, target;
    /// Whether they are Intel and AMD, as the paper measured them.
    bool published = false;
    /// The six of table 4.
    std::vector<Network> networks;
    /// A checksum of the files' content.
    std::string fingerprint;

    [[nodiscard]] Platform const& platform(std::string_view name) const {
        return name == source.name ? source : target;
    }
    /// Throws error for a name that none of the networks has.
    [[nodiscard]] std::size_t network(std::string_view name) const;
};

/// The features of a network's convolutions, a row each, as the target's data know them.
[[nodiscard]] ps::FloatTable features_of_layers(World const& world, std::string_view network);

}  // namespace reproduce
