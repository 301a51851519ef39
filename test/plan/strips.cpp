// Which convolutions a plan computes together, against all divisions of a chain.
#include "fakes.hpp"

#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/reprice.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace ps = primsel;

namespace {

/// Convolutions of layers too large for L2, some of them by a primitive that computes no rows, and a pooling now and
/// then.
ps::Graph chain(std::mt19937& bits, std::size_t layers, int batch = 1) {
    ps::Graph graph(batch);
    graph.add("image", ps::InputParams{{16, 96, 96}}, {});
    while (graph.size() <= layers) {
        const std::size_t last = graph.size() - 1;
        const std::string name = "layer" + std::to_string(graph.size());
        if (bits() % 8 == 0) {
            graph.add(name, ps::PoolParams{ps::PoolKind::max, 3, 1, 1}, {last});
            continue;
        }
        ps::ConvParams params{.k = 32, .kernel = 3, .padding = 1};
        if (bits() % 2 == 0) params.kernel = 1, params.padding = 0;
        if (bits() % 4 == 0) params.kernel = 5, params.padding = 2;
        graph.add(name, params, {last});
    }
    return graph;
}

std::vector<ps::PrimitiveEntry> strip_primitives() {
    ps::PrimitiveEntry any = fakes::primitive("rows", fakes::hwc, fakes::hwc),
                       some = fakes::primitive("whole-3x3", fakes::hwc, fakes::hwc, {.supports = &fakes::only_3x3}),
                       other = fakes::primitive("chw", fakes::chw, fakes::chw);
    any.by_rows = true;
    return {any, some, other};
}

/// Costs that grow with the image, so that strips are sometimes cheaper than the whole.
struct CostsOfPixels : fakes::HashedCosts {
    using HashedCosts::HashedCosts;
    using HashedCosts::predict;
    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        HashedCosts::predict(kernels, queries, seconds);
        for (std::size_t i = 0; i < queries.size(); ++i) seconds[i] *= queries[i].shape.out_h() / 100.0;
    }
};

/// The least that the layers [first, size) take, over all divisions into layers by themselves and strips.
double least(ps::Plan const& plan, ps::Graph const& graph, ps::Kernels const& kernels, CostsOfPixels& costs,
             double worthwhile, std::size_t first) {
    if (first == graph.size()) return 0;
    double best = plan.layers[first].seconds + least(plan, graph, kernels, costs, worthwhile, first + 1);
    const std::vector<std::size_t> readers = ps::count_readers(graph);
    std::vector<ps::StripLayer> layers;
    double apart = 0;
    for (std::size_t i = first; i < graph.size() && layers.size() < ps::most_strip_layers; ++i) {
        const auto layer = ps::strip_layer(graph, kernels, plan.layers[i], i);
        if (!layer) break;
        layers.push_back(*layer);
        apart += layer->seconds;
        const int rows = ps::best_strip_rows(layers);
        if (layers.size() > 1 && rows > 0) {
            const double together = ps::detail::strip_seconds(kernels, costs, std::span<const ps::StripLayer>(layers),
                                                              rows, graph.batch(), {});
            if (together < worthwhile * apart) {
                best = std::min(best, together + least(plan, graph, kernels, costs, worthwhile, i + 1));
            }
        }
        if (!ps::read_by_next(graph, i, readers)) break;
        if (graph[i].shape.size() < ps::l2_floats / 2) break;
    }
    return best;
}

double of_layers(ps::Plan const& plan) {
    double sum = 0;
    for (ps::PlannedLayer const& layer : plan.layers) {
        const bool in_strips = std::ranges::any_of(plan.strips, [&](ps::PlannedStrips const& strips) {
            return std::ranges::find(strips.layers, layer.name) != strips.layers.end();
        });
        if (!in_strips) sum += layer.seconds;
    }
    for (ps::PlannedStrips const& strips : plan.strips) sum += strips.seconds;
    return sum;
}

}  // namespace

