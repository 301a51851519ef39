// Which convolutions a plan computes in strips, against all choices for a chain.
#include "fakes.hpp"

#include <primsel/pbqp/exact.hpp>
#include <primsel/pbqp/greedy.hpp>
#include <primsel/plan/make_plans.hpp>
#include <primsel/plan/reprice.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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

/// Two that compute rows by themselves, one that does not, and one of another layout.
std::vector<ps::PrimitiveEntry> strip_primitives() {
    ps::PrimitiveEntry any = fakes::primitive("rows", fakes::hwc, fakes::hwc),
                       other = fakes::primitive("rows-3x3", fakes::hwc, fakes::hwc, {.supports = &fakes::only_3x3});
    any.by_rows = other.by_rows = true;
    return {any, other, fakes::primitive("whole", fakes::hwc, fakes::hwc),
            fakes::primitive("chw", fakes::chw, fakes::chw)};
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

template <class Model, class Query>
double price(Model const& model, ps::Kernels const& kernels, Query const& query) {
    double seconds = 0;
    model.predict(kernels, std::span(&query, 1), std::span(&seconds, 1));
    return seconds;
}

/// The least total of all choices of primitives and of strips, tried one by one. The graph is a chain.
class EveryDivision {
public:
    EveryDivision(ps::Graph const& graph, ps::Kernels const& kernels, CostsOfPixels& costs, std::size_t workers)
        : graph_(graph),
          kernels_(kernels),
          ask_(graph, kernels, workers),
          costs_(costs),
          workers_(workers),
          chains_(ps::strip_chains(graph)) {}

    double least() {
        layout_.assign(graph_.size(), fakes::chw);
        return after(1, 0);
    }

private:
    /// The least seconds of the nodes from `node` on, which must go on in this chain unless that is 0.
    double after(std::size_t node, std::size_t chain) {
        if (node == graph_.size()) return change(node - 1, layout_[node - 1], fakes::chw);
        double best = std::numeric_limits<double>::infinity();
        const auto take = [&](std::size_t layout, double seconds, std::size_t next) {
            layout_[node] = layout;
            best = std::min(best, change(node - 1, layout_[node - 1], layout) + seconds + after(node + 1, next));
        };
        if (!ps::conv_task(graph_, node)) {
            for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
                take(layout, price(costs_, kernels_, ask_.op(node, layout)), 0);
            }
            return best;
        }
        for (std::size_t p = 0; p < kernels_.primitives.size(); ++p) {
            ps::PrimitiveEntry const& entry = kernels_.primitives[p];
            if (!entry.supports(ps::conv_shape_of(graph_, node))) continue;
            const double whole = price(costs_, kernels_, ask_.conv(node, p));
            if (chain == 0) take(entry.in_layout, whole, 0);
            if (!ps::joins_strips(kernels_, entry)) continue;
            for (std::size_t c = 0; c < chains_.size(); ++c) {
                if (chain != 0 ? c != chain - 1 : chains_[c].first != node) continue;
                const ps::plan::detail::PricedPrimitive own{p, whole};
                take(entry.in_layout,
                     ps::plan::detail::strip_seconds(ask_, costs_, chains_[c], node - chains_[c].first, workers_,
                                                     std::span(&own, 1))[0],
                     node == chains_[c].last() ? 0 : c + 1);
            }
        }
        return best;
    }
    double change(std::size_t writer, std::size_t from, std::size_t to) const {
        if (kernels_.same_placement(graph_[writer].shape, from, to)) return 0;
        return price(costs_, kernels_, ask_.transform(writer, from, to));
    }

    ps::Graph const& graph_;
    ps::Kernels const& kernels_;
    ps::Questions ask_;
    CostsOfPixels& costs_;
    std::size_t workers_;
    std::vector<ps::StripChain> chains_;
    std::vector<std::size_t> layout_;
};

