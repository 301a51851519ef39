// Laws of semi-empirical costs: Analytical for changes of layout and for whatever has no coefficients, those of the
// kernels' own Arch for layers that are no convolutions.
#include <primsel/cost/semi_empirical.hpp>

#include "laws.hpp"

#include <doctest/doctest.h>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/op_regression.hpp>
#include <primsel/measure/drawn_layers.hpp>
#include <primsel/primitive/training.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/hwc_u8.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace cost_semi_empirical {

namespace ps = primsel;

namespace {

using laws::all_kernels;

/// The same kernels, as if they were compiled for another instruction set.
ps::Kernels compiled_for(std::string_view arch) {
    ps::Kernels other = all_kernels;
    other.arch = arch;
    return other;
}

struct Fitted {
    static inline const std::string_view arch = all_kernels.arch;
    static constexpr ps::OpCoefficients ops[] = {{"conv", "hwc", {1e-3, 0, 0, 0, 0}},
                                                 {"max_pool", "chw", {0, 0, 0, 0, 1e-6}, "columns"},
                                                 {"relu", "chw", {0, 2, 0, 0, 0}}};
};
struct FittedConvolutions {
    static constexpr ps::ConvCoefficients convolutions[] = {{"direct-hwc", {1, 0, 2, 0}},
                                                            {"im2row-copy-short-ab-ik", {0.5, 1, 0, 3}}};
};
struct FittedElsewhere : Fitted {
    static constexpr std::string_view arch = "elsewhere";
};
struct FittedBytesElsewhere {
    static constexpr std::string_view arch = "elsewhere";
    static constexpr ps::OpCoefficients ops[] = {{"max_pool", "hwc", {3e-3, 0, 0, 0, 0}},
                                                 {"max_pool", "hwc_u8", {2e-3, 0, 0, 0, 0}}};
};
struct FittedShortFloats {
    static inline const std::string_view arch = all_kernels.arch;
    static constexpr ps::OpCoefficients ops[] = {{"max_pool", "hwc_bf16", {2e-3, 0, 0, 0, 0}},
                                                 {"relu", "hwc_bf16", {3e-3, 0, 0, 0, 0}},
                                                 {"relu", "hwc_f16", {4e-3, 0, 0, 0, 0}},
                                                 {"transform", "hwc", {5e-3, 0, 0, 0, 0}, "hwc_bf16"},
                                                 {"transform", "hwc_bf16", {6e-3, 0, 0, 0, 0}, "hwc"}};
};
struct NoArch {
    [[maybe_unused]] static constexpr ps::OpCoefficients ops[] = {{"relu", "chw", {0, 2, 0, 0, 0}}};
};

/// The prediction of a model for a layer of one input.
template <class Model>
double predict(Model const& model, ps::Kernels const& of, ps::AnyLayer const& layer, ps::Shape shape, int batch,
               std::size_t layout) {
    const std::array inputs{shape};
    const ps::Shape output = std::visit([&](auto const& params) { return params.output(inputs); }, layer);
    const ps::OpQuery query{&layer, inputs, output, layout, {.batch = batch}};
    double seconds = -1;
    model.predict(of, std::span(&query, 1), std::span(&seconds, 1));
    return seconds;
}

}  // namespace

static_assert(ps::CostModel<ps::SemiEmpiricalCosts>);
static_assert(ps::CostModel<ps::SemiEmpirical<>>);
static_assert(ps::OpModel<Fitted>);
static_assert(!ps::ConvModel<Fitted>);
static_assert(ps::ConvModel<FittedConvolutions>);
static_assert(!ps::OpModel<FittedConvolutions>);
static_assert(ps::CostModel<ps::SemiEmpirical<FittedConvolutions, Fitted>>);
static_assert(!ps::OpModel<NoArch>);

