// Compiled with -ffast-math (test/CMakeLists.txt): what is refused must not depend on it.
#include <primsel/core/finite.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/pbqp/problem.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace {

namespace ps = primsel;

/// A number of these bits, which the compiler does not know.
template <class T, class Bits>
T number(Bits bits) {
    volatile Bits unknown = bits;
    const Bits read = unknown;
    T result;
    std::memcpy(&result, &read, sizeof(result));
    return result;
}

TEST_CASE("NaN and infinities are told by their bits") {
    for (const std::uint32_t bits : {0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xffffffffU}) {
        const std::vector<float> value{number<float>(bits)};
        CHECK(ps::is_nan(value[0]));
        CHECK_FALSE(ps::is_finite(value[0]));
        CHECK_FALSE(ps::is_infinite(value[0]));
    }
    for (const std::uint32_t bits : {0x7f800000U, 0xff800000U}) {
        const std::vector<float> value{number<float>(bits)};
        CHECK_FALSE(ps::is_nan(value[0]));
        CHECK_FALSE(ps::is_finite(value[0]));
        CHECK(ps::is_infinite(value[0]));
    }
    for (const std::uint32_t bits : {0U, 0x80000000U, 1U, 0x3f800000U, 0x7f7fffffU, 0xff7fffffU}) {
        const std::vector<float> value{number<float>(bits)};
        CHECK_FALSE(ps::is_nan(value[0]));
        CHECK(ps::is_finite(value[0]));
        CHECK_FALSE(ps::is_infinite(value[0]));
    }
    CHECK(ps::is_nan(std::vector{number<double>(std::uint64_t{0x7ff8000000000000U})}[0]));
    CHECK(ps::is_infinite(std::vector{number<double>(std::uint64_t{0xfff0000000000000U})}[0]));
    CHECK(ps::is_finite(std::vector{number<double>(std::uint64_t{0x7fefffffffffffffU})}[0]));
}

TEST_CASE("with -ffast-math a weight and a cost that are NaN are refused") {
    const std::vector<float> weights{number<float>(0x7fc00000U), number<float>(0x7f800000U)};
    CHECK(ps::network::fault_of(weights[0], ps::WeightValues::not_nan) == "not a number");
    CHECK(ps::network::fault_of(weights[1], ps::WeightValues::finite) == "not finite");
    ps::PbqpProblem problem;
    CHECK_THROWS_AS(problem.add_node({number<double>(std::uint64_t{0x7ff8000000000000U}), 1.0}), ps::error);
}

}  // namespace
