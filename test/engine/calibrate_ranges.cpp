#include <primsel/engine/calibrate_ranges.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace ps = primsel;

namespace calibrate_ranges_tests {

/// Values of a normal distribution, and one far from them.
std::vector<float> with_outlier(std::size_t count, float outlier) {
    std::mt19937 bits(7);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(bits);
    values[count / 2] = outlier;
    return values;
}
double squared_error(std::span<const float> values, ps::TensorRange range) {
    double sum = 0;
    for (const float value : values) {
        const float byte =
            std::clamp(std::nearbyint(value / range.scale) + static_cast<float>(range.zero_point), 0.0F, 255.0F);
        const float back = range.scale * (byte - static_cast<float>(range.zero_point));
        sum += std::pow(static_cast<double>(back - value), 2);
    }
    return sum;
}

TEST_CASE("ranges of the values themselves, without the rarest, and with the least error") {
    const ps::Shape shape{1, 250, 400};
    ps::Graph graph;
    graph.add("image", ps::InputParams{shape}, {});
    graph.add("relu", ps::ActivationParams{ps::ActivationKind::relu}, {0});
    const ps::Weights weights = ps::random_weights(graph);
    const std::vector<float> values = with_outlier(2 * shape.size(), 20.0F);
    const auto [low, high] = std::ranges::minmax(values);
    const ps::TensorStatistics statistics(graph, weights, values);

    const ps::TensorRanges all = statistics.ranges(ps::RangeMethod::min_max);
    CHECK(all.at("image") == ps::range_of(low, high));
    CHECK(all.at("relu") == ps::range_of(0, high));
    CHECK(ps::calibrate_ranges(graph, weights, values) == all);

    // 0.01 % of a normal distribution lie beyond 3.72.
    const ps::TensorRange usual = statistics.ranges(ps::RangeMethod::percentile).at("image");
    CHECK(usual.scale == doctest::Approx(2 * 3.72 / 255).epsilon(0.05));

    const ps::TensorRange best = statistics.ranges(ps::RangeMethod::mse).at("image");
    CHECK(best.scale < all.at("image").scale);
    CHECK(squared_error(values, best) < 0.9 * squared_error(values, all.at("image")));
    CHECK(squared_error(values, best) < squared_error(values, usual));

    // Far fewer levels are spent on the outlier, and of values of one sign all 256 reach up to the bound.
    const ps::TensorRanges close = statistics.ranges(ps::RangeMethod::kl);
    CHECK(close.at("image").scale < 0.5F * all.at("image").scale);
    CHECK(close.at("image").scale > 2 * 2.5F / 255);
    CHECK(close.at("relu").zero_point == 0);
    CHECK(close.at("relu").scale < close.at("image").scale);
}

/// Distribution by distribution, bin by bin.
double divergence(std::vector<double> bins, std::size_t reach, std::size_t levels) {
    bins[0] = bins[1];
    std::vector<double> p(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(reach)), q(reach, 0.0);
    for (std::size_t i = reach; i < bins.size(); ++i) p.back() += bins[i];
    for (std::size_t level = 0; level < levels; ++level) {
        std::vector<std::size_t> filled;
        double count = 0;
        for (std::size_t i = 0; i < reach; ++i) {
            if (i * levels / reach != level) continue;
            count += bins[i];
            if (bins[i] > 0) filled.push_back(i);
        }
        for (const std::size_t i : filled) q[i] = count / static_cast<double>(filled.size());
    }
    double all_p = 0, all_q = 0, sum = 0;
    for (std::size_t i = 0; i < reach; ++i) all_p += p[i], all_q += q[i];
    if (all_q == 0) return std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < reach; ++i) {
        if (p[i] == 0) continue;
        if (q[i] == 0) return std::numeric_limits<double>::infinity();
        sum += p[i] / all_p * std::log(p[i] / all_p / (q[i] / all_q));
    }
    return sum;
}

TEST_CASE("the least divergence is that of all numbers of bins") {
    std::mt19937 bits(11);
    for (const std::size_t count : {9U, 40U, 131U}) {
        for (const std::size_t levels : {4U, 7U, 8U}) {
            for (int round = 0; round < 12; ++round) {
                CAPTURE(count);
                CAPTURE(levels);
                CAPTURE(round);
                // Half a bell of some width with a spike at zero, empty bins and an outlier.
                std::normal_distribution<double> bell(0, static_cast<double>(count) / (2 + round));
                std::vector<std::uint64_t> bins(count, 0);
                for (int i = 0; i < 1000; ++i) {
                    const auto bin = static_cast<std::size_t>(std::abs(bell(bits)));
                    if (bin < count && (round % 3 != 0 || bin % 5 != 3)) ++bins[bin];
                }
                bins[0] += 500, ++bins[count - 1];
                const std::vector<double> exact(bins.begin(), bins.end());
                double least = std::numeric_limits<double>::infinity();
                for (std::size_t reach = levels; reach <= count; ++reach) {
                    least = std::min(least, divergence(exact, reach, levels));
                }
                const std::size_t found = ps::engine::detail::least_divergence(bins, levels);
                CHECK(divergence(exact, found, levels) <= least + 1e-12);
            }
        }
    }
    const std::vector<std::uint64_t> empty(16, 0);
    CHECK(ps::engine::detail::least_divergence(empty, 8) == 16);
    // The largest of equal bounds is taken: each of them keeps a distribution of one magnitude.
    std::vector<std::uint64_t> one(16, 0);
    one[1] = 5;
    CHECK(ps::engine::detail::least_divergence(one, 8) == 16);
}

