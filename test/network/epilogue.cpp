#include <primsel/network/epilogue.hpp>

#include <doctest/doctest.h>

namespace ps = primsel;

TEST_CASE("epilogue_parts: convolutions may have all, dense layers no residual, sums and normalisations a clamp") {
    const auto parts = [](ps::AnyLayer const& layer) {
        const ps::EpilogueParts may = ps::epilogue_parts(layer);
        return (may.folded ? 4 : 0) + (may.residual ? 2 : 0) + (may.clamp ? 1 : 0);
    };
    CHECK(parts(ps::ConvParams{}) == 7);
    CHECK(parts(ps::DenseParams{}) == 5);
    CHECK(parts(ps::AddParams{}) == 1);
    CHECK(parts(ps::NormalizeParams{}) == 1);
    CHECK(parts(ps::PoolParams{}) == 0);
    CHECK(parts(ps::BatchNormParams{}) == 0);
}

TEST_CASE("excess: the first part that a layer may not have, by name") {
    using ps::network::detail::excess;
    ps::Epilogue epilogue;
    CHECK(excess(epilogue, {}).empty());
    epilogue.folded.push_back({"n", ps::BatchNormParams{}});
    CHECK(excess(epilogue, {}) == "folded layers");
    epilogue.clamp = ps::relu_clamp;
    CHECK(excess(epilogue, {.folded = true}) == "a clamp");
    epilogue.residual = true;
    CHECK(excess(epilogue, {.folded = true, .clamp = true}) == "a residual");
    CHECK(excess(epilogue, {.folded = true, .residual = true, .clamp = true}).empty());
    epilogue.residual = false, epilogue.summand = {.scale = 1};
    CHECK(excess(epilogue, {.folded = true, .residual = true, .clamp = true}) ==
          "the range of a summand without a sum");
}
