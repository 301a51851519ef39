#include "chw8c.hpp"

#include <primsel/tensor/view.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

namespace ps = primsel;

template <class L>
void check_view() {
    const ps::Shape shape{9, 2, 3};
    std::vector<float> data(3 * L::size(shape));
    const ps::TensorView<float, L> view(data.data(), shape, 3);
    CHECK(view.shape() == shape);
    CHECK(view.batch() == 3);
    CHECK(view.image_size() == L::size(shape));
    CHECK(view.size() == data.size());
    CHECK(view.image(2) == data.data() + 2 * L::size(shape));
    view(1, 8, 0, 2) = 5;
    CHECK(data[L::size(shape) + L::offset(shape, {8, 0, 2})] == 5);
    view(8, 1, 1) = 7;
    CHECK(data[L::offset(shape, {8, 1, 1})] == 7);
    const ps::TensorView<const float, L> read_only = view;
    CHECK(read_only(1, 8, 0, 2) == 5);
    CHECK(read_only.data() == data.data());
}

TEST_CASE("a view sees a batch of images in its layout") {
    check_view<ps::chw>();
    check_view<ps::hcw>();
    check_view<ps::hwc>();
    check_view<chw8c>();
    static_assert(!std::is_convertible_v<ps::TensorView<const float>, ps::TensorView<float>>);
    static_assert(!std::is_convertible_v<ps::TensorView<float, ps::chw>, ps::TensorView<const float, ps::hwc>>);
}

}  // namespace
