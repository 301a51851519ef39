#include "../threads.hpp"

#include <primsel/core/flush_subnormals.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/network/network.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace engine_subnormals {

namespace {

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<3, 9, 9>, Conv<8, 3, Pad<1>>, Sigmoid, Conv<8, 1>, Relu, GlobalAvgPool, Dense<4>> {};

template <class Executor>
struct On : ps::DefaultPolicies {
    using executor = Executor;
};

template <class Executor>
std::vector<float> run(ps::Weights const& weights, std::vector<float> const& image, Executor executor) {
    // One plan gives the same bits; for other numbers of threads another may be faster.
    static const ps::Plan plan =
        ps::Engine<Net>(ps::random_weights(Net::graph()), ps::PlanOptions{.family = ps::Family::im2}).plan();
    ps::Engine<Net, On<Executor>> engine(weights, plan, std::move(executor));
    std::vector<float> result(engine.out_shape().size());
    CHECK_FALSE(ps::flushes_subnormals());
    engine.run(image, result);
    CHECK_FALSE(ps::flushes_subnormals());
    return result;
}

float flushed(float x) { return std::abs(x) < 1.17549435e-38F ? 0.0F : x; }

TEST_CASE("subnormal weights and pixels are zeros, for every number of threads, and the caller's mode stays") {
    ps::Weights subnormal, zeros;
    for (auto const& [name, weight] : ps::random_weights(Net::graph())) {
        std::vector<float> values(weight.values.begin(), weight.values.end()), cut;
        // The first kernel's, beside pixels of 1e37: their products would show in the result.
        if (weight.dims.size() == 4 && weight.dims[1] == 3) {
            for (float& x : values) x *= 1e-39F;
        }
        for (const float x : values) cut.push_back(flushed(x));
        subnormal.add(name, weight.dims, values);
        zeros.add(name, weight.dims, cut);
    }
    std::vector<float> image(Net::input_shape.size()), cut;
    for (std::size_t i = 0; i < image.size(); ++i) {
        image[i] = (i % 3 == 0 ? 1e-40F : 1e37F) * static_cast<float>(i % 17);
        cut.push_back(flushed(image[i]));
    }
    const std::vector<float> expected = run(zeros, cut, ps::Sequential{});
    CHECK(run(subnormal, image, ps::Sequential{}) == expected);
    CHECK(run(subnormal, image, ps::ThreadPool(3)) == expected);
}

}  // namespace

}  // namespace engine_subnormals
