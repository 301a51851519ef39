#include <primsel/core/amx.hpp>
#include <primsel/gemm/bf16_rows.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace ps = primsel;

TEST_CASE("each thread has tiles of its own, and no tiles are no scope") {
    const ps::core::AmxTiles tiles = ps::core::may_use_amx() ? ps::core::AmxTiles{16, 16} : ps::core::AmxTiles{};
    const std::vector<ps::bfloat16> ones(32 * 32, ps::to_bfloat16(1.0F));
    const auto all_32 = [&] {
        std::vector<float> sums(32 * 32);
        const ps::core::AmxScope scope(tiles);
        const ps::gemm::Bf16Rows rows{.a = ones.data(), .a_stride = 32, .run = 32, .b = ones.data()};
        ps::gemm::multiply<ps::default_arch>(rows, 32, tiles, sums.data());
        return std::ranges::count(sums, 32.0F) == 32 * 32;
    };
    bool here = all_32(), there = false, again = false;
    std::thread([&] { there = all_32() && ps::core::may_use_amx() == (tiles.rows != 0); }).join();
    again = all_32();
    CHECK(here);
    CHECK(there);
    CHECK(again);
    const ps::core::AmxScope nothing(ps::core::AmxTiles{});
}