TEST_CASE("semi-empirical costs obey the laws of cost models") {
    const std::vector<laws::Layer> layers = laws::layers({.c = 12, .h = 9, .w = 9});
    const auto check = [&](auto model) {
        const auto convs = laws::convs(all_kernels, {laws::conv(14, 16, 8, 3), laws::conv(28, 4, 6, 1, 2)}, 3);
        const auto moves = laws::transforms(all_kernels, {12, 7, 7}, 2);
        const auto ops = laws::ops(all_kernels, layers, 2);
        laws::check_answers(laws::predict(model, all_kernels, convs));
        laws::check_answers(laws::predict(model, all_kernels, moves));
        laws::check_answers(laws::predict(model, all_kernels, ops));
        laws::check_independent(model, all_kernels, convs);
        laws::check_independent(model, all_kernels, moves);
        laws::check_independent(model, all_kernels, ops);
    };
    check(ps::SemiEmpiricalCosts());
    check(ps::SemiEmpirical<>());
    check(ps::SemiEmpirical<Fitted>());
}

TEST_CASE(
    "what has no coefficients is as Analytical says, layers that are no convolutions as theirs, if of this Arch") {
    const std::vector<laws::Layer> layers = laws::layers({.c = 12, .h = 19, .w = 19});
    for (const ps::Machine& machine : fixed::machines()) {
        ps::Analytical analytical(machine);
        ps::SemiEmpirical<Fitted> here(machine);
        ps::SemiEmpirical<FittedElsewhere> elsewhere(machine);
        ps::SemiEmpirical<FittedElsewhere, Fitted> both(machine);
        ps::SemiEmpirical<> none(machine);
        const auto as_analytical = [&](auto& model, auto const& queries) {
            CHECK(laws::predict(model, all_kernels, queries) == laws::predict(analytical, all_kernels, queries));
        };
        const auto convs = laws::convs(all_kernels, {laws::conv(14, 16, 8, 3), laws::conv(28, 4, 6, 1, 2)}, 3);
        const auto moves = laws::transforms(all_kernels, {12, 7, 7}, 2);
        const auto ops = laws::ops(all_kernels, layers, 3);
        as_analytical(here, convs), as_analytical(here, moves);
        as_analytical(both, convs), as_analytical(both, moves);
        as_analytical(elsewhere, convs), as_analytical(elsewhere, moves), as_analytical(elsewhere, ops);
        as_analytical(none, convs), as_analytical(none, moves), as_analytical(none, ops);

        std::vector<double> fitted(ops.size());
        ps::predict_ops(Fitted::ops, analytical, all_kernels, ops, fitted);
        CHECK(fitted != laws::predict(analytical, all_kernels, ops));
        CHECK(laws::predict(here, all_kernels, ops) == fitted);
        CHECK(laws::predict(both, all_kernels, ops) == fitted);
        const ps::Kernels moved = compiled_for("elsewhere");
        CHECK(laws::predict(here, moved, ops) == laws::predict(analytical, all_kernels, ops));
        CHECK(laws::predict(elsewhere, moved, ops) == fitted);
    }
}

TEST_CASE("layers on bytes have the coefficients of the first model where their own Arch has none") {
    const ps::Kernels kernels =
        ps::make_kernels<ps::TypeList<>, ps::default_arch, ps::TypeList<ps::chw, ps::hwc, ps::hwc_u8>>();
    const ps::SemiEmpirical<FittedBytesElsewhere, Fitted> model;
    const ps::PoolParams pool{.kind = ps::PoolKind::max, .window = 3, .stride = 2};
    const auto seconds = [&](auto const& costs, std::string_view layout) {
        return predict(costs, kernels, pool, {64, 15, 15}, 1, kernels.find_layout(layout));
    };
    CHECK(seconds(model, "hwc_u8") == doctest::Approx(2e-3));
    CHECK(seconds(model, "hwc") == seconds(ps::Analytical(), "hwc"));
}

