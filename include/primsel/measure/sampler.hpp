#pragma once

#include <primsel/learn/configuration.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

struct SampleOptions {
    /// The most operations of a configuration, two for each multiply-add: larger ones take too long to time.
    double max_operations = 5e9;
    /// Draws the order.
    std::uint64_t seed = 1;
    /// The layers as the networks have them come before those that only the grid has.
    bool networks_first = true;
};

namespace detail {

/// Kernel sizes and strides that every (c, k, im) is profiled with (Mulder et al. 2020, table 1).
inline constexpr std::array<std::array<int, 2>, 12> profiled_kernels{
    {{1, 1}, {3, 1}, {3, 2}, {5, 1}, {5, 2}, {5, 4}, {7, 1}, {7, 2}, {7, 4}, {11, 1}, {11, 2}, {11, 4}}};

/// Appends what a set holds in an order drawn by the seed.
template <class T>
void append_shuffled(std::vector<T>& to, std::set<T> const& from, std::uint64_t seed) {
    const std::vector<T> sorted(from.begin(), from.end());
    for (const std::size_t i : learn::shuffled(sorted.size(), seed)) to.push_back(sorted[i]);
}

}  // namespace detail

/// Configurations to profile for networks that have these convolutions: each of their (c, k, im), once, with each
/// kernel size and stride of the published data and with those that the networks have. Left out are convolutions with
/// groups, dilation or sides that differ, kernels larger than their image and what is above max_operations. The order
/// is drawn by the seed and depends on the set of shapes alone, so that any first part is a fair sample: of the
/// networks' own layers, and behind their end of all others, or with networks_first = false of both.
[[nodiscard]] inline std::vector<learn::ConvConfiguration> sample_convolutions(std::span<const ConvShape> shapes,
                                                                               SampleOptions const& options = {}) {
    std::set<learn::ConvConfiguration> own, others;
    const auto allowed = [&](learn::ConvConfiguration const& at) {
        return at.f <= at.im && at.shape().operations() <= options.max_operations;
    };
    for (ConvShape const& shape : shapes) {
        if (shape.groups != 1 || shape.dilated() || shape.h != shape.w) continue;
        for (auto const& [f, s] : detail::profiled_kernels) {
            const learn::ConvConfiguration at{shape.c, shape.k, shape.h, f, s};
            if (allowed(at)) others.insert(at);
        }
        if (const auto at = learn::ConvConfiguration::of(shape); at && allowed(*at)) own.insert(*at);
    }
    if (options.networks_first) {
        for (learn::ConvConfiguration const& at : own) others.erase(at);
    } else {
        others.merge(std::exchange(own, {}));
    }
    std::vector<learn::ConvConfiguration> sample;
    detail::append_shuffled(sample, own, options.seed);
    detail::append_shuffled(sample, others, options.seed);
    return sample;
}

/// The tensors that a change of layout may meet: each square input and output of the convolutions, once, in an order
/// drawn by the seed.
[[nodiscard]] inline std::vector<learn::TensorConfiguration> sample_tensors(std::span<const ConvShape> shapes,
                                                                            std::uint64_t seed = 1) {
    std::set<learn::TensorConfiguration> tensors;
    for (ConvShape const& shape : shapes) {
        if (shape.h == shape.w) tensors.insert({shape.c, shape.h});
        if (shape.out_h() == shape.out_w()) tensors.insert({shape.k, shape.out_h()});
    }
    std::vector<learn::TensorConfiguration> sample;
    detail::append_shuffled(sample, tensors, seed);
    return sample;
}

}  // namespace primsel::inline PRIMSEL_ABI::measure
