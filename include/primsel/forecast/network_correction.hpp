#pragma once

#include <primsel/forecast/network_model.hpp>
#include <primsel/learn/small_process.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// Multiplies a base forecast by what measurements of similar networks were off: a Gaussian process on the logarithm,
/// in the family of the network, its batch and its size. Its deviations and lengths are those of the largest
/// likelihood. What never falls with the batch before the correction does not fall after it.
class NetworkCorrection {
public:
    /// `base` are the base forecasts of the loads.
    [[nodiscard]] static NetworkCorrection fit(std::span<const NetworkLoad> loads, std::span<const double> base,
                                               std::span<const double> values) {
        NetworkCorrection result;
        std::vector<double> points, off;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            const auto point = place_of(loads[i], loads[i].batch);
            points.insert(points.end(), point.begin(), point.end());
            off.push_back(std::log(values[i] / base[i]));
            result.batches_.push_back(loads[i].batch);
        }
        std::ranges::sort(result.batches_);
        result.batches_.erase(std::unique(result.batches_.begin(), result.batches_.end()), result.batches_.end());
        // Lengths and deviations are compared on some of the samples, as each comparison takes their cube.
        std::vector<double> some_points, some_off;
        const std::size_t step = loads.size() / most_compared + 1,
                          width = points.size() / std::max<std::size_t>(1, off.size());
        for (std::size_t i = 0; i < off.size(); i += step) {
            some_points.insert(some_points.end(), points.begin() + static_cast<std::ptrdiff_t>(i * width),
                               points.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
            some_off.push_back(off[i]);
        }
        std::array<double, 6> chosen{0.1, 0.02, 0.05, 1, 0.5, 0.05};
        double best = likelihood(chosen, some_points, some_off);
        for (int round = 0; round < 2; ++round) {
            for (std::size_t i = 0; i < chosen.size(); ++i) {
                for (const double factor : {0.25, 0.5, 2.0, 4.0}) {
                    std::array<double, 6> other = chosen;
                    other[i] *= factor;
                    const double likely = likelihood(other, some_points, some_off);
                    if (likely > best) best = likely, chosen = other;
                }
            }
        }
        result.process_ = learn::SmallProcess::fit(std::move(points), std::move(off), parts_of(chosen), chosen[5]);
        return result;
    }

    /// Returns the corrected forecast of a load; base(batch) is its base forecast, which never falls with the batch.
    [[nodiscard]] Estimate operator()(NetworkLoad const& load, auto const& base) const {
        const auto at = process_.predict(place_of(load, load.batch));
        const double relative = std::hypot(at.deviation, process_.noise());
        // At the measured batches the corrected value is made to rise; between and beyond them it follows the base.
        std::vector<double> below, value;
        for (const double batch : batches_) {
            below.push_back(base(batch));
            value.push_back(below.back() * std::exp(process_.mean(place_of(load, batch))));
        }
        make_rising(value);
        const double here = base(load.batch);
        const auto next = static_cast<std::size_t>(std::ranges::lower_bound(batches_, load.batch) - batches_.begin());
        double result = here;
        if (batches_.empty()) return {here, relative * here};
        if (next == 0) {
            result = here * value[0] / below[0];
        } else if (next == batches_.size()) {
            result = here * value.back() / below.back();
        } else {
            const double span = below[next] - below[next - 1], part = span > 0 ? (here - below[next - 1]) / span : 1;
            result = value[next - 1] + std::clamp(part, 0.0, 1.0) * (value[next] - value[next - 1]);
        }
        return {result, relative * result};
    }

    void archive(Archive& archive) {
        archive(batches_, process_);
        archive.require(process_.dimensions() == 3, "a correction of ", process_.dimensions(), " dimensions");
        for (std::size_t i = 0; i < batches_.size(); ++i) {
            archive.require(batches_[i] > (i == 0 ? 0 : batches_[i - 1]), "batches out of order");
        }
    }

private:
    static constexpr std::size_t most_compared = 240;

    [[nodiscard]] static std::array<double, 3> place_of(NetworkLoad const& load, double batch) {
        double values = 0;
        for (LayerWork const& layer : load.layers) values += layer.out;
        // Families are so far from each other that none tells of another.
        return {1e6 * static_cast<double>(family_of(load.layers) % 1000003), std::log2(batch),
                std::log2(std::max(values, 1.0))};
    }
    /// Parts of a family at each batch and size; of all families at a batch; of a network at all batches. A part
    /// does not change with a coordinate in which its length is the largest number.
    [[nodiscard]] static std::vector<learn::SmoothPart> parts_of(std::array<double, 6> const& of) {
        constexpr double same = std::numeric_limits<double>::max();
        return {{of[0], {1, of[3], of[4]}}, {of[1], {same, of[3], 2}}, {of[2], {1, same, of[4]}}};
    }
    [[nodiscard]] static double likelihood(std::array<double, 6> const& of, std::vector<double> const& points,
                                           std::vector<double> const& off) {
        return learn::SmallProcess::fit(points, off, parts_of(of), of[5]).log_likelihood();
    }
    /// The nearest values that never fall: pools neighbours that do (Barlow and others, 1972).
    static void make_rising(std::vector<double>& values) {
        std::vector<std::pair<double, std::size_t>> blocks;
        for (const double value : values) {
            blocks.emplace_back(value, 1);
            while (blocks.size() > 1 && blocks[blocks.size() - 2].first > blocks.back().first) {
                const auto [last, count] = blocks.back();
                blocks.pop_back();
                auto& [first, size] = blocks.back();
                const auto n = static_cast<double>(size), m = static_cast<double>(count);
                first = (first * n + last * m) / (n + m), size += count;
            }
        }
        std::size_t i = 0;
        for (auto const& [value, count] : blocks) {
            for (std::size_t j = 0; j < count; ++j) values[i++] = value;
        }
    }

    std::vector<double> batches_;
    learn::SmallProcess process_;
};

}  // namespace primsel::inline PRIMSEL_ABI::forecast