/// A second a row; twice that where weights are farther than L2. Changes of layout are free.
struct RowSeconds {
    static constexpr std::string_view name = "rows";
    void predict(ps::Kernels const&, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            const bool near = queries[i].run.weight_reuse_bytes <= 4.0 * ps::l2_floats;
            seconds[i] = queries[i].run.batch * queries[i].shape.out_h() * (near ? 1 : 2);
        }
    }
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double> seconds) const {
        std::ranges::fill(seconds, 0.0);
    }
    void predict(ps::Kernels const&, std::span<const ps::OpQuery>, std::span<double> seconds) const {
        std::ranges::fill(seconds, 0.0);
    }
};

double of_layers(ps::Plan const& plan) {
    double sum = 0;
    for (ps::PlannedLayer const& layer : plan.layers) {
        const bool in_strips = std::ranges::any_of(plan.strips, [&](ps::PlannedStrips const& strips) {
            return std::ranges::find(strips.layers, layer.name) != strips.layers.end();
        });
        if (!in_strips) sum += layer.seconds;
    }
    for (ps::PlannedStrips const& strips : plan.strips) sum += strips.seconds;
    for (ps::PlannedTransform const& transform : plan.transforms) sum += transform.seconds;
    return sum;
}

/// A convolution that is in no strips runs by the cheapest primitive for its layouts.
void check_layers_by_themselves(ps::Plan const& plan, ps::Kernels const& kernels) {
    for (ps::PlannedLayer const& layer : plan.layers) {
        const bool in_strips = std::ranges::any_of(plan.strips, [&](ps::PlannedStrips const& strips) {
            return std::ranges::find(strips.layers, layer.name) != strips.layers.end();
        });
        if (in_strips || layer.primitive.empty()) continue;
        for (ps::Candidate const& other : layer.candidates) {
            if (!other.refusal.empty()) continue;
            ps::PrimitiveEntry const& entry = kernels.primitives[kernels.find(other.primitive)];
            if (kernels.layouts[entry.in_layout].name != layer.in_layout) continue;
            if (kernels.layouts[entry.out_layout].name == layer.out_layout) CHECK(other.seconds >= layer.seconds);
        }
    }
}

}  // namespace

TEST_CASE("strips: no choice of primitives and strips is cheaper than the plan, which says its own price") {
    std::mt19937 bits(3);
    const std::vector<ps::PrimitiveEntry> list = strip_primitives();
    const ps::Kernels kernels = fakes::kernels(list);
    std::size_t strips = 0, changed = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        const ps::Graph graph = chain(bits, 2 + seed % 5, 1 + static_cast<int>(seed % 3));
        const std::size_t workers = 1 + seed % 2;
        CostsOfPixels costs(seed, 0.2);
        const ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{}, {.workers = workers});
        CHECK(plan.optimal);
        CHECK(plan.total_seconds ==
              doctest::Approx(EveryDivision(graph, kernels, costs, workers).least()).epsilon(1e-12));
        CHECK(plan.total_seconds == doctest::Approx(of_layers(plan)).epsilon(1e-12));
        CHECK(plan.bound_seconds <= plan.total_seconds * (1 + 1e-12));
        CHECK(ps::reprice(plan, graph, kernels, costs, workers) == doctest::Approx(plan.total_seconds).epsilon(1e-12));
        strips += plan.strips.size();
        const ps::Plan apart =
            ps::make_plan(graph, kernels, costs, ps::ExactPbqp{}, {.strips = false, .workers = workers});
        CHECK(apart.strips.empty());
        CHECK(apart.total_seconds >= plan.total_seconds * (1 - 1e-12));
        changed += plan.strips.empty() || apart.layers == plan.layers ? 0U : 1U;
        // A solver that sees no edges may choose half a chain, whose layers run by themselves then.
        const ps::Plan greedy = ps::make_plan(graph, kernels, costs, ps::GreedyPbqp{}, {.workers = workers});
        CHECK(ps::reprice(greedy, graph, kernels, costs, workers) ==
              doctest::Approx(greedy.total_seconds).epsilon(1e-12));
        check_layers_by_themselves(greedy, kernels);
        const ps::JointPlans joint = ps::make_plans(std::vector<ps::PlannedGraph>{{graph}, {graph, 2}}, kernels, costs,
                                                    ps::GreedyPbqp{}, {.workers = workers});
        CHECK(std::isfinite(joint.separate_seconds));
    }
    CHECK(strips > 20);
    CHECK(changed > 5);  // primitives that are chosen because strips are cheaper by them
}