TEST_CASE("layers and transforms in float16 have the coefficients of bfloat16 where they have none") {
    using Layouts = ps::TypeList<ps::chw, ps::hwc, ps::hwc_f16>;
    const ps::Kernels kernels = ps::make_kernels<ps::TypeList<>, ps::default_arch, Layouts>();
    const ps::SemiEmpirical<FittedShortFloats> model;
    const ps::Shape shape{64, 15, 15};
    const std::size_t hwc = kernels.find_layout("hwc"), f16 = kernels.find_layout("hwc_f16");
    const ps::PoolParams pool{.kind = ps::PoolKind::max, .window = 3, .stride = 2};
    CHECK(predict(model, kernels, pool, shape, 1, f16) == doctest::Approx(2e-3));
    CHECK(predict(model, kernels, ps::ActivationParams{}, shape, 1, f16) == doctest::Approx(4e-3));
    const std::array queries{ps::TransformQuery{shape, hwc, f16}, ps::TransformQuery{shape, f16, hwc}};
    std::array<double, 2> seconds{};
    model.predict(kernels, std::span<const ps::TransformQuery>(queries), std::span<double>(seconds));
    CHECK(seconds[0] == doctest::Approx(5e-3));
    CHECK(seconds[1] == doctest::Approx(6e-3));
}

TEST_CASE("coefficients weigh what Analytical knows of a convolution, for as many images as are taken at once") {
    const ps::Analytical analytical;
    ps::SemiEmpirical<Fitted, FittedConvolutions> model;
    const auto queries = laws::convs(all_kernels, {laws::conv(14, 16, 8, 3), laws::conv(14, 128, 256, 3)}, 3);
    const std::vector<double> seconds = laws::predict(model, all_kernels, queries),
                              without = laws::predict(analytical, all_kernels, queries);
    std::size_t fitted = 0;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const ps::ConvQuery query = queries[i];
        const std::string_view id = all_kernels.primitives[query.primitive].id;
        CAPTURE(id);
        const auto found = std::ranges::find(FittedConvolutions::convolutions, id, &ps::ConvCoefficients::primitive);
        if (found == std::end(FittedConvolutions::convolutions)) {
            CHECK(seconds[i] == without[i]);
            continue;
        }
        ++fitted;
        const ps::ConvTerms of = analytical.terms(all_kernels, query);
        CHECK(of.times * (of.calls / 1e-6) == doctest::Approx(query.run.batch));
        CHECK(seconds[i] == doctest::Approx(of.times * (found->values[0] * of.products + found->values[1] * of.rest +
                                                        found->values[2] * of.weights + found->values[3] * of.calls)));
    }
    CHECK(fitted == 4);
    ps::ConvShape grouped = laws::conv(14, 16, 16, 3);
    grouped.groups = 4;
    const auto of_groups = laws::convs(all_kernels, {grouped}, 1);
    CHECK(laws::predict(model, all_kernels, of_groups) == laws::predict(analytical, all_kernels, of_groups));
}

