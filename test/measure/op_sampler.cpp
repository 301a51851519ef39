// The layers of a network that are timed for OpRegression: every layer in every layout, once.
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/op_regression.hpp>
#include <primsel/measure/op_sampler.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/train/differentiate.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

namespace ps = primsel;

namespace {

using namespace ps::layer;
struct SmallPools : ps::Network<Input<8, 12, 12>, Conv<8, 3>, Relu, MaxPool<2>, Relu, Conv<8, 3>, Relu, MaxPool<2>,
                                GlobalAvgPool, Dense<10>> {};

ps::Kernels default_kernels() { return ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>(); }

/// Counts what it is asked for.
struct Counting {
    static constexpr std::string_view name = "counting";
    std::size_t* asked;

    void predict(ps::Kernels const&, std::span<const ps::OpQuery> queries, std::span<double> seconds) {
        for (double& time : seconds) time = 1e-6 * static_cast<double>(++*asked);
        CHECK(queries.size() == seconds.size());
        for (ps::OpQuery const& query : queries) CHECK(query.run.batch == 1);
    }
    template <class Query>
    void predict(ps::Kernels const&, std::span<const Query>, std::span<double>) {
        FAIL("asked for what is no layer");
    }
};

/// A second for everything that is of a batch of six.
struct OfBatch {
    static constexpr std::string_view name = "of batch";
    void predict(ps::Kernels const&, std::span<const ps::OpQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = 1;
            CHECK(queries[i].run.layer_by_layer);
            CHECK(queries[i].run.batch == 6);
        }
    }
    void predict(ps::Kernels const&, std::span<const ps::ConvQuery>, std::span<double>) {}
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double>) {}
};

}  // namespace

TEST_CASE("every layer in every layout is timed once, however often it is met") {
    std::size_t asked = 0;
    ps::measure::OpSampler sampler(default_kernels(), Counting{&asked});
    CHECK(sampler.times().empty());
    const ps::Graph graph = ps::simplify(SmallPools::graph());
    sampler.add(graph);
    const std::size_t count = sampler.times().size();
    CHECK(count == asked);
    CHECK(count <= graph.size() * default_kernels().layouts.size());
    std::set<std::tuple<std::string, std::string, double, double, double>> distinct;
    std::set<std::string> ops, layouts;
    for (std::size_t i = 0; i < count; ++i) {
        ps::OpTime const& sample = sampler.times()[i];
        CHECK(distinct
                  .emplace(sample.op, sample.layout, sample.work.counts.bytes, sample.work.counts.operations,
                           sample.work.counts.rows)
                  .second);
        CHECK(sample.seconds == doctest::Approx(1e-6 * static_cast<double>(i + 1)));
        ops.insert(sample.op);
        layouts.insert(sample.layout);
    }
    for (std::size_t node = 0; node < graph.size(); ++node) {
        CHECK(ops.contains(std::string(ps::layer_kind(graph[node].layer))));
    }
    CHECK(layouts.size() == default_kernels().layouts.size());
    sampler.add(graph);
    CHECK(sampler.times().size() == count);
    CHECK(asked == count);
}

TEST_CASE("the layers of a step of training are timed for its whole batch, those that are wanted") {
    const ps::Graph step = ps::differentiate(SmallPools::graph(6)).graph;
    ps::measure::OpSampler all(default_kernels(), OfBatch{}), some(default_kernels(), OfBatch{});
    all.add(step);
    some.add(step, [](ps::AnyLayer const& layer) { return std::holds_alternative<ps::PoolGradientParams>(layer); });
    CHECK(some.times().size() < all.times().size());
    CHECK_FALSE(some.times().empty());
    for (ps::OpTime const& sample : some.times()) CHECK(sample.op == "pool_gradient");
}

TEST_CASE("layers are timed on this machine") {
    ps::measure::OpSampler sampler(default_kernels(), ps::measure::Measured(1));
    sampler.add(ps::simplify(SmallPools::graph()));
    std::vector<ps::learn::OpRegression::Sample> samples;
    for (ps::OpTime const& time : sampler.times()) {
        CHECK(time.seconds >= 0);
        samples.push_back(ps::learn::OpRegression::sample(ps::Machine{}, time));
    }
    CHECK_FALSE(ps::learn::OpRegression::fit(samples, 1).coefficients().empty());
}
