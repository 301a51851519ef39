#include <primsel/machine/all_precisions.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace ps = primsel;

TEST_CASE("machine: products in low precision are measured for those who ask, and the rest stays as it is") {
    ps::Machine const &plain = ps::this_machine(), &all = ps::this_machine_in_all_precisions();
    CHECK(plain.bf16_flops == 0);
    CHECK(plain.int8_flops == 0);
    MESSAGE("bf16 ", all.bf16_flops * 1e-9, " GFLOP/s, int8 ", all.int8_flops * 1e-9, " Gop/s");
    for (const double speed : {all.bf16_flops, all.int8_flops}) {
        CHECK(std::isfinite(speed));
        CHECK(speed > 0);
    }
    CHECK(all.matmul_flops == plain.matmul_flops);
    CHECK(&all == &ps::MeasuredInAllPrecisions::speeds<ps::default_arch>(1));
}
