#include "../io/scratch.hpp"

#include <doctest/doctest.h>
#include <primsel/train/npy_images.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace npy_images {
namespace {

namespace ps = primsel;
using tests::error_of;

TEST_CASE("images and labels of two arrays") {
    const scratch::Folder folder;
    const std::string i = folder.file("i.npy"), l = folder.file("l.npy");
    const std::vector<float> values{0, 1, 2, 3, 4, 5, 6, 255}, labels{2, 0};
    ps::write_npy(i, {2, 1, 2, 2}, values, ps::NpyType::uint8);
    ps::write_npy(l, {2}, labels, ps::NpyType::int64);
    const ps::LabelledImages bytes = ps::read_npy_images(i, l);
    CHECK(bytes.image == ps::Shape{1, 2, 2});
    CHECK(bytes.bytes == std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 255});
    CHECK(bytes.labels == std::vector<int>{2, 0});
    CHECK(bytes.class_count == 3);
    ps::write_npy(i, {2, 2, 2}, values);
    const ps::LabelledImages floats = ps::read_npy_images(i, l, 7);
    CHECK(floats.image == ps::Shape{1, 2, 2});
    CHECK(floats.floats == values);
    CHECK(floats.class_count == 7);

    const auto refused = [](ps::NpyArray const& images, ps::NpyArray const& of, int classes = 0) {
        return error_of([&] { (void)ps::labelled_images("i", images, "l", of, classes); });
    };
    const ps::NpyArray good{{2, 2, 2}, values}, two{{2}, labels};
    CHECK(refused(good, two).empty());
    CHECK(refused({{2, 4}, values}, two) == "i: its shape 2x4 is neither n x h x w nor n x c x h x w");
    CHECK(refused(good, {{3}, {0, 1, 2}}) == "l: its shape 3 is not the 2 of the images in i");
    CHECK(refused(good, {{2, 1}, labels}) == "l: its shape 2x1 is not the 2 of the images in i");
    CHECK(refused({{0, 2, 2}, {}}, {{0}, {}}) == "i: its shape 0x2x2 is no number of images");
    CHECK(refused({{2, 0, 2}, {}}, two) == "i: its shape 2x0x2 is no number of images");
    CHECK(refused({{1, 1, 2}, {1, HUGE_VALF}}, {{1}, {0}}) == "i: element 1 is not finite");
    CHECK(refused(good, two, 2) == "l: element 0, 2, is none of the 2 classes");
    for (const float label : {-1.0F, 0.5F, 1e9F, HUGE_VALF, std::nanf("")}) {
        CHECK(refused(good, {{2}, {0, label}}).starts_with("l: element 1, "));
    }
}

}  // namespace
}  // namespace npy_images
