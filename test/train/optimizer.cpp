#include <primsel/train/optimizer.hpp>

#include <doctest/doctest.h>

#include <primsel/train/clip.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "values.hpp"

namespace ps = primsel;

namespace optimizers {

/// PyTorch's formulas for one weight, in double.
struct Reference {
    double weight = 0, first = 0, second = 0;

    void step(ps::Sgd const& o, double gradient, double rate, std::int64_t number, double decay) {
        gradient += decay * weight;
        if (o.momentum != 0) {
            first = number == 1 ? gradient : o.momentum * first + (1 - o.dampening) * gradient;
            gradient = o.nesterov ? gradient + o.momentum * first : first;
        }
        weight -= rate * gradient;
    }
    void step(ps::Adam const& o, double gradient, double rate, std::int64_t number, double decay) {
        adam(o, gradient + decay * weight, rate, number);
    }
    void step(ps::AdamW const& o, double gradient, double rate, std::int64_t number, double decay) {
        weight *= 1 - rate * decay;
        adam(o, gradient, rate, number);
    }

private:
    template <class O>
    void adam(O const& o, double gradient, double rate, std::int64_t number) {
        const auto count = static_cast<double>(number);
        first = o.beta1 * first + (1 - o.beta1) * gradient;
        second = o.beta2 * second + (1 - o.beta2) * gradient * gradient;
        const double mean = first / (1 - std::pow(o.beta1, count)), square = second / (1 - std::pow(o.beta2, count));
        weight -= rate * mean / (std::sqrt(square) + o.epsilon);
    }
};

template <class O>
void check_against_reference(O const& optimizer, double rate, double decay, std::size_t count) {
    std::vector<float> weights = values::drawn(count, 1), state(optimizer.state_per_weight() * count);
    std::vector<Reference> references(count);
    for (std::size_t i = 0; i < count; ++i) references[i].weight = weights[i];
    for (std::int64_t number = 1; number <= 12; ++number) {
        const std::vector<float> gradient = values::drawn(count, static_cast<std::uint64_t>(100 + number));
        optimizer.step(weights, gradient, state, rate, number, decay);
        for (std::size_t i = 0; i < count; ++i) references[i].step(optimizer, gradient[i], rate, number, decay);
    }
    for (std::size_t i = 0; i < count; ++i) {
        CAPTURE(i);
        CHECK(static_cast<double>(weights[i]) == doctest::Approx(references[i].weight).epsilon(2e-5).scale(1));
    }
}

/// Five steps of PyTorch 1.13 from 1, -2 and 0.5 with gradients 0.5 s, -1 / s and 0.25 - 0.125 s in step s, rate 0.1,
/// weight decay 0.25.
template <class O>
void check_as_pytorch(O const& optimizer, std::vector<float> const& expected) {
    std::vector<float> weights{1, -2, 0.5F}, state(optimizer.state_per_weight() * 3);
    for (int number = 1; number <= 5; ++number) {
        const auto s = static_cast<float>(number);
        const std::vector<float> gradient{0.5F * s, -1 / s, 0.25F - 0.125F * s};
        optimizer.step(weights, gradient, state, 0.1, number, 0.25);
    }
    for (std::size_t i = 0; i < 3; ++i) CHECK(weights[i] == doctest::Approx(expected[i]).epsilon(2e-6));
}

}  // namespace optimizers

TEST_CASE("optimisers arrive where PyTorch's do") {
    using optimizers::check_as_pytorch;
    check_as_pytorch(ps::Sgd{}, {0.155631587F, -1.54941714F, 0.503009558F});
    check_as_pytorch(ps::Sgd{.momentum = 0.9}, {-0.832516313F, -0.698111713F, 0.416291714F});
    check_as_pytorch(ps::Sgd{.momentum = 0.9, .nesterov = true}, {-1.41074622F, -0.462910235F, 0.43823871F});
    check_as_pytorch(ps::Sgd{.momentum = 0.5, .dampening = 0.25}, {0.0226469357F, -1.35970175F, 0.471731305F});
    check_as_pytorch(ps::Adam{}, {0.507284582F, -1.52732134F, 0.280792415F});
    check_as_pytorch(ps::AdamW{}, {0.419834495F, -1.34485888F, 0.4162682F});
}

TEST_CASE("optimisers follow PyTorch's formulas") {
    for (const double decay : {0.0, 0.05}) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{1000}}) {
            CAPTURE(decay);
            CAPTURE(count);
            optimizers::check_against_reference(ps::Sgd{}, 0.1, decay, count);
            optimizers::check_against_reference(ps::Sgd{.momentum = 0.9}, 0.1, decay, count);
            optimizers::check_against_reference(ps::Sgd{.momentum = 0.9, .nesterov = true}, 0.1, decay, count);
            optimizers::check_against_reference(ps::Sgd{.momentum = 0.5, .dampening = 0.3}, 0.1, decay, count);
            optimizers::check_against_reference(ps::Adam{}, 0.01, decay, count);
            optimizers::check_against_reference(ps::Adam{0.8, 0.9, 1e-3}, 0.01, decay, count);
            optimizers::check_against_reference(ps::AdamW{}, 0.01, decay, count);
        }
    }
}

TEST_CASE("optimisers worked by hand") {
    // Momentum 0.5, rate 1: velocities 2, 3, 3.5.
    float weight = 10, state[2] = {};
    const float gradient = 2;
    for (const float expected : {8.0F, 5.0F, 1.5F}) {
        static std::int64_t number = 0;
        ps::Sgd{.momentum = 0.5}.step({&weight, 1}, {&gradient, 1}, {state, 1}, 1, ++number, 0);
        CHECK(weight == expected);
    }
    // Nesterov's: 2 + 0.5 * 2 in the first step.
    weight = 10, state[0] = 0;
    ps::Sgd{.momentum = 0.5, .nesterov = true}.step({&weight, 1}, {&gradient, 1}, {state, 1}, 1, 1, 0);
    CHECK(weight == 7);
    // Decay 0.1 of the weight 10 joins the gradient.
    weight = 10;
    ps::Sgd{}.step({&weight, 1}, {&gradient, 1}, {}, 1, 1, 0.1);
    CHECK(weight == 7);
    // Adam's first step is the learning rate, whatever the gradient; AdamW first shrinks the weight to 10 * (1 - 0.01).
    for (const float slope : {1e-3F, 100.0F, -5.0F}) {
        weight = 10, state[0] = state[1] = 0;
        ps::Adam{}.step({&weight, 1}, {&slope, 1}, state, 0.1, 1, 0);
        CHECK(weight == doctest::Approx(slope > 0 ? 9.9 : 10.1));
        weight = 10, state[0] = state[1] = 0;
        ps::AdamW{}.step({&weight, 1}, {&slope, 1}, state, 0.1, 1, 0.1);
        CHECK(weight == doctest::Approx(slope > 0 ? 9.8 : 10.0));
    }
    // Without a gradient nothing moves.
    weight = 10, state[0] = state[1] = 0;
    const float none = 0;
    ps::Adam{}.step({&weight, 1}, {&none, 1}, state, 0.1, 1, 0);
    CHECK(weight == 10);
}
