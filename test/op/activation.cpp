#include "laws.hpp"

#include <primsel/op/activation.hpp>

#include <bit>
#include <cstdint>

namespace op_activation {

namespace {

namespace ps = primsel;
using ps::ActivationKind;
using ps::ActivationParams;

using laws::infinity;
const std::vector<ActivationParams> all = {{ActivationKind::relu},
                                           {ActivationKind::relu6},
                                           {ActivationKind::leaky_relu, 0.01F},
                                           {ActivationKind::leaky_relu, 1.5F},
                                           {ActivationKind::sigmoid},
                                           {ActivationKind::hard_swish},
                                           {ActivationKind::elu, 1.0F},
                                           {ActivationKind::elu, 0.3F},
                                           {ActivationKind::hard_sigmoid, 0.2F, 0.5F},
                                           {ActivationKind::tanh},
                                           {ActivationKind::clip, -0.5F, 3.0F},
                                           {ActivationKind::silu},
                                           {ActivationKind::mish},
                                           {ActivationKind::gelu},
                                           {ActivationKind::gelu_tanh},
                                           {ActivationKind::softsign},
                                           {ActivationKind::log_sigmoid},
                                           {ActivationKind::swish, 1.702F},
                                           {ActivationKind::selu, 1.67F, 1.05F},
                                           {ActivationKind::celu, 0.3F},
                                           {ActivationKind::thresholded_relu, 0.7F},
                                           {ActivationKind::shrink, 0.3F, 0.5F},
                                           {ActivationKind::shrink, 0.3F, -0.5F},
                                           {ActivationKind::sqrt}};

TEST_CASE("activations agree with the reference in every layout") {
    for (ActivationParams const& params : all) {
        if (params.kind == ActivationKind::sqrt) continue;
        for (ps::Shape const& shape : laws::odd_shapes()) laws::check(params, shape, 1e-6, {}, 1, 9.0F);
    }
}

TEST_CASE("sqrt agrees with the reference; of negative numbers it is NaN") {
    laws::Random random(5);
    for (ps::Shape const& shape : laws::odd_shapes()) {
        laws::Image image = random.image(shape);
        for (double& x : image.data) x = std::abs(x);
        laws::check(ActivationParams{ActivationKind::sqrt}, {{image}}, {}, 1e-6);
    }
    CHECK(std::isnan(laws::run_one<ps::chw>(ActivationParams{ActivationKind::sqrt}, {1, 1, 1}, {-1.0F})[0]));
}

// Near zero both are nearly linear, and 1e-6 of one would say nothing of them.
TEST_CASE("tanh and elu keep their digits near zero") {
    std::vector<float> x;
    for (float magnitude = 1e-30F; magnitude < 90.0F; magnitude *= 1.37F) {
        x.push_back(magnitude);
        x.push_back(-magnitude);
    }
    const ps::Shape shape{1, 1, static_cast<int>(x.size())};
    const std::vector<float> tanh = laws::run_one<ps::chw>(ActivationParams{ActivationKind::tanh}, shape, x);
    const std::vector<float> elu = laws::run_one<ps::chw>(ActivationParams{ActivationKind::elu, 1.0F}, shape, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
        CAPTURE(x[i]);
        const double want_elu = x[i] < 0 ? std::expm1(static_cast<double>(x[i])) : static_cast<double>(x[i]);
        const double want_tanh = std::tanh(static_cast<double>(x[i]));
        CHECK(std::abs(elu[i] - want_elu) <= 5e-7 * std::abs(want_elu));
        CHECK(std::abs(tanh[i] - want_tanh) <= 5e-7 * std::abs(want_tanh));
    }
}

// Expected: from PyTorch 1.13.
TEST_CASE("activations give PyTorch's numbers") {
    const auto values = [](ActivationParams params, std::vector<float> const& x) {
        return laws::run_one<ps::chw>(params, {1, 1, static_cast<int>(x.size())}, x);
    };
    const std::vector<float> x{-4, -3, -1.5F, 0, 1, 3, 5}, swish = values({ActivationKind::hard_swish}, x);
    const std::vector<float> expected_swish{0, 0, -0.375F, 0, 0.6666667F, 3, 5};
    const std::vector<float> y{-20, -3, -1.5F, 0, 1, 3, 20}, sigmoid = values({ActivationKind::sigmoid}, y);
    const std::vector<float> expected_sigmoid{2.0611537e-09F, 0.047425874F, 0.18242553F, 0.5F,
                                              0.7310586F,     0.95257413F,  1.0F};
    for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(swish[i] == doctest::Approx(expected_swish[i]).epsilon(1e-6));
        CHECK(std::abs(sigmoid[i] - expected_sigmoid[i]) <= 1e-6F * expected_sigmoid[i]);
    }
}

TEST_CASE("activations of NaN are NaN; those of infinities are their limits") {
    for (ActivationParams const& params : all) {
        CAPTURE(params.name());
        for (const int n : {1, 3, 16, 33}) {
            const std::vector<float> x(static_cast<std::size_t>(n), std::nanf(""));
            for (const float y : laws::run_one<ps::chw>(params, {1, 1, n}, x)) CHECK(std::isnan(y));
        }
    }
    const auto at = [](ActivationParams params, float x) { return laws::run_one<ps::chw>(params, {1, 1, 1}, {x})[0]; };
    CHECK(at({ActivationKind::relu}, infinity) == infinity);
    CHECK(at({ActivationKind::relu}, -infinity) == 0.0F);
    CHECK(at({ActivationKind::relu6}, infinity) == 6.0F);
    CHECK(at({ActivationKind::leaky_relu, 0.5F}, -infinity) == -infinity);
    CHECK(at({ActivationKind::sigmoid}, infinity) == 1.0F);
    CHECK(at({ActivationKind::sigmoid}, -infinity) == 0.0F);
    CHECK(at({ActivationKind::hard_swish}, infinity) == infinity);
    CHECK(at({ActivationKind::elu, 0.5F}, infinity) == infinity);
    CHECK(at({ActivationKind::elu, 0.5F}, -infinity) == -0.5F);
    CHECK(at({ActivationKind::tanh}, infinity) == 1.0F);
    CHECK(at({ActivationKind::tanh}, -infinity) == -1.0F);
    CHECK(at({ActivationKind::hard_sigmoid, 0.2F, 0.5F}, infinity) == 1.0F);
    CHECK(at({ActivationKind::hard_sigmoid, 0.2F, 0.5F}, -infinity) == 0.0F);
    CHECK(at({ActivationKind::clip, -1.0F, 2.0F}, infinity) == 2.0F);
    CHECK(at({ActivationKind::clip, -1.0F, 2.0F}, -infinity) == -1.0F);
    CHECK(at({ActivationKind::sqrt}, infinity) == infinity);
    CHECK(at({ActivationKind::log_sigmoid}, infinity) == 0.0F);
    CHECK(at({ActivationKind::log_sigmoid}, -infinity) == -infinity);
    CHECK(at({ActivationKind::selu, 2.0F, 0.5F}, infinity) == infinity);
    CHECK(at({ActivationKind::selu, 2.0F, 0.5F}, -infinity) == -1.0F);
    CHECK(at({ActivationKind::celu, 0.5F}, -infinity) == -0.5F);
    CHECK(at({ActivationKind::thresholded_relu, 2.0F}, infinity) == infinity);
    CHECK(at({ActivationKind::thresholded_relu, 2.0F}, 2.0F) == 0.0F);
    CHECK(at({ActivationKind::shrink, 0.5F, 1.0F}, -infinity) == -infinity);
    CHECK(at({ActivationKind::shrink, 0.5F, 1.0F}, 1.0F) == 0.0F);
    CHECK(at({ActivationKind::shrink, 0.5F, 1.0F}, -1.0F) == 0.0F);
    for (const ActivationKind kind :
         {ActivationKind::silu, ActivationKind::mish, ActivationKind::gelu, ActivationKind::gelu_tanh}) {
        for (const float x : {20.0F, 100.0F, 1e6F, infinity}) CHECK(at({kind}, x) == x);
        for (const float x : {-100.0F, -1e6F}) CHECK(std::abs(at({kind}, x)) < 1e-30F);
    }
}

TEST_CASE("an element's value does not depend on where in the image it lies") {
    for (ActivationParams const& params : all) {
        const std::vector<float> y = laws::run_one<ps::chw>(params, {1, 1, 37}, std::vector<float>(37, 0.7F));
        for (const float value : y) CHECK(value == y[0]);
    }
}

TEST_CASE("functions agree with the reference in every layout, wherever in a row an element lies") {
    using enum ActivationKind;
    struct Range {
        std::vector<ActivationParams> functions;
        float low, high;
    };
    const Range ranges[] = {
        {{{exp},
          {abs},
          {sign},
          {floor},
          {ceil},
          {round},
          {truncate},
          {erf},
          {softplus},
          {sin},
          {cos},
          {atan},
          {sinh},
          {cosh},
          {asinh},
          {power, 2.0F},
          {power, 3.0F},
          {power, -1.0F},
          {power, -2.0F}},
         -3.0F,
         3.0F},
        {{{exp}, {softplus}}, -80.0F, 80.0F},
        {{{log}, {power, 0.3F}, {power, -1.5F}}, 0.01F, 20.0F},
        {{{asin}, {acos}, {atanh}, {tan}}, -0.99F, 0.99F},
        {{{acosh}}, 1.0F, 30.0F},
    };
    laws::Random random(5);
    for (Range const& range : ranges) {
        for (ps::Shape const& shape : {ps::Shape{3, 7, 5}, ps::Shape{17, 5, 8}, ps::Shape{24, 29, 31}}) {
            laws::Image image = random.image(shape, 1.0F);
            for (double& x : image.data) {
                x = static_cast<float>(range.low + (range.high - range.low) * static_cast<float>(x + 1) / 2);
            }
            for (ActivationParams const& params : range.functions) {
                // The relative error of values that are small beside 1 is checked below.
                laws::check(params, {{image}}, {}, 1e-6);
            }
        }
    }
}

TEST_CASE("functions are exact to a few units in the last place") {
    using enum ActivationKind;
    const auto error = [](ActivationParams const& params, float x, double want) {
        const double got = laws::run_one<ps::chw>(params, {1, 1, 1}, {x})[0];
        return std::abs(got - want) / std::abs(want);
    };
    for (float x = 1.0F / 64; x < 4.0F; x += 1.0F / 64) {
        CAPTURE(x);
        for (const float at : {x, -x}) {
            const auto exact = static_cast<double>(at);
            CHECK(error({exp}, 20 * at, std::exp(20 * exact)) < 1e-6);
            CHECK(error({erf}, at, std::erf(exact)) < 1e-6);
            CHECK(error({softplus}, 20 * at, std::log1p(std::exp(20 * exact))) < 1e-6);
            CHECK(error({silu}, 20 * at, 20 * exact / (1 + std::exp(-20 * exact))) < 1e-6);
            CHECK(error({mish}, 20 * at, 20 * exact * std::tanh(std::log1p(std::exp(20 * exact)))) < 1e-6);
        }
        const auto exact = static_cast<double>(x);
        if (x != 1.0F) CHECK(error({log}, x, std::log(exact)) < 1e-6);
        CHECK(error({power, 2.5F}, x, std::pow(exact, 2.5)) < 1e-6);
    }
}

// Over all floats: infinity only where the nearest float is, 0 only where the result is no normal number (a run flushes
// what is smaller), and NaN where the function has no value.
TEST_CASE("functions with exponentials in them are right over the whole range of floats") {
    using enum ActivationKind;
    struct Function {
        ActivationParams params;
        double (*exact)(double);
    };
    const Function functions[] = {
        {{exp}, [](double x) { return std::exp(x); }},
        {{sigmoid}, [](double x) { return 1 / (1 + std::exp(-x)); }},
        {{tanh}, [](double x) { return std::tanh(x); }},
        {{erf}, [](double x) { return std::erf(x); }},
        {{sin}, [](double x) { return std::sin(x); }},
        {{cos}, [](double x) { return std::cos(x); }},
        {{softplus}, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }},
        {{elu, 1.0F}, [](double x) { return x < 0 ? std::expm1(x) : x; }},
        {{celu, 0.5F}, [](double x) { return x < 0 ? 0.5 * std::expm1(2 * x) : x; }},
        {{softsign}, [](double x) { return x / (1 + std::abs(x)); }},
        {{log_sigmoid}, [](double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }},
        {{log}, [](double x) { return std::log(x); }},
    };
    std::vector<float> all;
    for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 50021) {
        all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    for (int i = -10500; i <= 10500; ++i) all.push_back(static_cast<float>(i) * 0.01F);
    for (const float x : {-infinity, infinity, std::nanf(""), 0.0F, -0.0F}) all.push_back(x);
    for (Function const& function : functions) {
        CAPTURE(function.params.name());
        const std::vector<float> got =
            laws::run_one<ps::chw>(function.params, {1, 1, static_cast<int>(all.size())}, all);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double want = function.exact(all[i]);
            const auto nearest = static_cast<float>(want);
            if (got[i] == 0 && std::abs(want) < 0x1p-126) continue;
            const bool equal =
                std::isfinite(nearest)
                    ? std::isfinite(got[i]) && std::abs(got[i] - want) <= 5e-7 * std::abs(want) + 0x1p-149
                    : got[i] == nearest || (std::isnan(got[i]) && std::isnan(nearest));
            if (!equal) FAIL_CHECK(all[i], ": ", got[i], " instead of ", want);
        }
    }
}

