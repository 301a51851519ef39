// Laws of what ops take: weights that made the times are found again, and text keeps them.
#include <primsel/cost/op_regression.hpp>

#include "laws.hpp"

#include <primsel/cost/extern_kernels.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ps = primsel;

namespace {

const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();

using Sample = ps::OpRegression::Sample;

std::vector<Sample> made_by(ps::OpRegression::Terms const& weights, std::size_t count, std::string const& op) {
    std::mt19937 generator(3);
    const auto draw = [&] { return static_cast<double>(1 + generator() % 1000) * 1e-7; };
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < count; ++i) {
        Sample sample{op, "chw", {1, draw(), draw(), draw(), 1e7 * draw()}, 0};
        for (std::size_t j = 0; j < weights.size(); ++j) sample.seconds += weights[j] * sample.terms[j];
        samples.push_back(sample);
    }
    return samples;
}

std::vector<std::string_view> views(std::vector<std::string> const& texts) { return {texts.begin(), texts.end()}; }

double predict(ps::OpRegression const& model, ps::AnyLayer const& layer, ps::Shape shape, int batch,
               std::size_t layout) {
    const std::array inputs{shape};
    const ps::Shape output = std::visit([&](auto const& params) { return params.output(inputs); }, layer);
    const ps::OpQuery query{&layer, inputs, output, batch, layout};
    double seconds = -1;
    model.predict(ps::Analytical(), kernels, std::span(&query, 1), std::span(&seconds, 1));
    return seconds;
}

}  // namespace

TEST_CASE("weights that made the times are found again") {
    for (ps::OpRegression::Terms const& weights :
         {ps::OpRegression::Terms{1e-6, 1, 0.5, 2, 3e-9}, ps::OpRegression::Terms{0, 0.2, 0, 0, 1e-8}}) {
        const std::vector<std::string> lines = ps::OpRegression::fit(made_by(weights, 60, "relu")).lines();
        REQUIRE(lines.size() == 1);
        CAPTURE(lines[0]);
        CHECK(lines[0].starts_with("relu chw "));
        std::vector<double> found;
        for (std::size_t at = 9; at < lines[0].size(); at = lines[0].find(' ', at) + 1) {
            found.push_back(std::stod(lines[0].substr(at)));
            if (lines[0].find(' ', at) == std::string::npos) break;
        }
        REQUIRE(found.size() == weights.size());
        for (std::size_t i = 0; i < weights.size(); ++i) {
            CHECK(found[i] == doctest::Approx(weights[i]).epsilon(0.01).scale(i == 0 || i == 4 ? 1e-6 : 1));
        }
    }
}

TEST_CASE("few samples teach nothing, and what was not taught is as Analytical says") {
    CHECK(ps::OpRegression::fit(made_by({0, 1, 0, 0, 0}, 7, "relu")).lines().empty());
    const std::array<std::string_view, 1> twice{"relu chw 0 2 0 0 0"};
    const auto model = ps::OpRegression::parse("text", twice);
    const ps::AnyLayer relu = ps::ActivationParams{}, pool = ps::GlobalPoolParams{};
    const ps::Shape shape{.c = 64, .h = 56, .w = 56};
    const ps::OpRegression none;
    std::size_t layouts = 0;
    for (std::size_t layout = 0; layout < kernels.layouts.size(); ++layout) {
        CHECK(predict(model, pool, shape, 1, layout) == predict(none, pool, shape, 1, layout));
        if (kernels.layouts[layout].name != "chw") {
            CHECK(predict(model, relu, shape, 1, layout) == predict(none, relu, shape, 1, layout));
            continue;
        }
        ++layouts;
        const std::array inputs{shape};
        const ps::OpQuery query{&relu, inputs, shape, 1, layout};
        const double memory = ps::Analytical().terms(kernels, query).memory;
        CHECK(predict(model, relu, shape, 1, layout) == doctest::Approx(2 * memory));
        CHECK(predict(model, relu, shape, 3, layout) == doctest::Approx(6 * memory));
    }
    CHECK(layouts == 1);
}

TEST_CASE("text keeps the weights, and anything else is refused") {
    auto samples = made_by({1e-6, 1, 0.5, 2, 3e-9}, 20, "relu");
    for (Sample const& more : made_by({1e-6, 2, 0, 0, 3e-9}, 20, "add")) samples.push_back(more);
    const std::vector<std::string> lines = ps::OpRegression::fit(samples).lines();
    REQUIRE(lines.size() == 2);
    CHECK(ps::OpRegression::parse("text", views(lines)).lines() == lines);
    for (const std::string_view wrong :
         {"", "relu", "relu chw 1 2 3 4", "relu chw 1 2 3 4 5 6", "relu chw 1 2 3 4 x", "relu chw 1 2 3 4 -5",
          "relu chw 1 2 3 4 inf", "relu chw 1 2 3 4 nan", "relu chw 1 2 3 4 5e", " chw 1 2 3 4 5", "relu  1 2 3 4 5"}) {
        CAPTURE(wrong);
        CHECK_THROWS_WITH_AS(static_cast<void>(ps::OpRegression::parse("text", std::array{wrong})),
                             doctest::Contains("text: "), ps::error);
    }
}