TEST_CASE("images that go through a layer together come from where all of them are") {
    // In steps, so that a level of memory shows: what an image's kilobytes are fed by, and what 32 of them.
    ps::Machine machine;
    machine.bandwidth = {1e12, 1e11, 1e10, 1e9, 1e8};
    for (double* speed : {&machine.fma_flops, &machine.half_flops, &machine.matmul_flops, &machine.vector_flops,
                          &machine.scalar_flops}) {
        *speed = 1e15;
    }
    ps::Analytical analytical(machine);
    ps::SemiEmpirical<> same(machine);
    const auto check = [&](auto queries, auto const& larger) {
        const std::vector<double> apart = laws::predict(analytical, all_kernels, queries);
        for (auto& query : queries) query.run.layer_by_layer = true;
        const std::vector<double> together = laws::predict(analytical, all_kernels, queries);
        CHECK(laws::predict(same, all_kernels, queries) == together);
        std::size_t slower = 0;
        for (std::size_t i = 0; i < queries.size(); ++i) {
            CHECK(together[i] >= apart[i] * (1 - 1e-12));
            slower += together[i] > apart[i] ? 1U : 0U;
        }
        CHECK(larger(slower, queries.size()));
        for (auto& query : queries) query.run.batch = 1;
        const std::vector<double> one = laws::predict(analytical, all_kernels, queries);
        for (auto& query : queries) query.run.layer_by_layer = false;
        CHECK(laws::predict(analytical, all_kernels, queries) == one);
    };
    const auto some = [](std::size_t slower, std::size_t) { return slower > 0; };
    const std::vector<laws::Layer> pool{{ps::PoolParams{.window = 2, .stride = 2}, {{8, 16, 16}}, {8, 8, 8}}};
    check(laws::ops(all_kernels, pool, 32), [](std::size_t slower, std::size_t all) { return slower == all; });
    check(laws::transforms(all_kernels, {8, 16, 16}, 32), some);
    check(laws::convs(all_kernels, {laws::conv(16, 8, 8, 3)}, 32), some);

    // And from farther where more bytes went by, by as much for every primitive; those of the batch itself change
    // nothing.
    const auto seconds = [&](auto queries, double apart) {
        for (auto& query : queries) query.run.layer_by_layer = true, query.run.data_reuse_bytes = apart;
        return laws::predict(analytical, all_kernels, queries);
    };
    const ps::ConvShape shape = laws::conv(16, 8, 8, 3);
    const double bytes = 4.0 * 32 * static_cast<double>(shape.in_shape().size() + shape.out_shape().size());
    const auto convs = laws::convs(all_kernels, {shape}, 32);
    const auto ops = laws::ops(all_kernels, pool, 32);
    CHECK(seconds(convs, bytes) == seconds(convs, 0));
    const std::vector<double> near = seconds(convs, 0), far = seconds(convs, 1e9), pool_near = seconds(ops, 0),
                              pool_far = seconds(ops, 1e9);
    const double longer = bytes / machine.bandwidth_for(1e9) - bytes / machine.bandwidth_for(bytes);
    for (std::size_t i = 0; i < near.size(); ++i) CHECK(far[i] - near[i] == doctest::Approx(longer));
    for (std::size_t i = 0; i < pool_near.size(); ++i) CHECK(pool_far[i] > pool_near[i]);
}

TEST_CASE("coefficients weigh what Analytical knows of an op, and ops without any are left to it") {
    const ps::Analytical analytical;
    const ps::SemiEmpirical<Fitted> model;
    const ps::AnyLayer relu = ps::ActivationParams{}, global = ps::GlobalPoolParams{},
                       pool = ps::PoolParams{.window = 2, .stride = 2};
    const ps::Shape shape{.c = 64, .h = 56, .w = 56};
    std::size_t layouts = 0;
    for (std::size_t layout = 0; layout < all_kernels.layouts.size(); ++layout) {
        CHECK(predict(model, all_kernels, global, shape, 1, layout) ==
              predict(analytical, all_kernels, global, shape, 1, layout));
        if (all_kernels.layouts[layout].name != "chw") {
            CHECK(predict(model, all_kernels, relu, shape, 1, layout) ==
                  predict(analytical, all_kernels, relu, shape, 1, layout));
            continue;
        }
        ++layouts;
        const std::array inputs{shape};
        const ps::OpQuery query{&relu, inputs, shape, layout};
        const double memory = analytical.terms(all_kernels, query).memory;
        CHECK(predict(model, all_kernels, relu, shape, 1, layout) == doctest::Approx(2 * memory));
        CHECK(predict(model, all_kernels, relu, shape, 3, layout) == doctest::Approx(6 * memory));
        // By the rows of the result.
        CHECK(predict(model, all_kernels, pool, shape, 2, layout) == doctest::Approx(2e-6 * 64 * 28));
    }
    CHECK(layouts == 1);
}

