#include "../threads.hpp"
#include "chw8c.hpp"
#include "chw_u8.hpp"
#include "orders.hpp"

#include <primsel/tensor/transform.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

namespace ps = primsel;

// 1-pixel, one row, one column, one channel; around the widths of 4 x 4 tiles and of blocks of 16 and 256 columns.
const std::vector<ps::Shape> all_shapes = {{1, 1, 1},   {7, 1, 1},   {1, 9, 1},    {1, 1, 11},   {3, 1, 17},
                                           {5, 19, 1},  {1, 6, 7},   {3, 5, 7},    {4, 4, 4},    {4, 16, 16},
                                           {8, 3, 15},  {13, 7, 33}, {16, 2, 17},  {17, 16, 17}, {31, 5, 64},
                                           {3, 67, 71}, {260, 3, 5}, {257, 2, 130}};

/// Every element is a number of its own.
template <class L>
std::vector<float> image(ps::Shape shape) {
    std::vector<float> data(L::size(shape), 0.0F);
    float value = 0;
    for (int c = 0; c < shape.c; ++c) {
        for (int h = 0; h < shape.h; ++h) {
            for (int w = 0; w < shape.w; ++w) data[L::offset(shape, {c, h, w})] = ++value;
        }
    }
    return data;
}

template <class From, class To>
void check_pair() {
    for (ps::Shape const& shape : all_shapes) {
        CAPTURE(From::name);
        CAPTURE(To::name);
        CAPTURE(ps::to_string(shape));
        const std::vector<float> src = image<From>(shape), expected = image<To>(shape);
        // The padding of To, where it has some, must become zero. A guard behind it must not.
        const auto run = [&](ps::ExecutorRef executor) {
            std::vector<float> dst(To::size(shape) + 16, -1.0F);
            ps::transform<From, To>(shape, src.data(), dst.data(), executor);
            for (std::size_t i = To::size(shape); i < dst.size(); ++i) CHECK(dst[i] == -1.0F);
            dst.resize(To::size(shape));
            return dst;
        };
        ps::Sequential sequential;
        ps::CallerPool pool(3, laws::Threads{});
        const std::vector<float> dst = run(sequential);
        CHECK(dst == expected);
        CHECK(run(pool) == expected);
        std::vector<float> back(src.size(), -1.0F);
        ps::transform<To, From>(shape, dst.data(), back.data(), sequential);
        CHECK(back == src);
    }
}

template <class From>
void check_from() {
    for_each_order([]<class To>(To) { check_pair<From, To>(); });
    check_pair<From, chw8c>();
}

/// The same blocks with ways of their own to and from chw.
struct fast_chw8c : chw8c {
    static constexpr std::string_view name = "fast_chw8c";
    static inline int from = 0, to = 0;
    static void transform_from(ps::chw, ps::Shape shape, const float* src, float* dst, ps::ExecutorRef) noexcept {
        ++from;
        const auto channels = static_cast<std::size_t>(shape.c);
        for (std::size_t c = 0; c < channels; c += 8) {
            const std::size_t first = c * shape.pixels(), rows = std::min<std::size_t>(8, channels - c);
            if (rows < 8) std::fill_n(dst + first, 8 * shape.pixels(), 0.0F);
            ps::transpose_columns(src + first, shape.pixels(), dst + first, 8, rows, 0, shape.pixels());
        }
    }
    static void transform_to(ps::chw, ps::Shape shape, const float* src, float* dst, ps::ExecutorRef) noexcept {
        ++to;
        const auto channels = static_cast<std::size_t>(shape.c);
        for (std::size_t c = 0; c < channels; c += 8) {
            const std::size_t first = c * shape.pixels(), rows = std::min<std::size_t>(8, channels - c);
            ps::transpose_columns(src + first, 8, dst + first, shape.pixels(), shape.pixels(), 0, rows);
        }
    }
};
static_assert(ps::TransformsFrom<fast_chw8c, ps::chw> && ps::TransformsTo<fast_chw8c, ps::chw>);
static_assert(!ps::TransformsFrom<fast_chw8c, ps::hwc> && !ps::TransformsFrom<chw8c, ps::chw>);

TEST_CASE("a layout's own ways to and from another are taken, the others element by element") {
    check_pair<fast_chw8c, ps::chw>();
    check_pair<ps::chw, fast_chw8c>();
    CHECK(fast_chw8c::from == 3 * static_cast<int>(all_shapes.size()));
    CHECK(fast_chw8c::to == 3 * static_cast<int>(all_shapes.size()));
    check_pair<fast_chw8c, ps::hwc>();
    CHECK(fast_chw8c::to == 3 * static_cast<int>(all_shapes.size()));
}

static_assert(ps::NeedsRange<chw_u8> && !ps::NeedsRange<fast_chw8c> && !ps::NeedsRange<ps::hwc>);
static_assert(ps::TransformsFrom<chw_u8, ps::chw> && ps::TransformsTo<chw_u8, ps::chw>);

TEST_CASE("a transform gives a layout of bytes the range") {
    const ps::Shape shape{2, 1, 2};
    const float src[]{-0.5F, 0.0F, 0.25F, 1.0F};
    std::uint8_t bytes[4];
    float back[4];
    const ps::TensorRange range{.scale = 0.25F, .zero_point = 1};
    ps::Sequential sequential;
    ps::transform<ps::chw, chw_u8>(shape, src, reinterpret_cast<float*>(bytes), sequential, range);
    CHECK(std::vector<int>(bytes, bytes + 4) == std::vector<int>{0, 1, 2, 5});
    ps::transform<chw_u8, ps::chw>(shape, reinterpret_cast<const float*>(bytes), back, sequential, range);
    CHECK(std::vector<float>(back, back + 4) == std::vector<float>{-0.25F, 0.0F, 0.25F, 1.0F});
}

TEST_CASE("every transform moves each element to its place, and back, on any executor") {
    for_each_order([]<class From>(From) { check_from<From>(); });
    check_from<chw8c>();
}

TEST_CASE("a transform copies bits, NaN and all") {
    const ps::Shape shape{5, 3, 4};
    std::vector<std::uint32_t> bits(shape.size());
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = 0x7FA00000U + static_cast<std::uint32_t>(i);  // signalling
    std::vector<float> src(bits.size()), dst(bits.size()), back(bits.size());
    std::memcpy(src.data(), bits.data(), bits.size() * sizeof(float));
    ps::Sequential sequential;
    ps::transform<ps::chw, ps::hwc>(shape, src.data(), dst.data(), sequential);
    ps::transform<ps::hwc, ps::chw>(shape, dst.data(), back.data(), sequential);
    CHECK(std::memcmp(back.data(), bits.data(), bits.size() * sizeof(float)) == 0);
}

}  // namespace
