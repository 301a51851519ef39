// Models that come with the library.
#include <primsel/cost/pretrained.hpp>
#include <primsel/cost/standardizer.hpp>

#include "laws.hpp"

#include <doctest/doctest.h>
#include <primsel/kernels/extern_kernels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace cost_pretrained {

namespace ps = primsel;

namespace {

using laws::all_kernels;

/// Says that one target is exp(1) times what Analytical says.
std::string off_by_one(std::size_t features) {
    const std::vector<float> none(features, 0.0F), one{1.0F};
    return ps::CompactMlp(ps::Standardizer(none, none), ps::Standardizer({0.0F}, one), {{features, none, one}}).text();
}
struct OffByOne {
    static inline const std::string_view arch = all_kernels.arch;
    static constexpr std::string_view primitives[] = {"direct-sum2d"};
    static constexpr std::string_view layouts[] = {"chw-to-hwc"};
    static std::string_view of_primitives() {
        static const std::string text = off_by_one(ps::ConvFeatures::count);
        return text;
    }
    static std::string_view of_layouts() {
        static const std::string text = off_by_one(ps::LayoutFeatures::count);
        return text;
    }
    // In two pieces, and in one.
    static inline const std::string_view primitives_model[2] = {of_primitives().substr(0, 9),
                                                                of_primitives().substr(9)};
    static inline const std::string_view layouts_model[1] = {of_layouts()};
};
struct SlowRelu {
    static inline const std::string_view arch = all_kernels.arch;
    static constexpr ps::OpCoefficients ops[] = {{"relu", "chw", {0, 1e6, 0, 0, 0}}};
};
struct OffByOneElsewhere : OffByOne {
    static constexpr std::string_view arch = "elsewhere";
};

std::vector<ps::ConvQuery> convs() {
    return laws::convs(all_kernels, {laws::conv(14, 16, 8, 3), laws::conv(28, 4, 6, 1, 2)}, 3);
}

}  // namespace

static_assert(ps::CostModel<ps::PretrainedCosts>);
static_assert(ps::CostModel<ps::Pretrained<OffByOne>>);
static_assert(ps::CostModel<ps::Pretrained<OffByOne, SlowRelu>>);
static_assert(!ps::PretrainedModel<SlowRelu>);

TEST_CASE("what comes with the library obeys the laws of cost models") {
    ps::PretrainedCosts model;
    const auto moves = laws::transforms(all_kernels, {12, 7, 7}, 2);
    laws::check_answers(laws::predict(model, all_kernels, convs()));
    laws::check_answers(laws::predict(model, all_kernels, moves));
    laws::check_independent(model, all_kernels, convs());
    laws::check_independent(model, all_kernels, moves);
}

TEST_CASE("a model of this Arch corrects what it learned, one of another nothing") {
    ps::Analytical analytical;
    ps::Pretrained<OffByOne> here;
    ps::Pretrained<OffByOneElsewhere> elsewhere;
    ps::Pretrained<OffByOneElsewhere, SlowRelu> ops_here;
    const auto queries = convs();
    const auto wanted = laws::predict(analytical, all_kernels, queries);
    CHECK(laws::predict(elsewhere, all_kernels, queries) == wanted);
    CHECK(laws::predict(ops_here, all_kernels, queries) == wanted);
    const auto found = laws::predict(here, all_kernels, queries);
    std::size_t corrected = 0;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const bool learned = all_kernels.primitives[queries[i].primitive].id == "direct-sum2d";
        corrected += learned ? 1U : 0U;
        CHECK(found[i] == doctest::Approx(wanted[i] * (learned ? std::exp(1.0) : 1)));
    }
    CHECK(corrected == 2);
    // Layers that are no convolutions go by a model of their own.
    const ps::AnyLayer relu = ps::ActivationParams{};
    const std::array<ps::Shape, 1> shape{{{.c = 8, .h = 9, .w = 9}}};
    for (std::size_t layout = 0; layout < all_kernels.layouts.size(); ++layout) {
        const std::vector<ps::OpQuery> ops{{&relu, shape, shape[0], 1, layout}};
        const double as_before = laws::predict(analytical, all_kernels, ops)[0];
        CHECK(laws::predict(elsewhere, all_kernels, ops)[0] == as_before);
        CHECK(laws::predict(here, all_kernels, ops)[0] == as_before);
        CHECK((laws::predict(ops_here, all_kernels, ops)[0] > 1000 * as_before) ==
              (all_kernels.layouts[layout].name == "chw"));
    }
}

std::string joined(std::span<const std::string_view> pieces) {
    std::string text;
    for (const std::string_view piece : pieces) text += piece;
    return text;
}

/// Of every model that is shipped, whichever of them this program would use.
template <ps::PretrainedModel M>
void check_shipped(std::string_view arch) {
    CAPTURE(arch);
    CHECK(M::arch == arch);
    // As the header of a file of at most 400 KB.
    const std::string primitives = joined(M::primitives_model), layouts = joined(M::layouts_model);
    CHECK(primitives.size() + layouts.size() < 390'000);
    for (const std::string_view id : M::primitives) {
        CAPTURE(id);
        CHECK(std::ranges::count(all_kernels.primitives, id, &ps::PrimitiveEntry::id) == 1);
    }
    const auto predict = [](std::string_view text, auto const& features, std::size_t subjects) {
        ps::Table row(1, features.size());
        std::ranges::copy(features, row.values.begin());
        const ps::Table predicted = ps::CompactMlp::parse("model", text).predict(row);
        REQUIRE(predicted.columns == subjects);
        // Analytical is rarely off by a factor of a hundred.
        for (const float value : predicted.values) CHECK(std::abs(value) < 5);
    };
    predict(primitives, ps::ConvFeatures::of(laws::conv(28, 64, 64, 3)), std::size(M::primitives));
    predict(layouts, ps::LayoutFeatures::of(64, 28), std::size(M::layouts));
}

TEST_CASE("the models that are shipped can be read and name what there is") {
    check_shipped<ps::pretrained::avx512>("avx512bw");
    check_shipped<ps::pretrained::avx2>("fma3+avx2");
    check_shipped<ps::pretrained::sse4_2>("sse4.2");
}

}  // namespace cost_pretrained
