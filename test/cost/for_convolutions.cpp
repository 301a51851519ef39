#include <primsel/cost/for_convolutions.hpp>

#include "laws.hpp"

#include <doctest/doctest.h>
#include <primsel/kernels/extern_kernels.hpp>

#include <span>
#include <string_view>

namespace cost_for_convolutions {

namespace ps = primsel;

namespace {

/// One function.
struct Operations {
    static constexpr std::string_view name = "operations";
    double seconds_each = 1e-9;
    void predict(ps::Kernels const&, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = seconds_each * queries[i].run.batch * queries[i].shape.operations();
        }
    }
};

using laws::all_kernels;

}  // namespace

static_assert(!ps::CostModel<Operations>);
static_assert(ps::CostModel<ps::ForConvolutions<Operations>>);

TEST_CASE("ForConvolutions: convolutions by the model, all else as Analytical says") {
    ps::ForConvolutions model(Operations{2.0});
    ps::Analytical analytical;
    const auto convs = laws::convs(all_kernels, {laws::conv(14, 16, 8, 3), laws::conv(28, 4, 6, 1, 2)}, 3);
    const auto moves = laws::transforms(all_kernels, {12, 7, 7}, 2);
    for (std::size_t i = 0; i < convs.size(); ++i) {
        CHECK(laws::predict(model, all_kernels, convs)[i] == 2.0 * convs[i].run.batch * convs[i].shape.operations());
    }
    CHECK(laws::predict(model, all_kernels, moves) == laws::predict(analytical, all_kernels, moves));
}

}  // namespace cost_for_convolutions