TEST_CASE("tensors that share their values share a range") {
    ps::Graph graph;
    const ps::ActivationParams relu{ps::ActivationKind::relu};
    graph.add("image", ps::InputParams{{2, 4, 4}}, {});
    graph.add("scale", ps::ScaleParams{.known = true, .factor = 3}, {0});
    graph.add("a", relu, {1});
    graph.add("pool", ps::PoolParams{}, {2});
    graph.add("b", relu, {0});
    graph.add("half", ps::PoolParams{}, {4});
    graph.add("both", ps::ConcatParams{}, {3, 5});
    graph.add("sum", ps::GlobalPoolParams{ps::PoolKind::average}, {6});
    std::vector<float> values = with_outlier(32, 2.0F);
    const ps::TensorRanges ranges = ps::calibrate_ranges(graph, ps::random_weights(graph), values);
    for (const char* name : {"pool", "b", "half", "both"}) CHECK(ranges.at(name) == ranges.at("a"));
    CHECK(ranges.at("a") != ranges.at("image"));
    CHECK(ranges.at("sum") != ranges.at("both"));
    CHECK(ranges.size() == graph.size());
}

TEST_CASE(
    "an input of a concatenation that others read keeps a range with much finer steps, and constants have ranges") {
    ps::Graph graph;
    const ps::ActivationParams relu{ps::ActivationKind::relu};
    graph.add("image", ps::InputParams{{2, 4, 4}}, {});
    graph.add("wide", ps::ScaleParams{.known = true, .factor = 3}, {0});
    graph.add("fine", relu, {0});
    graph.add("finer", ps::ActivationParams{ps::ActivationKind::sigmoid}, {0});
    graph.add("both", ps::ConcatParams{}, {1, 2, 3});
    graph.add("other", ps::ActivationParams{ps::ActivationKind::tanh}, {2});
    graph.add("constant", ps::ConstantParams{{2, 1, 1}}, {});
    graph.add("times", ps::BinaryParams{ps::BinaryKind::multiply}, {2, 6});
    ps::Weights weights = ps::random_weights(graph);
    const std::vector<float> values = with_outlier(32, 2.0F);
    const ps::TensorRanges ranges = ps::calibrate_ranges(graph, weights, values);
    CHECK(ranges.at("wide") == ranges.at("both"));
    CHECK(ranges.at("finer") == ranges.at("both"));  // nobody else reads it
    CHECK(ranges.at("fine").scale < ranges.at("both").scale / 2);
    const std::vector<float> constant(weights.at(constant_weight(graph[6])).values.begin(),
                                      weights.at(constant_weight(graph[6])).values.end());
    const auto [low, high] = std::ranges::minmax(constant);
    CHECK(ranges.at("constant") == ps::range_of(low, high));
}

TEST_CASE("values that are not finite have no range, and what is no image is refused") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{1, 2, 2}}, {});
    graph.add("scale", ps::ScaleParams{.known = true, .factor = 3e38F}, {0});
    graph.add("relu", ps::ActivationParams{ps::ActivationKind::relu6}, {1});
    const std::vector<float> values{1, 2, 3, -4};
    const ps::Weights weights = ps::random_weights(graph);
    const ps::TensorRanges ranges = ps::calibrate_ranges(graph, weights, values);
    CHECK(ranges.contains("image"));
    CHECK(!ranges.contains("scale"));
    CHECK(ranges.at("relu") == ps::range_of(0, 6));
    const std::vector<float> broken{1, std::numeric_limits<float>::quiet_NaN(), 3, -4};
    CHECK(!ps::calibrate_ranges(graph, weights, broken).contains("image"));
    CHECK_THROWS_WITH_AS((void)ps::calibrate_ranges(graph, weights, std::span(values).first(3)),
                         "ranges: 3 values are no images of 1x2x2 in batches of 1", ps::error);
    CHECK_THROWS_AS((void)ps::calibrate_ranges(graph, weights, {}), ps::error);
}

}  // namespace calibrate_ranges_tests
