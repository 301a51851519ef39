// Cost models of what was measured: learned from it, or looked up.
#include <primsel/cost/learned_cost.hpp>
#include <primsel/learn/recorded.hpp>

#include "laws.hpp"

#include <doctest/doctest.h>
#include <primsel/cost/analytical.hpp>
#include <primsel/kernels/extern_kernels.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace cost_learned_cost {

namespace ps = primsel;

namespace {

using laws::all_kernels;

std::size_t primitive(std::string_view id) { return all_kernels.find(id); }
std::size_t layout(std::string_view name) { return all_kernels.find_layout(name); }

/// Target i takes exp(first feature - i) seconds; nothing is known of the last. Counts the rows it was asked for.
struct ByFirst {
    std::size_t targets;
    std::size_t* asked;
    [[nodiscard]] ps::FloatTable predict(ps::FloatTable const& features) const {
        *asked += features.rows();
        ps::FloatTable result(features.rows(), targets);
        for (std::size_t row = 0; row < features.rows(); ++row) {
            for (std::size_t i = 0; i + 1 < targets; ++i) {
                result(row, i) = features(row, 0) - static_cast<float>(i);
            }
        }
        return result;
    }
};

/// A million seconds for everything.
struct Dear {
    static constexpr std::string_view name = "dear";
    void predict(ps::Kernels const&, auto, std::span<double> seconds) const {
        for (double& one : seconds) one = 1e6;
    }
};

using Model = ps::LearnedCost<ByFirst, Dear>;

}  // namespace

static_assert(ps::CostModel<Model>);
static_assert(ps::CostModel<ps::learn::Recorded>);

TEST_CASE("a learned model answers what it learned, each configuration once, and leaves the rest to another") {
    std::size_t convs = 0, layouts = 0;
    Model model({{"direct-sum2d", "im2col-scan-ab-ki", "kn2row"}, {3, &convs}},
                {{"chw-to-hwc", "hwc-to-chw", "chw-to-hcw"}, {3, &layouts}}, Dear{});
    const ps::ConvShape one = laws::conv(14, 16, 8, 3);
    ps::ConvShape grouped = one, oblong = one;
    grouped.groups = 2, oblong.fw = 1;
    const std::vector<ps::ConvQuery> queries{{one, primitive("direct-sum2d")},
                                             {one, primitive("im2col-scan-ab-ki")},
                                             {one, primitive("mec-col")},
                                             {one, primitive("kn2row")},
                                             {one, primitive("direct-sum2d"), {.batch = 4}},
                                             {grouped, primitive("direct-sum2d")},
                                             {oblong, primitive("direct-sum2d")},
                                             {one, primitive("direct-sum2d")}};
    std::vector<double> seconds(queries.size());
    model.predict(all_kernels, std::span<const ps::ConvQuery>(queries), std::span(seconds));
    const std::vector<double> wanted{16, 16 / std::exp(1.0), 1e6, 1e6, 64, 1e6, 1e6, 16};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        CAPTURE(i);
        CHECK(seconds[i] == doctest::Approx(wanted[i]));
    }
    CHECK(convs == 1);  // however many images

    const std::vector<ps::TransformQuery> moves{{{12, 7, 7}, layout("chw"), layout("hwc")},
                                                {{12, 7, 7}, layout("hwc"), layout("chw"), {.batch = 2}},
                                                {{12, 7, 7}, layout("chw"), layout("hcw")},
                                                {{12, 7, 7}, layout("hcw"), layout("chw")}};
    seconds.assign(moves.size(), 0);
    model.predict(all_kernels, std::span<const ps::TransformQuery>(moves), std::span(seconds));
    CHECK(seconds[0] == doctest::Approx(12));
    CHECK(seconds[1] == doctest::Approx(24 / std::exp(1.0)));
    CHECK(seconds[2] == 1e6);
    CHECK(seconds[3] == 1e6);
}

TEST_CASE("what is learned relative to another model multiplies what that predicts") {
    std::size_t asked = 0;
    Model model({{"direct-sum2d", "im2col-scan-ab-ki"}, {2, &asked}, true},
                {{"chw-to-hwc", "hwc-to-chw"}, {2, &asked}, true}, Dear{});
    const ps::ConvShape one = laws::conv(14, 16, 8, 3);
    const std::vector<ps::ConvQuery> queries{{one, primitive("direct-sum2d")},
                                             {one, primitive("direct-sum2d"), {.batch = 4}},
                                             {one, primitive("im2col-scan-ab-ki")},
                                             {one, primitive("mec-col")}};
    const std::vector<double> seconds = laws::predict(model, all_kernels, queries);
    const std::vector<double> wanted{16e6, 16e6, 1e6, 1e6};  // Dear knows of batches what they take
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(seconds[i] == doctest::Approx(wanted[i]));
    const std::vector<ps::TransformQuery> moves{{{12, 7, 7}, layout("chw"), layout("hwc"), {.batch = 2}},
                                                {{12, 7, 7}, layout("chw"), layout("hcw")}};
    CHECK(laws::predict(model, all_kernels, moves)[0] == doctest::Approx(12e6));
    CHECK(laws::predict(model, all_kernels, moves)[1] == 1e6);
}

