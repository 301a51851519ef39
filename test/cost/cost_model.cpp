#include <primsel/cost/cost_model.hpp>

#include "laws.hpp"

#include <doctest/doctest.h>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/measure/measured.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace cost_cost_model {

namespace ps = primsel;

namespace {

/// A minimal model: every floating-point operation takes a tenth of a nanosecond, every value moved one.
struct Counting {
    static constexpr std::string_view name = "counting";
    void predict(ps::Kernels const&, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i)
            seconds[i] = 1e-10 * queries[i].run.batch * queries[i].shape.operations();
    }
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = 1e-9 * queries[i].run.batch * static_cast<double>(queries[i].shape.size());
        }
    }
    void predict(ps::Kernels const&, std::span<const ps::OpQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = 1e-9 * queries[i].run.batch * static_cast<double>(queries[i].output.size());
        }
    }
};
static_assert(ps::CostModel<ps::Analytical>);
static_assert(ps::CostModel<ps::measure::Measured>);
static_assert(ps::CostModel<Counting>);

struct Nameless {
    void predict(ps::Kernels const&, std::span<const ps::ConvQuery>, std::span<double>);
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double>);
    void predict(ps::Kernels const&, std::span<const ps::OpQuery>, std::span<double>);
};
struct NoOps {
    static constexpr std::string_view name = "no_ops";
    void predict(ps::Kernels const&, std::span<const ps::ConvQuery>, std::span<double>);
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double>);
};
struct NoTransforms {
    static constexpr std::string_view name = "no_transforms";
    void predict(ps::Kernels const&, std::span<const ps::ConvQuery>, std::span<double>);
    void predict(ps::Kernels const&, std::span<const ps::OpQuery>, std::span<double>);
};
/// One question at a time.
struct Single {
    static constexpr std::string_view name = "single";
    double predict(ps::Kernels const&, ps::ConvQuery const&);
    double predict(ps::Kernels const&, ps::TransformQuery const&);
    double predict(ps::Kernels const&, ps::OpQuery const&);
};
struct Mutable : Counting {
    static constexpr std::string_view name = "mutable";
    void predict(ps::Kernels&, std::span<const ps::OpQuery>, std::span<double>);
};
static_assert(!ps::CostModel<int>);
static_assert(!ps::CostModel<ps::Machine>);
static_assert(!ps::CostModel<Nameless>);
static_assert(!ps::CostModel<NoOps>);
static_assert(!ps::CostModel<NoTransforms>);
static_assert(!ps::CostModel<Single>);
static_assert(!ps::CostModel<Mutable>);

}  // namespace

TEST_CASE_TEMPLATE("cost model: a finite answer to every question, whatever the others", Model, ps::Analytical,
                   Counting) {
    ps::Kernels const& kernels = laws::all_kernels;
    Model model{};
    std::vector<ps::ConvShape> shapes{laws::conv(1, 1, 1, 1),       laws::conv(56, 64, 64, 3),
                                      laws::conv(224, 3, 64, 7, 2), laws::conv(27, 96, 256, 5),
                                      laws::conv(7, 512, 512, 3),   laws::conv(13, 64, 32, 1)};
    shapes.push_back({.c = 64, .k = 128, .h = 30, .w = 17, .fh = 1, .fw = 7, .pad_left = 3, .groups = 32});
    shapes.push_back({.c = 8, .k = 8, .h = 20, .w = 20, .fh = 3, .fw = 3, .dilation_h = 2, .dilation_w = 3});
    auto convs = laws::convs(kernels, shapes);
    for (ps::ConvQuery const& query : laws::convs(kernels, {shapes[4]}, 4)) convs.push_back(query);
    CHECK(convs.size() > shapes.size() * 5);
    laws::check_answers(laws::predict(model, kernels, convs));
    laws::check_independent(model, kernels, convs);
    for (const ps::Shape shape : {ps::Shape{2, 3, 3}, ps::Shape{64, 56, 56}, ps::Shape{1000, 5, 5}}) {
        for (const int batch : {1, 16}) {
            const auto transforms = laws::transforms(kernels, shape, batch);
            laws::check_answers(laws::predict(model, kernels, transforms));
            laws::check_independent(model, kernels, transforms);
            const auto layers = laws::layers(shape);
            const auto ops = laws::ops(kernels, layers, batch);
            laws::check_answers(laws::predict(model, kernels, ops));
            laws::check_independent(model, kernels, ops);
        }
    }
}

TEST_CASE("answers depend on every field of the context of the run that the model does not say it ignores") {
    ps::Machine machine = fixed::machines()[4];  // whose levels of memory differ
    machine.idle_bandwidth = 0.5 * (machine.bandwidth[3] + machine.bandwidth[4]);
    ps::Analytical analytical(machine);
    laws::check_context(analytical, laws::all_kernels);
    ps::SemiEmpiricalCosts semi_empirical(machine);
    laws::check_context(semi_empirical, laws::all_kernels);
    static_assert(ps::ignores<ps::measure::Measured>("data_reuse_bytes") &&
                  !ps::ignores<ps::measure::Measured>("packs"));
}
}  // namespace cost_cost_model
