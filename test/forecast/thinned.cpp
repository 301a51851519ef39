#include <doctest/doctest.h>
#include <primsel/forecast/features.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/layer/compose.hpp>

#include <string>
#include <string_view>

namespace thinning {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

struct Net
    : ps::Network<Input<3, 16, 16>, Conv<40, 3, Pad<1>>, BatchNorm, Relu, Residual<Conv<40, 3>, Relu, Conv<40, 3>>,
                  Relu, Conv<60, 3>, Relu, Conv<80, 3>, Relu, GlobalAvgPool, Dense<5>> {};

double filters_of(ps::Graph const& graph) {
    double filters = 0;
    for (ps::forecast::ConvSizes const& conv : ps::forecast::conv_sizes(graph)) filters += conv.n;
    return filters;
}

TEST_CASE("a thinned network has lost the share that was asked, and is the same for the same seed") {
    const ps::Graph whole = Net::graph();
    for (const std::string_view strategy : ps::forecast::thinning_strategies) {
        CAPTURE(strategy);
        CHECK(ps::forecast::thinned(whole, {0, std::string(strategy), 1}) == whole);
        for (const double level : {0.25, 0.5, 0.7}) {
            const ps::forecast::Thinning how{level, std::string(strategy), 3};
            const ps::Graph thin = ps::forecast::thinned(whole, how);
            CHECK(thin == ps::forecast::thinned(whole, how));
            CHECK(thin[thin.output_node()].shape == whole[whole.output_node()].shape);
            for (ps::forecast::ConvSizes const& conv : ps::forecast::conv_sizes(thin)) CHECK(conv.n >= 1);
            const double gone = 1 - filters_of(thin) / filters_of(whole);
            if (strategy == "random") CHECK(gone == doctest::Approx(level).epsilon(0.03));
            CHECK(gone > 0.1);
        }
    }
    const auto first = [&](const char* strategy) {
        return ps::forecast::conv_sizes(ps::forecast::thinned(whole, {0.4, strategy, 1})).front().n;
    };
    const auto last = [&](const char* strategy) {
        return ps::forecast::conv_sizes(ps::forecast::thinned(whole, {0.4, strategy, 1})).back().n;
    };
    CHECK(first("early") < first("random"));
    CHECK(last("late") < last("random"));
    CHECK(last("early") > last("late"));
    CHECK_THROWS_AS((void)ps::forecast::thinned(whole, {1.0, "random", 1}), ps::error);
    CHECK_THROWS_AS((void)ps::forecast::thinned(whole, {0.5, "cleverly", 1}), ps::error);
}

}  // namespace
}  // namespace thinning