TEST_CASE("strips: the cheapest division of every chain, and plans count it") {
    std::mt19937 bits(3);
    const std::vector<ps::PrimitiveEntry> list = strip_primitives();
    const ps::Kernels kernels = fakes::kernels(list);
    std::size_t strips = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        const ps::Graph graph = chain(bits, 2 + seed % 7, 1 + static_cast<int>(seed % 3));
        CostsOfPixels costs(seed);
        const ps::Plan apart = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{}, {.strips = false});
        const ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
        CHECK(apart.strips.empty());
        CHECK(apart.layers == plan.layers);
        double moves = 0;
        for (ps::PlannedTransform const& transform : plan.transforms) moves += transform.seconds;
        CHECK(of_layers(plan) == doctest::Approx(least(apart, graph, kernels, costs, 0.97, 0)));
        CHECK(plan.total_seconds == doctest::Approx(of_layers(plan) + moves));
        CHECK(ps::reprice(plan, graph, kernels, costs) == doctest::Approx(plan.total_seconds));
        strips += plan.strips.size();
        // More threads ask for more.
        const ps::Plan threads = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{}, {.workers = 2});
        CHECK(threads.total_seconds >= plan.total_seconds - 1e-12);
    }
    CHECK(strips > 20);
}

TEST_CASE("strips: none where the model has no price for them, nor of what L2 holds") {
    struct NoRows : fakes::HashedCosts {
        using HashedCosts::HashedCosts;
        using HashedCosts::predict;
        void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries,
                     std::span<double> seconds) const {
            HashedCosts::predict(kernels, queries, seconds);
            for (std::size_t i = 0; i < queries.size(); ++i) {
                if (queries[i].shape.h < 50) seconds[i] = std::numeric_limits<double>::infinity();
            }
        }
    };
    std::mt19937 bits(9);
    const std::vector<ps::PrimitiveEntry> list = strip_primitives();
    const ps::Kernels kernels = fakes::kernels(list);
    for (unsigned seed = 0; seed < 10; ++seed) {
        const ps::Graph graph = chain(bits, 6);
        NoRows costs(seed);
        CHECK(ps::make_plan(graph, kernels, costs, ps::ExactPbqp{}).strips.empty());
    }
    ps::Graph small;
    small.add("image", ps::InputParams{{16, 48, 48}}, {});
    for (std::size_t i = 0; i < 4; ++i) {
        small.add("conv" + std::to_string(i), ps::ConvParams{.k = 32, .kernel = 3, .padding = 1}, {i});
    }
    for (unsigned seed = 0; seed < 10; ++seed) {
        fakes::HashedCosts costs(seed);
        CHECK(ps::make_plan(small, kernels, costs, ps::ExactPbqp{}).strips.empty());
    }
}

TEST_CASE("strips: as many rows as L2 holds, evenly, and never all") {
    std::mt19937 bits(4);
    int found = 0;
    for (int repetition = 0; repetition < 300; ++repetition) {
        std::vector<ps::StripLayer> layers;
        int h = 20 + static_cast<int>(bits() % 200), c = 8 + static_cast<int>(bits() % 64);
        const int width = h;
        for (std::size_t i = 0; i < 2 + bits() % 3; ++i) {
            ps::ConvShape shape{.c = c, .k = 8 + static_cast<int>(bits() % 64), .h = h, .w = width};
            if (bits() % 2 == 0) shape.fh = shape.fw = 3, shape.pad_top = shape.pad_bottom = 1;
            if (bits() % 3 == 0) shape.stride_h = 2;
            layers.push_back({.shape = shape});
            h = shape.out_h(), c = shape.k;
        }
        const int rows = ps::best_strip_rows(layers), all = layers.back().shape.out_h();
        if (rows == 0) continue;
        ++found;
        CHECK(rows < all);
        CHECK(ps::strip_floats(layers, rows) <= ps::l2_floats / 8 * 3);
        // One row more in each strip would be one strip less, or more than L2 holds.
        const int strips = (all + rows - 1) / rows, fewer = (all + strips - 2) / std::max(1, strips - 1);
        CHECK((strips == 1 || ps::strip_floats(layers, fewer) > ps::l2_floats / 8 * 3));
        // What a layer makes for a strip is what the next one reads for it.
        const std::vector<int> held = ps::strip_rows(layers, rows);
        for (std::size_t i = 1; i < layers.size(); ++i) {
            for (int begin = 0; begin + held[i] <= layers[i].shape.out_h(); ++begin) {
                CHECK(ps::rows_under(layers[i].shape, {begin, begin + held[i]}).count() <= held[i - 1]);
            }
        }
    }
    CHECK(found > 50);
}
