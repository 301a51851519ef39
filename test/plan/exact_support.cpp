#include <primsel/cost/analytical.hpp>
#include <primsel/kernels/make_kernels.hpp>
#include <primsel/network/network.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/make_plan.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/primitive/all.hpp>

#include <doctest/doctest.h>

#include <string>

namespace plan_exact_support_tests {

namespace plan_exact_support {

namespace {

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<64, 28, 28>, Conv<64, 3, Pad<1>>, Conv<64, 5, Pad<2>>> {};
using Primitives = ps::TypeList<ps::DirectHwc, ps::Winograd<4, 3, 16>, ps::Winograd<2, 3, 16>, ps::Winograd<4, 5, 16>>;

TEST_CASE("what mixes pixels is refused where support is exact, and above the bound of all else") {
    const ps::Kernels kernels = ps::make_kernels<Primitives, ps::default_arch, ps::AllLayouts>();
    ps::Analytical model(ps::Machine{});
    const auto plan = [&](ps::PlanOptions const& options) {
        return ps::make_plan(Net::graph(), kernels, model, ps::ExactPbqp{}, options);
    };
    bool winograd = false;
    for (ps::PlannedLayer const& layer : plan({}).layers) winograd |= layer.primitive.starts_with("winograd");
    CHECK(winograd);
    const ps::Plan exact = plan({.exact_support = true});
    for (ps::Plan const& one : {exact, plan({.max_error = 2e-5})}) {
        for (ps::PlannedLayer const& layer : one.layers) CHECK_FALSE(layer.primitive.starts_with("winograd"));
    }
    for (ps::PlannedLayer const& layer : exact.layers) {
        if (layer.primitive.empty()) continue;
        CHECK(exact.explain(layer.name).find("mixes pixels") != std::string::npos);
    }
}

}  // namespace

}  // namespace plan_exact_support

}  // namespace plan_exact_support_tests
