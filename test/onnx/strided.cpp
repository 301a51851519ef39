#include <doctest/doctest.h>

#include <primsel/onnx/detail/strided.hpp>
#include <random>

namespace ps = primsel;
namespace onnx = primsel::onnx;

namespace {

using Ints = std::vector<std::int64_t>;

/// Positions of a row-major tensor's elements, walked with extents and strides.
Ints walk(Ints const& dims, Ints const& strides, std::int64_t offset) {
    Ints result{offset};
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        Ints next;
        for (const std::int64_t at : result) {
            for (std::int64_t i = 0; i < dims[axis]; ++i) next.push_back(at + i * strides[axis]);
        }
        result = next;
    }
    return result;
}

/// The elements that ONNX's Reshape, Slice, Transpose, Reshape and Expand make of a box, by their definitions.
Ints elements_of(onnx::StridedBox const& box, std::int64_t size) {
    Ints dims = box.view, strides(dims.size()), steps;
    std::int64_t stride = 1, offset = 0;
    for (std::size_t axis = dims.size(); axis-- > 0; stride *= dims[axis]) strides[axis] = stride;
    REQUIRE(stride == size);
    for (auto const& slice : box.slices) {
        const auto axis = static_cast<std::size_t>(slice.axis);
        REQUIRE(axis < dims.size());
        REQUIRE(slice.start < dims[axis]);
        // An end below 0 counts from the last, and what is still below 0 is before the first.
        const std::int64_t end = slice.end >= 0 ? slice.end : slice.end + dims[axis];
        Ints taken;
        for (std::int64_t i = slice.start;
             slice.step > 0 ? i < std::min(end, dims[axis]) : i > std::max<std::int64_t>(end, -1); i += slice.step) {
            taken.push_back(i);
        }
        offset += slice.start * strides[axis];
        dims[axis] = static_cast<std::int64_t>(taken.size());
        strides[axis] *= slice.step;
    }
    Ints to_dims, to_strides;
    for (const std::int64_t axis : box.order) {
        to_dims.push_back(dims[static_cast<std::size_t>(axis)]);
        to_strides.push_back(strides[static_cast<std::size_t>(axis)]);
    }
    REQUIRE(box.order.size() == box.view.size());
    const Ints gathered = walk(to_dims, to_strides, offset);
    if (box.repeats.empty()) return gathered;
    Ints single_strides(box.single.size());
    std::int64_t count = 1;
    for (std::size_t axis = box.single.size(); axis-- > 0; count *= box.single[axis]) {
        REQUIRE((box.single[axis] == 1 || box.single[axis] == box.repeats[axis]));
        single_strides[axis] = box.single[axis] == 1 ? 0 : count;
    }
    REQUIRE(count == static_cast<std::int64_t>(gathered.size()));
    Ints result;
    for (const std::int64_t at : walk(box.repeats, single_strides, 0)) {
        result.push_back(gathered[static_cast<std::size_t>(at)]);
    }
    return result;
}

Ints expected(ps::AsStridedParams const& p) {
    Ints dims, strides;
    for (std::size_t axis = 0; axis < p.dims.rank(); ++axis) {
        dims.push_back(p.dims[axis]), strides.push_back(p.strides[axis]);
    }
    return walk(dims, strides, p.offset);
}

}  // namespace

TEST_CASE("permutations, slices with steps, flips and repetitions of an image are boxes with the same elements") {
    std::mt19937 bits(1);
    const auto pick = [&bits](int low, int high) { return std::uniform_int_distribution(low, high)(bits); };
    for (int i = 0; i < 2000; ++i) {
        const int extents[] = {pick(1, 5), pick(1, 5), pick(1, 5)};
        const int size = extents[0] * extents[1] * extents[2];
        const std::ptrdiff_t strides[] = {extents[1] * extents[2], extents[2], 1};
        std::size_t order[] = {0, 1, 2};
        std::shuffle(std::begin(order), std::end(order), bits);
        ps::AsStridedParams p;
        for (const std::size_t axis : order) {
            if (pick(0, 5) == 0) p.dims.push_back(pick(1, 3));  // repeated
            const int step = pick(1, 2);
            const int first = pick(0, 1) == 1 ? pick(0, extents[axis] - 1) : 0;
            const int count = (extents[axis] - first + step - 1) / step;
            const bool back = pick(0, 3) == 0;
            p.strides[p.dims.rank()] = (back ? -step : step) * strides[axis];
            p.dims.push_back(count);
            p.offset += (first + (back ? (count - 1) * step : 0)) * strides[axis];
        }
        CAPTURE(i);
        const auto box = onnx::strided_box(p, size);
        REQUIRE(box.has_value());
        CHECK(elements_of(*box, size) == expected(p));
        CHECK(onnx::strided_indices(p) == expected(p));
    }
}

TEST_CASE("any strides: a box with the same elements or none") {
    std::mt19937 bits(2);
    const auto pick = [&bits](int low, int high) { return std::uniform_int_distribution(low, high)(bits); };
    int boxes = 0;
    for (int i = 0; i < 5000; ++i) {
        ps::AsStridedParams p;
        int lowest = 0, highest = 0;
        for (int axis = pick(1, 3); axis > 0; --axis) {
            const int count = pick(1, 4), stride = pick(-8, 12);
            p.strides[p.dims.rank()] = stride;
            p.dims.push_back(count);
            (stride < 0 ? lowest : highest) += (count - 1) * stride;
        }
        p.offset = pick(0, 3) - lowest;
        const int size = static_cast<int>(p.offset) + highest + pick(1, 12);
        CAPTURE(i);
        const auto box = onnx::strided_box(p, size);
        boxes += box.has_value();
        if (box) CHECK(elements_of(*box, size) == expected(p));
    }
    CHECK(boxes > 500);
    CHECK(boxes < 4500);
}

TEST_CASE("overlapping windows are no box; one element and whole inputs are") {
    CHECK_FALSE(onnx::strided_box({.dims = {4, 3}, .strides = {1, 1}, .shape = {.c = 12}}, 6).has_value());
    const auto whole = onnx::strided_box({.dims = {6}, .strides = {1}, .shape = {.c = 6}}, 6);
    REQUIRE(whole.has_value());
    CHECK(whole->view == Ints{6});
    CHECK(whole->slices.empty());
    CHECK(whole->repeats.empty());
    const auto last = onnx::strided_box({.dims = {1}, .strides = {1}, .offset = 5, .shape = {}}, 6);
    REQUIRE(last.has_value());
    CHECK(elements_of(*last, 6) == Ints{5});
}
