#include "narrow_laws.hpp"

#include <primsel/op/short_floats.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

namespace short_float_ops {

TEST_CASE_TEMPLATE("pools in 16-bit floats are pools of floats, rounded once", L, ps::hwc_bf16, ps::hwc_f16) {
    for (ps::Shape const& shape : shapes) {
        for (const ps::PoolKind kind : {ps::PoolKind::max, ps::PoolKind::average}) {
            for (const int batch : {1, 2}) {
                CAPTURE(to_string(shape));
                for (const bool counts : {false, true}) {
                    for (ps::PoolParams const& pool : narrow_laws::pools(kind, counts)) {
                        const std::vector<ps::Shape> inputs{shape};
                        if (pool.check(inputs) != ps::Fault::none) continue;
                        check<L>(pool, inputs, batch);
                        check<L>(pool, inputs, batch, {}, std::numeric_limits<float>::quiet_NaN());
                        check<L>(pool, inputs, batch, {}, -std::numeric_limits<float>::infinity());
                    }
                }
                check<L>(ps::GlobalPoolParams{kind}, {shape}, batch);
            }
        }
    }
}

TEST_CASE_TEMPLATE("sums and activations in 16-bit floats are those of floats, rounded once", L, ps::hwc_bf16,
                   ps::hwc_f16) {
    for (ps::Shape const& shape : shapes) {
        for (const int batch : {1, 3}) {
            CAPTURE(to_string(shape));
            check<L>(ps::AddParams{}, {shape, shape}, batch);
            check<L>(ps::AddParams{}, {shape, shape, shape}, batch, {.low = 1.0F, .high = 5.0F});
            for (const ps::ActivationKind kind :
                 {ps::ActivationKind::relu, ps::ActivationKind::sigmoid, ps::ActivationKind::hard_swish,
                  ps::ActivationKind::silu, ps::ActivationKind::leaky_relu, ps::ActivationKind::exp}) {
                check<L>(ps::ActivationParams{.kind = kind, .alpha = 0.1F}, {shape}, batch);
            }
        }
    }
}

}  // namespace short_float_ops
