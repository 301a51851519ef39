#include "narrow_laws.hpp"

#include <primsel/op/bf16.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

namespace bf16_ops {

TEST_CASE("pools in bfloat16 are pools of floats, rounded once") {
    for (ps::Shape const& shape : shapes) {
        for (const ps::PoolKind kind : {ps::PoolKind::max, ps::PoolKind::average}) {
            for (const int batch : {1, 2}) {
                CAPTURE(to_string(shape));
                for (const bool counts : {false, true}) {
                    for (ps::PoolParams const& pool : narrow_laws::pools(kind, counts)) {
                        const std::vector<ps::Shape> inputs{shape};
                        if (pool.check(inputs) != ps::Fault::none) continue;
                        check(pool, inputs, batch);
                        check(pool, inputs, batch, {}, std::numeric_limits<float>::quiet_NaN());
                        check(pool, inputs, batch, {}, -std::numeric_limits<float>::infinity());
                    }
                }
                check(ps::GlobalPoolParams{kind}, {shape}, batch);
            }
        }
    }
}

TEST_CASE("sums and activations in bfloat16 are those of floats, rounded once") {
    for (ps::Shape const& shape : shapes) {
        for (const int batch : {1, 3}) {
            CAPTURE(to_string(shape));
            check(ps::AddParams{}, {shape, shape}, batch);
            check(ps::AddParams{}, {shape, shape, shape}, batch, {.low = 1.0F, .high = 5.0F});
            for (const ps::ActivationKind kind :
                 {ps::ActivationKind::relu, ps::ActivationKind::sigmoid, ps::ActivationKind::hard_swish,
                  ps::ActivationKind::silu, ps::ActivationKind::leaky_relu, ps::ActivationKind::exp}) {
                check(ps::ActivationParams{.kind = kind, .alpha = 0.1F}, {shape}, batch);
            }
        }
    }
}

}  // namespace bf16_ops