struct FittedDense {
    static inline const std::string_view arch = all_kernels.arch;
    static constexpr ps::OpCoefficients ops[] = {{"dense", "chw", {1e-6, 1, 2, 1}},
                                                 {"dense", "hwc", {1e-6, 1, 2, 1}},
                                                 {"dense_rows", "chw", {1e-6, 1, 1, 1, 1e-9}}};
};

TEST_CASE("a dense layer on a batch costs as much as the layer on as many rows, which is what runs") {
    const ps::SemiEmpirical<FittedDense> model;
    const ps::AnyLayer dense = ps::DenseParams{.k = 384}, rows = ps::DenseRowsParams{.k = 384};
    const ps::Shape shape{.c = 16, .h = 6, .w = 8};
    const std::size_t in_chw = all_kernels.find_layout(ps::chw::name);
    for (const int batch : {2, 49, 100}) {
        const double by_rows = predict(model, all_kernels, rows, {.c = 1, .h = batch, .w = 768}, 1, in_chw);
        CHECK(by_rows < batch * predict(model, all_kernels, dense, shape, 1, in_chw));
        for (const std::string_view layout : {ps::chw::name, ps::hwc::name}) {
            CHECK(predict(model, all_kernels, dense, shape, batch, all_kernels.find_layout(layout)) ==
                  doctest::Approx(by_rows));
        }
    }
}

TEST_CASE("what was fitted predicts what it was fitted to") {
    const ps::Analytical analytical;
    std::vector<laws::Layer> sizes;
    for (int im = 8; im <= 96; im += 8) {
        const ps::Shape shape{.c = 4 + im, .h = im, .w = im};
        sizes.push_back({ps::ActivationParams{}, {shape}, shape});
    }
    const auto queries = laws::ops(all_kernels, sizes, 1);
    std::vector<ps::learn::OpRegression::Sample> samples;
    for (ps::OpQuery const& query : queries) {
        ps::learn::OpRegression::Sample sample{"relu", std::string(all_kernels.layouts[query.layout].name), "",
                                               ps::op_terms(analytical.terms(all_kernels, query), query.run.batch,
                                                            analytical.work(all_kernels, query).counts.rows),
                                               1e-5};
        sample.seconds += 3 * sample.terms[1];
        samples.push_back(sample);
    }
    const ps::learn::OpRegression regression = ps::learn::OpRegression::fit(samples);
    const std::vector<ps::OpCoefficients> coefficients = regression.coefficients();
    std::vector<double> seconds(queries.size());
    ps::predict_ops(coefficients, analytical, all_kernels, queries, seconds);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        CHECK(seconds[i] == doctest::Approx(samples[i].seconds).epsilon(0.05));
    }
}

/// Whether only a step of training has such layers.
bool trains(ps::AnyLayer const& layer) {
    return std::visit([]<class P>(P const&) { return ps::trains<P>; }, layer);
}

