#include <primsel/core/aligned_buffer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

namespace {

namespace ps = primsel;

bool is_aligned(const float* data, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(data) % bytes == 0; }

TEST_CASE("buffers are aligned to a cache line, large ones to a huge page") {
    for (const std::size_t floats : {1U, 2U, 15U, 16U, 17U, 1000U, 100'000U}) {
        ps::AlignedBuffer buffer(floats);
        CHECK(buffer.size() == floats);
        CHECK(is_aligned(buffer.data(), ps::alignment));
        std::ranges::fill(buffer.span(), 1.0F);
        CHECK(std::ranges::all_of(std::as_const(buffer).span(), [](float x) { return x == 1.0F; }));
    }
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    for (const std::size_t bytes : {huge_page - 4, huge_page, huge_page + 4, 5 * huge_page}) {
        ps::AlignedBuffer buffer(bytes / sizeof(float));
        CHECK(is_aligned(buffer.data(), huge_page));
        buffer.data()[0] = buffer.data()[buffer.size() - 1] = 1.0F;
    }
}

TEST_CASE("an empty buffer") {
    CHECK(ps::AlignedBuffer().size() == 0);
    CHECK(ps::AlignedBuffer(0).data() == nullptr);
    CHECK(ps::AlignedBuffer(0).span().empty());
}

TEST_CASE("a size in bytes that does not fit is bad_alloc") {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    for (const std::size_t floats : {most, most / 2, most / 4 + 1, most / 4, most / 8 + 1}) {
        CHECK_THROWS_AS(ps::AlignedBuffer{floats}, std::bad_alloc);
    }
}

TEST_CASE("moving hands over the memory") {
    ps::AlignedBuffer a(100), b(1'000'000);
    const float *first = a.data(), *second = b.data();
    ps::AlignedBuffer c(std::move(a));
    CHECK(c.data() == first);
    CHECK(c.size() == 100);
    CHECK(a.data() == nullptr);  // NOLINT(bugprone-use-after-move): that is the test
    CHECK(a.size() == 0);
    c = std::move(b);
    CHECK(c.data() == second);
    CHECK(c.size() == 1'000'000);
    a = ps::AlignedBuffer(3);
    CHECK(a.size() == 3);
}

TEST_CASE("floats and bytes, and both rounded up to cache lines") {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    CHECK(ps::round_up_floats(0) == 0);
    CHECK(ps::round_up_floats(1) == 16);
    CHECK(ps::round_up_floats(16) == 16);
    CHECK(ps::round_up_floats(17) == 32);
    CHECK(ps::round_up_bytes(0) == 0);
    CHECK(ps::round_up_bytes(1) == 64);
    CHECK(ps::round_up_bytes(64) == 64);
    CHECK(ps::round_up_bytes(65) == 128);
    CHECK(ps::bytes_of_floats(3) == 12);
    CHECK(ps::bytes_of_floats(most / 4 + 1) == most);
    CHECK(ps::floats_for_bytes(0) == 0);
    CHECK(ps::floats_for_bytes(9) == 3);
    CHECK(ps::floats_for_bytes(12) == 3);
}

}  // namespace