TEST_CASE("strips: a layer between others takes the time of its strips, whose weights are near after the first") {
    const std::vector<ps::PrimitiveEntry> list = strip_primitives();
    const ps::Kernels kernels = fakes::kernels(list);
    ps::Graph graph(3);
    graph.add("image", ps::InputParams{{32, 96, 96}}, {});
    for (std::size_t i = 0; i < 3; ++i) {
        graph.add("conv" + std::to_string(i), ps::ConvParams{.k = 32, .kernel = 3, .padding = 1}, {i});
    }
    RowSeconds rows;
    const ps::Questions ask(graph, kernels);
    std::size_t chains = 0;
    for (ps::StripChain const& chain : ps::strip_chains(graph)) {
        if (chain.shapes.size() < 3) continue;
        ++chains;
        const ps::plan::detail::PricedPrimitive own{0, price(rows, kernels, ask.conv(2, 0))};
        CHECK(own.seconds == 3 * 96 * 2);
        const auto in_strips = [&](std::size_t place, std::size_t workers) {
            return ps::plan::detail::strip_seconds(ask, rows, chain, place, workers, std::span(&own, 1))[0];
        };
        // All rows of three images, once each, and those of the first strip once more.
        CHECK(in_strips(1, 1) == doctest::Approx(ps::plan::detail::strip_doubt(1) * (3 * 96 + chain.rows)));
        // The image of the first and the result of the last stay where they are.
        for (const std::size_t end : {0U, 2U}) {
            CHECK(in_strips(end, 1) > in_strips(1, 1));
            CHECK(in_strips(end, 1) < own.seconds);
        }
        // More threads ask for more.
        CHECK(in_strips(1, 2) > in_strips(1, 1));
    }
    CHECK(chains == 1);
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
        std::vector<ps::ConvShape> layers;
        int h = 20 + static_cast<int>(bits() % 200), c = 8 + static_cast<int>(bits() % 64);
        const int width = h;
        for (std::size_t i = 0; i < 2 + bits() % 3; ++i) {
            ps::ConvShape shape{.c = c, .k = 8 + static_cast<int>(bits() % 64), .h = h, .w = width};
            if (bits() % 2 == 0) shape.fh = shape.fw = 3, shape.pad_top = shape.pad_bottom = 1;
            if (bits() % 3 == 0) shape.stride_h = 2;
            layers.push_back(shape);
            h = shape.out_h(), c = shape.k;
        }
        const int rows = ps::best_strip_rows(layers), all = layers.back().out_h();
        if (rows == 0) continue;
        ++found;
        CHECK(rows < all);
        CHECK(ps::strip_floats(layers, rows) <= ps::l2_floats / 8 * 3);
        // One row more in each strip would be one strip less, or more than L2 holds.
        const int strips = (all + rows - 1) / rows, fewer = (all + strips - 2) / std::max(1, strips - 1);
        CHECK((strips == 1 || ps::strip_floats(layers, fewer) > ps::l2_floats / 8 * 3));
        // The rows that a layer makes for a strip are those that the next one reads for it.
        const std::vector<int> held = ps::strip_rows(layers, rows);
        for (std::size_t i = 1; i < layers.size(); ++i) {
            for (int begin = 0; begin + held[i] <= layers[i].out_h(); ++begin) {
                CHECK(ps::rows_under(layers[i], {begin, begin + held[i]}).count() <= held[i - 1]);
            }
        }
    }
    CHECK(found > 50);
}