/// Checks a table that is shipped, also one that this program would not use.
template <ps::OpModel M>
void check_shipped(std::string_view arch, bool of_training, std::initializer_list<std::string_view> expected) {
    CAPTURE(arch);
    CHECK(M::arch == arch);
    std::set<std::pair<std::string_view, std::string_view>> names;
    std::set<std::tuple<std::string_view, std::string_view, std::string_view>> entries;
    CHECK(std::ranges::is_sorted(M::ops, {}, &ps::OpCoefficients::op));
    for (ps::OpCoefficients const& entry : M::ops) {
        CAPTURE(entry.op);
        CAPTURE(entry.layout);
        names.emplace(entry.op, entry.layout);
        CHECK(entries.emplace(entry.op, entry.layout, entry.form).second);
        const bool narrow = entry.layout.starts_with("hwc_");
        CHECK(std::ranges::count(all_kernels.layouts, entry.layout, &ps::LayoutEntry::name) == (narrow ? 0 : 1));
        for (const double coefficient : entry.values) CHECK((std::isfinite(coefficient) && coefficient >= 0));
        CHECK(*std::ranges::max_element(entry.values) > 0);
    }
    std::set<std::string_view> ops{"transform"};
    for (std::size_t i = 0; i < 40 * ps::measure::drawn_kinds; ++i)
        ops.insert(ps::layer_kind(ps::measure::draw_layer(1, i).layer));
    for (laws::Layer const& layer : laws::layers({.c = 12, .h = 9, .w = 9})) ops.insert(ps::layer_kind(layer.params));
    for (auto const& [op, layout] : names) CHECK(ops.contains(op));
    for (const std::string_view op : expected) {
        CHECK(names.contains({op, "chw"}));
        CHECK(names.contains({op, "hwc"}));
    }
    // The kernels of that Arch, and no others, are priced by it: what it knows.
    const ps::Analytical analytical;
    std::vector<laws::Layer> layers = laws::layers({.c = 64, .h = 28, .w = 28});
    std::erase_if(layers, [&](laws::Layer const& layer) { return trains(layer.params) != of_training; });
    const auto queries = laws::ops(all_kernels, layers, 1);
    std::vector<double> seconds(queries.size());
    ps::predict_ops(M::ops, analytical, all_kernels, queries, seconds);
    CHECK(seconds != laws::predict(analytical, all_kernels, queries));
    ps::SemiEmpiricalCosts costs;
    CHECK(laws::predict(costs, compiled_for(arch), queries) == seconds);
    CHECK(laws::predict(costs, compiled_for("elsewhere"), queries) == laws::predict(analytical, all_kernels, queries));
}

TEST_CASE("the coefficients that are shipped name what there is") {
    const std::initializer_list<std::string_view> usual{"conv", "relu", "max_pool", "dense"};
    check_shipped<ps::pretrained::ops_avx512>("avx512bw", false, usual);
    check_shipped<ps::pretrained::ops_avx2>("fma3+avx2", false, usual);
    check_shipped<ps::pretrained::ops_sse4_2>("sse4.2", false, usual);
    check_shipped<ps::pretrained::ops_training_avx512>(
        "avx512bw", true, {"batch_statistics", "normalize", "normalize_sums", "normalize_gradient", "pool_gradient"});
}

TEST_CASE("every primitive has coefficients that are shipped, and no roofline is far off by them") {
    constexpr std::span<const ps::ConvCoefficients> shipped(ps::pretrained::convs::convolutions);
    std::size_t known = 0;
    std::set<std::string_view> ids;
    for (ps::PrimitiveEntry const& primitive : all_kernels.primitives) ids.insert(primitive.id);
    [&]<class... P>(ps::TypeList<P...>) { (ids.insert(std::string_view(P::id)), ...); }(ps::GradientPrimitives{});
    for (ps::ConvCoefficients const& entry : shipped) {
        CAPTURE(entry.primitive);
        known += ids.count(entry.primitive);
        for (const double value : entry.values) CHECK((std::isfinite(value) && value >= 0));
        CHECK(entry.values[0] > 0.5);
        CHECK(entry.values[0] < 2);
    }
    CHECK(known == shipped.size());
    // All but those that take no convolution of a profile, which are square and of one group.
    for (ps::PrimitiveEntry const& primitive : all_kernels.primitives) {
        CAPTURE(primitive.id);
        bool profiled = false;
        for (const int f : {1, 3, 5, 7, 11}) {
            for (const int stride : {1, 2, 4}) {
                for (const int c : {3, 16}) {
                    profiled = profiled || primitive.supports(laws::conv(28, c, 16, f, stride));
                }
            }
        }
        CHECK(std::ranges::count(shipped, primitive.id, &ps::ConvCoefficients::primitive) == (profiled ? 1 : 0));
    }
}

}  // namespace cost_semi_empirical
