#include <primsel/train/learning_rate.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace ps = primsel;

namespace rates {

constexpr std::int64_t total = 100, per_epoch = 10;

template <class Rate>
double at(Rate const& rate, std::int64_t step) {
    return rate(0.5, step, total, per_epoch);
}

}  // namespace rates

TEST_CASE("learning rates worked by hand") {
    using rates::at;
    CHECK(at(ps::Constant{}, 77) == 0.5);
    CHECK(at(ps::StepDecay{3, 0.5}, 29) == 0.5);
    CHECK(at(ps::StepDecay{3, 0.5}, 30) == 0.25);
    CHECK(at(ps::StepDecay{3, 0.5}, 60) == 0.125);
    CHECK(at(ps::MultiStep{{2, 5}, 0.5}, 19) == 0.5);
    CHECK(at(ps::MultiStep{{2, 5}, 0.5}, 20) == 0.25);
    CHECK(at(ps::MultiStep{{5, 2}, 0.5}, 50) == 0.125);
    CHECK(at(ps::Exponential{0.5}, 9) == 0.5);
    CHECK(at(ps::Exponential{0.5}, 35) == 0.0625);
    CHECK(at(ps::Cosine{0.1}, 0) == doctest::Approx(0.5));
    CHECK(at(ps::Cosine{0.1}, 50) == doctest::Approx(0.3));
    CHECK(at(ps::Cosine{0.1}, 100) == doctest::Approx(0.1));
    CHECK(at(ps::Cosine{0.1}, 130) == doctest::Approx(0.1));
    CHECK(at(ps::Cosine{}, 25) == doctest::Approx(0.25 * (1 + 0.70710678)));
}

TEST_CASE("a warm-up grows to what the schedule says") {
    const ps::Warmup<> steps{.steps = 4};
    for (std::int64_t step = 0; step < 4; ++step) {
        CHECK(rates::at(steps, step) == doctest::Approx(0.125 * (static_cast<double>(step) + 1)));
    }
    CHECK(rates::at(steps, 50) == 0.5);
    const ps::Warmup<ps::MultiStep> epochs{.schedule = {{2}, 0.5}, .epochs = 1.5};
    CHECK(rates::at(epochs, 0) == doctest::Approx(0.5 / 15));
    CHECK(rates::at(epochs, 13) == doctest::Approx(0.5 * 14 / 15));
    CHECK(rates::at(epochs, 14) == 0.5);
    CHECK(rates::at(epochs, 20) == 0.25);
    CHECK(rates::at(ps::Warmup<>{}, 0) == 0.5);
}