TEST_CASE("functions of halves, infinities and NaN") {
    using enum ActivationKind;
    const auto at = [](ActivationParams const& params, float x) {
        return laws::run_one<ps::chw>(params, {1, 1, 1}, {x})[0];
    };
    CHECK(at({round}, 0.5F) == 0.0F);
    CHECK(at({round}, 1.5F) == 2.0F);
    CHECK(at({round}, -2.5F) == -2.0F);
    CHECK(at({truncate}, -1.9F) == -1.0F);
    CHECK(at({truncate}, 3e9F) == 3e9F);
    CHECK(at({floor}, -0.5F) == -1.0F);
    CHECK(at({sign}, 0.0F) == 0.0F);
    CHECK(at({exp}, -infinity) == 0.0F);
    CHECK(at({exp}, infinity) == infinity);
    CHECK(at({log}, 0.0F) == -infinity);
    CHECK(at({log}, infinity) == infinity);
    CHECK(std::isnan(at({log}, -1.0F)));
    CHECK(at({softplus}, infinity) == infinity);
    CHECK(at({softplus}, -infinity) == 0.0F);
    CHECK(at({erf}, infinity) == 1.0F);
    CHECK(at({power, 0.0F}, 0.0F) == 1.0F);
    for (const ActivationKind kind : {exp, log, abs, sign, floor, ceil, round, truncate, erf, softplus, sin, atanh}) {
        CAPTURE(ActivationParams{kind}.name());
        CHECK(std::isnan(at({kind}, std::nanf(""))));
    }
}

}  // namespace

}  // namespace op_activation
