#include "laws.hpp"

#include <primsel/op/global_pool.hpp>

namespace {

namespace ps = primsel;

TEST_CASE("global pooling agrees with the reference in every layout") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        laws::check(ps::GlobalPoolParams{ps::PoolKind::max}, shape, 0);
        laws::check(ps::GlobalPoolParams{ps::PoolKind::average}, shape, 1e-6);
    }
    laws::check(ps::GlobalPoolParams{ps::PoolKind::average}, {3, 150, 149}, 1e-6);
    laws::check(ps::GlobalPoolParams{ps::PoolKind::max}, {300, 7, 7}, 0);
}

TEST_CASE("a NaN is the maximum, wherever it is") {
    const ps::GlobalPoolParams params{ps::PoolKind::max};
    const ps::Shape shape{1, 5, 31};
    for (std::size_t at = 0; at < shape.size(); ++at) {
        std::vector<float> elements(shape.size(), 1.0F);
        elements[at] = std::nanf("");
        for_each_order_of_ops([&]<class L>(L) { CHECK(std::isnan(laws::run_one<L>(params, shape, elements)[0])); });
    }
}

}  // namespace
