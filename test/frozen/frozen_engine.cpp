// An engine over constants, here written by hand. test/build/frozen.py compares those that `primsel freeze` writes.
#include "../allocations.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/frozen/files.hpp>
#include <primsel/frozen/frozen_engine.hpp>
#include <primsel/layer/activation.hpp>
#include <primsel/op/activation.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace frozen_engines {

namespace ps = primsel;

/// |x| within [1, 3], for two images of 2x1x3, without weights.
struct Net {
    static constexpr ps::frozen::WeightsKey weights_key{PRIMSEL_VERSION, ps::frozen::arch_name, 0};
    static constexpr std::size_t batch = 2, workers = 1, single = 1, arena_bytes = 64, op_srcs = 2;
    static constexpr std::array<ps::Shape, 1> in_shapes{{{2, 1, 3}}}, out_shapes{{{2, 1, 3}}};
    static constexpr std::array<std::size_t, 1> in_floats{12}, out_floats{12};
    static constexpr std::array<std::size_t, 3> image_bytes{24, 24, 24};
    static constexpr std::array<ps::frozen::PlacedTensor, 1> tensors{{{2, 0}}};
    static constexpr std::array<ps::frozen::PlacedConstant, 0> constants{};
    static constexpr std::array<std::size_t, 0> section_bytes{}, weights{};
    static constexpr ps::ActivationParams layer_0{.kind = ps::ActivationKind::abs};
    static constexpr ps::ActivationParams layer_1{.kind = ps::ActivationKind::clip, .alpha = 1, .beta = 3};
    static constexpr std::array<std::size_t, 1> step_0_src{0}, step_1_src{2};
    static constexpr std::array<ps::Shape, 1> shapes{{{2, 1, 3}}};
    static constexpr ps::engine::ReadyOp step_0{.op = &ps::frozen::run_op<ps::ActivationParams, ps::chw, layer_0>,
                                                .src = step_0_src,
                                                .src_shapes = shapes,
                                                .op_src = 0,
                                                .dst = 2,
                                                .dst_shape = {2, 1, 3}};
    static constexpr ps::engine::ReadyOp step_1{.op = &ps::frozen::run_op<ps::ActivationParams, ps::chw, layer_1>,
                                                .src = step_1_src,
                                                .src_shapes = shapes,
                                                .op_src = 1,
                                                .dst = 1,
                                                .dst_shape = {2, 1, 3}};
    static constexpr std::array<ps::engine::ReadyStep, 2> steps{ps::engine::ready(step_0), ps::engine::ready(step_1)};
    static constexpr std::array<std::size_t, 2> order{0, 1};
    static constexpr std::array<std::size_t, 0> lanes{};
};

/// The file of no sections, at an address that is a multiple of 64.
struct alignas(64) File {
    std::array<std::byte, 192> bytes{};
};
File file() {
    const ps::frozen::PackedPlan none{std::string(ps::frozen::arch_name), {}};
    const std::string text = ps::frozen::weights_file(std::span(&none, 1));
    File result;
    REQUIRE(text.size() == sizeof(result));
    std::memcpy(&result, text.data(), sizeof(result));
    return result;
}

TEST_CASE("a frozen engine runs its constants, without allocating") {
    static ps::FrozenEngine<Net>::Arena arena;
    const File weights = file();
    ps::FrozenEngine<Net> engine;
    std::array<float, 12> src{-5, 2, 0.5F, -0.25F, 1, -2, 7, -1, -3, 2.5F, -1.5F, 9}, dst{};
    CHECK_FALSE(engine.run(src.data(), dst.data()));  // it has no weights yet
    const std::size_t bytes = scratch::allocated_by([&] {
        CHECK(engine.open(weights.bytes, arena) == nullptr);
        CHECK(engine.run(src.data(), dst.data()));
    });
    CHECK(bytes == 0);
    for (std::size_t i = 0; i < src.size(); ++i) CHECK(dst[i] == std::clamp(std::abs(src[i]), 1.0F, 3.0F));
    CHECK(engine.in_shape() == ps::Shape{2, 1, 3});
    CHECK(engine.in_floats() == 12);
}

TEST_CASE("a frozen engine refuses wrong weights, wrong counts and too many threads") {
    static ps::FrozenEngine<Net>::Arena arena;
    File weights = file();
    ps::FrozenEngine<Net> engine;
    REQUIRE(engine.open(weights.bytes, arena) == nullptr);
    std::array<float, 12> src{}, dst{};
    ps::ThreadPool pool(2);
    CHECK_FALSE(engine.run(src.data(), dst.data(), pool));
    CHECK_FALSE(engine.run(std::span<const float* const>{}, std::span<float* const>{}));
    CHECK(engine.run(src.data(), dst.data()));

    alignas(64) std::array<std::byte, sizeof(File) + 64> shifted{};
    std::memcpy(shifted.data() + 4, &weights, sizeof(weights));
    CHECK(std::string(engine.open(std::span(shifted).subspan(4, sizeof(weights)), arena)).find("aligned") !=
          std::string::npos);
    CHECK_FALSE(engine.is_open());
    weights.bytes[sizeof(ps::frozen::WeightsHeader)] ^= std::byte{1};  // of the instruction set
    CHECK(engine.open(weights.bytes, arena) != nullptr);
    CHECK_FALSE(engine.run(src.data(), dst.data()));
}

}  // namespace frozen_engines