TEST_CASE("what a regression makes infinite is left to another model") {
    struct Infinite {
        [[nodiscard]] static ps::FloatTable predict(ps::FloatTable const& features) {
            return {features.rows(), 1, 1e6F};
        }
    };
    ps::LearnedCost model(ps::Trained<Infinite>{{"direct-sum2d"}, {}}, ps::Trained<Infinite>{{}, {}}, Dear{});
    const std::vector<ps::ConvQuery> queries{{laws::conv(14, 16, 8, 3), primitive("direct-sum2d")}};
    CHECK(laws::predict(model, all_kernels, queries) == std::vector<double>{1e6});
}

TEST_CASE("a learned model obeys the laws of cost models") {
    std::size_t asked = 0;
    ps::LearnedCost<ByFirst, ps::Analytical> model({{"direct-sum2d", "kn2row"}, {2, &asked}},
                                                   {{"chw-to-hwc", "hwc-to-chw"}, {2, &asked}}, ps::Analytical());
    const auto convs = laws::convs(all_kernels, {laws::conv(14, 16, 8, 3), laws::conv(28, 4, 6, 1, 2)}, 3);
    const auto moves = laws::transforms(all_kernels, {12, 7, 7}, 2);
    laws::check_answers(laws::predict(model, all_kernels, convs));
    laws::check_answers(laws::predict(model, all_kernels, moves));
    laws::check_independent(model, all_kernels, convs);
    laws::check_independent(model, all_kernels, moves);
}

TEST_CASE("records are looked up; what was not measured is beyond reach") {
    ps::learn::Dataset primitives;
    primitives.inputs = {"c", "k", "im", "f", "s"};
    primitives.subjects = {"direct-sum2d", "kn2row"};
    const std::vector<int> at{16, 8, 14, 3, 1};
    primitives.add(at, std::vector<double>{3e-5, 0});
    ps::learn::Dataset layouts;
    layouts.inputs = {"c", "im"};
    layouts.subjects = {"chw-to-hwc"};
    layouts.add(std::vector<int>{10, 10}, std::vector<double>{2e-6});
    layouts.add(std::vector<int>{100, 100}, std::vector<double>{9e-3});
    const ps::learn::Recorded recorded(primitives, layouts);
    CHECK_THROWS_WITH_AS(ps::learn::Recorded(layouts, layouts),
                         "recorded: the configurations of the primitives are not c, k, im, f, s", ps::error);
    CHECK_THROWS_WITH_AS(ps::learn::Recorded(primitives, primitives),
                         "recorded: the configurations of the changes of layout are not c, im", ps::error);

    const ps::ConvShape shape = laws::conv(14, 16, 8, 3);
    ps::ConvShape other = shape, grouped = shape, dilated = shape;
    other.k = 9, grouped.groups = 2, dilated.dilation_h = 2;
    const std::vector<ps::ConvQuery> queries{
        {shape, primitive("direct-sum2d")},  {shape, primitive("direct-sum2d"), {.batch = 2}},
        {shape, primitive("kn2row")},        {shape, primitive("mec-col")},
        {other, primitive("direct-sum2d")},  {grouped, primitive("direct-sum2d")},
        {dilated, primitive("direct-sum2d")}};
    std::vector<double> seconds(queries.size());
    recorded.predict(all_kernels, std::span<const ps::ConvQuery>(queries), std::span(seconds));
    CHECK(seconds[0] == doctest::Approx(3e-5));
    CHECK(seconds[1] == doctest::Approx(6e-5));
    for (std::size_t i = 2; i < seconds.size(); ++i) CHECK(seconds[i] == ps::learn::Recorded::beyond);

    const std::vector<ps::TransformQuery> moves{{{10, 10, 10}, layout("chw"), layout("hwc")},
                                                {{20, 10, 10}, layout("chw"), layout("hwc")},
                                                {{90, 110, 100}, layout("chw"), layout("hwc")},
                                                {{10, 10, 10}, layout("hwc"), layout("chw")}};
    seconds.assign(moves.size(), 0);
    recorded.predict(all_kernels, std::span<const ps::TransformQuery>(moves), std::span(seconds));
    CHECK(seconds[0] == doctest::Approx(2e-6));
    CHECK(seconds[1] == doctest::Approx(4e-6));
    CHECK(seconds[2] == doctest::Approx(9e-3 * 90 * 110 / 1e4));
    CHECK(seconds[3] == ps::learn::Recorded::beyond);
}

}  // namespace cost_learned_cost
