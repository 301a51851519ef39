#pragma once

#include <primsel/core/error.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The filters of a convolution or dense layer.
struct Filters {
    std::string_view layer;
    std::size_t count = 0;
    /// `count` rows of equal size, one for each filter.
    std::span<const float> weights;
    /// The weights of the batch norm that normalises their results, one for each filter; empty if there is none.
    std::span<const float> scale;

    [[nodiscard]] std::span<const float> operator[](std::size_t filter) const {
        const std::size_t size = weights.size() / count;
        return weights.subspan(filter * size, size);
    }
};

/// Scores how much each filter of a layer matters; those with the least score are removed first. `scores` has an
/// element for each filter, 0 before the call. Scores must not be negative.
///
/// A minimal model:
///     struct Largest {
///         void operator()(primsel::prune::Filters const& filters, std::span<double> scores) const {
///             for (std::size_t i = 0; i < filters.count; ++i) {
///                 for (float w : filters[i]) scores[i] = std::max(scores[i], std::abs(double{w}));
///             }
///         }
///     };
template <class C>
concept Criterion =
    requires(C const& criterion, Filters const& filters, std::span<double> scores) { criterion(filters, scores); };

/// The sum of absolute weights (Li et al., Pruning filters for efficient ConvNets, 2017, section 3.1).
struct L1Norm {
    void operator()(Filters const& filters, std::span<double> scores) const {
        for (std::size_t i = 0; i < filters.count; ++i) {
            for (const float weight : filters[i]) scores[i] += std::abs(static_cast<double>(weight));
        }
    }
};
/// The Euclidean norm of the weights.
struct L2Norm {
    void operator()(Filters const& filters, std::span<double> scores) const {
        for (std::size_t i = 0; i < filters.count; ++i) {
            double squares = 0;
            for (const float weight : filters[i]) squares += static_cast<double>(weight) * static_cast<double>(weight);
            scores[i] = std::sqrt(squares);
        }
    }
};
/// The sum of Euclidean distances to the other filters of the layer. Filters near the geometric median can be replaced
/// by the others (He et al., Filter pruning via geometric median, 2019, equation 6).
struct GeometricMedian {
    void operator()(Filters const& filters, std::span<double> scores) const {
        for (std::size_t i = 0; i < filters.count; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                const double apart = distance(filters[i], filters[j]);
                scores[i] += apart, scores[j] += apart;
            }
        }
    }

private:
    [[nodiscard]] static double distance(std::span<const float> a, std::span<const float> b) {
        double squares = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const double apart = static_cast<double>(a[i]) - static_cast<double>(b[i]);
            squares += apart * apart;
        }
        return std::sqrt(squares);
    }
};
/// The absolute weight of the batch norm behind the layer (Liu et al., Learning efficient convolutional networks
/// through network slimming, 2017). Throws error, naming the layer, if there is none.
struct BatchNormScale {
    void operator()(Filters const& filters, std::span<double> scores) const {
        if (filters.scale.empty()) fail("prune: no batch norm alone reads layer ", filters.layer);
        for (std::size_t i = 0; i < filters.count; ++i) scores[i] = std::abs(static_cast<double>(filters.scale[i]));
    }
};
/// Random scores, which depend on the seed and the layer's name alone.
struct RandomScore {
    std::uint32_t seed = 1;

    void operator()(Filters const& filters, std::span<double> scores) const {
        std::vector<std::uint32_t> key{seed};
        for (const char letter : filters.layer) key.push_back(static_cast<unsigned char>(letter));
        std::seed_seq sequence(key.begin(), key.end());
        std::mt19937 bits(sequence);
        for (double& score : scores) score = static_cast<double>(bits());
    }
};

static_assert(Criterion<L1Norm> && Criterion<L2Norm> && Criterion<GeometricMedian> && Criterion<BatchNormScale> &&
              Criterion<RandomScore>);

}  // namespace primsel::inline PRIMSEL_ABI::prune
