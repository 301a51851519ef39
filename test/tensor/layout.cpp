#include "chw8c.hpp"
#include "orders.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

namespace ps = primsel;

struct NoName {
    static std::size_t size(ps::Shape);
    static std::size_t offset(ps::Shape, ps::Coord);
};
struct NoOffset {
    static constexpr std::string_view name = "?";
    static std::size_t size(ps::Shape);
};

static_assert(ps::Layout<ps::chw> && ps::Layout<ps::hcw> && ps::Layout<ps::hwc> && ps::Layout<chw8c>);
static_assert(ps::StridedLayout<ps::chw> && ps::StridedLayout<ps::hcw> && ps::StridedLayout<ps::hwc>);
static_assert(!ps::StridedLayout<chw8c> && !ps::Layout<NoName> && !ps::Layout<NoOffset> && !ps::Layout<int>);

const std::vector<ps::Shape> shapes = {{1, 1, 1}, {5, 1, 1}, {1, 7, 1}, {1, 1, 9},  {3, 2, 1},  {2, 1, 5},
                                       {1, 4, 3}, {2, 3, 4}, {8, 3, 2}, {17, 5, 7}, {9, 11, 13}};

template <class L>
void check_bijection() {
    for (ps::Shape const& shape : shapes) {
        CAPTURE(L::name);
        CAPTURE(ps::to_string(shape));
        const std::size_t size = L::size(shape);
        CHECK(size >= shape.size());
        if (ps::StridedLayout<L>) CHECK(size == shape.size());
        std::vector<int> used(size);
        std::size_t outside = 0;
        for (int c = 0; c < shape.c; ++c) {
            for (int h = 0; h < shape.h; ++h) {
                for (int w = 0; w < shape.w; ++w) {
                    const std::size_t at = L::offset(shape, {c, h, w});
                    if (at < size)
                        ++used[at];
                    else
                        ++outside;
                }
            }
        }
        CHECK(outside == 0);
        CHECK(std::ranges::max(used) == 1);
        CHECK(static_cast<std::size_t>(std::ranges::count(used, 1)) == shape.size());
    }
}

TEST_CASE("a layout puts every element somewhere else inside its size") {
    for_each_order([]<class L>(L) { check_bijection<L>(); });
    check_bijection<chw8c>();
}

TEST_CASE("the axes of a layout's name, from the slowest to the fastest") {
    constexpr ps::Shape shape{3, 5, 7};
    CHECK(ps::chw::offset(shape, {2, 4, 6}) == 2 * 35 + 4 * 7 + 6);
    CHECK(ps::hcw::offset(shape, {2, 4, 6}) == 4 * 21 + 2 * 7 + 6);
    CHECK(ps::hwc::offset(shape, {2, 4, 6}) == 4 * 21 + 6 * 3 + 2);
    CHECK(ps::chw::strides(shape) == ps::Strides{35, 7, 1});
    CHECK(ps::hcw::strides(shape) == ps::Strides{7, 21, 1});
    CHECK(ps::hwc::strides(shape) == ps::Strides{1, 21, 3});
    CHECK(ps::chw::name == "chw");
    CHECK(ps::hcw::name == "hcw");
    CHECK(ps::hwc::name == "hwc");
}

/// chw but for a gap behind each row, or with strides of no use along axes of one element.
struct WithGaps : ps::chw {
    static constexpr ps::Strides strides(ps::Shape shape) {
        const auto w = static_cast<std::size_t>(shape.w) + 1;
        return {static_cast<std::size_t>(shape.h) * w, w, 1};
    }
};
struct WithZeros : ps::chw {
    static constexpr ps::Strides strides(ps::Shape shape) {
        ps::Strides strides = ps::chw::strides(shape);
        if (shape.h == 1) strides.h = 0;
        return strides;
    }
};

TEST_CASE("the axes of a strided layout in their order, without gaps") {
    for_each_order([]<class L>(L) {
        CAPTURE(L::name);
        std::string order;
        for (const ps::Axis axis : ps::axis_order<L>())
            order += axis == ps::Axis::c ? 'c' : axis == ps::Axis::h ? 'h' : 'w';
        CHECK(order == L::name);
        for (ps::Shape const& shape : shapes) CHECK(ps::is_dense<L>(shape));
    });
    CHECK_FALSE(ps::is_dense<WithGaps>({3, 2, 4}));
    CHECK(ps::is_dense<WithZeros>({3, 2, 4}));
    CHECK_FALSE(ps::is_dense<WithZeros>({3, 1, 4}));
}

template <class From, class To>
void check_same_placement() {
    for (ps::Shape const& shape : shapes) {
        bool same = true;
        for (int c = 0; c < shape.c; ++c) {
            for (int h = 0; h < shape.h; ++h) {
                for (int w = 0; w < shape.w; ++w) {
                    same = same && From::offset(shape, {c, h, w}) == To::offset(shape, {c, h, w});
                }
            }
        }
        CAPTURE(ps::to_string(shape));
        CHECK(ps::same_placement<From, To>(shape) == same);
    }
}

TEST_CASE("same_placement is true exactly where no element moves") {
    for_each_order([]<class From>(From) { for_each_order([]<class To>(To) { check_same_placement<From, To>(); }); });
    // Nothing is known of other layouts but that they are themselves.
    CHECK(ps::same_placement<chw8c, chw8c>({9, 2, 2}));
    CHECK_FALSE(ps::same_placement<chw8c, ps::hwc>({9, 2, 2}));
}

}  // namespace
