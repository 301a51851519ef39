#include <primsel/train/data.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "values.hpp"

namespace ps = primsel;
using values::error_of;

static_assert(ps::DataSource<ps::LabelledImages> && ps::DataSource<ps::Subset<ps::LabelledImages>>);
static_assert(!ps::DataSource<std::vector<float>>);

TEST_CASE("bytes are read as 255ths, floats as they are") {
    ps::LabelledImages images{.image = {1, 1, 2}, .bytes = {0, 255, 51, 102}, .labels = {1, 0}, .class_count = 2};
    float values[2];
    images.read(1, values);
    CHECK(values[0] == 51.0F / 255.0F);
    CHECK(values[1] == 102.0F / 255.0F);
    CHECK(images.label(0) == 1);
    images.bytes.clear();
    images.floats = {1, 2, -3, 1e9F};
    ps::check_images("f", images);
    images.read(1, values);
    CHECK(values[0] == -3.0F);
    CHECK(values[1] == 1e9F);
}

TEST_CASE("images that no network can be trained with are refused") {
    const ps::LabelledImages sound = values::numbered(3);
    ps::check_images("f", sound);
    const auto refused = [&](auto const& change) {
        ps::LabelledImages images = sound;
        change(images);
        return error_of([&] { ps::check_images("f", images); });
    };
    CHECK(refused([](auto& i) { i.image.h = 0; }) == "f: impossible shape 1x0x3");
    CHECK(refused([](auto& i) { i.image.h = 1 << 30; }).starts_with("f: impossible shape"));
    CHECK(refused([](auto& i) { i.labels.clear(); }) == "f: there are no images");
    CHECK(refused([](auto& i) { i.floats.resize(18); }) == "f: images are bytes or floats, not both");
    CHECK(refused([](auto& i) { i.bytes.pop_back(); }) == "f: 17 values are not 3 images of 1x2x3");
    CHECK(refused([](auto& i) { i.labels.pop_back(); }) == "f: 18 values are not 2 images of 1x2x3");
    CHECK(refused([](auto& i) { i.class_count = 0; }) == "f: there are no classes");
    CHECK(refused([](auto& i) { i.class_names = {"one"}; }) == "f: 1 names for 3 classes");
    CHECK(refused([](auto& i) { i.labels[1] = 3; }) == "f: image 1: label 3 is none of the 3 classes");
    CHECK(refused([](auto& i) { i.labels[2] = -1; }) == "f: image 2: label -1 is none of the 3 classes");
}

TEST_CASE("a split has every sample once, drawn by the seed") {
    const ps::LabelledImages images = values::numbered(30);
    const auto parts = ps::split(images, 0.25, 7);
    CHECK(parts.validation.size() == 8);
    std::vector<std::size_t> all = parts.train.indices();
    all.insert(all.end(), parts.validation.indices().begin(), parts.validation.indices().end());
    std::ranges::sort(all);
    for (std::size_t i = 0; i < 30; ++i) CHECK(all[i] == i);
    CHECK(ps::split(images, 0.25, 7).train.indices() == parts.train.indices());
    CHECK(ps::split(images, 0.25, 8).train.indices() != parts.train.indices());
    CHECK(ps::split(images, 0).validation.size() == 0);
    CHECK(ps::split(images, 1).train.size() == 0);
    for (const double share : {-0.1, 1.1, std::nan("")}) {
        CHECK(error_of([&] { (void)ps::split(images, share); }).starts_with("split: a share of "));
    }
    const std::size_t which = parts.validation.indices()[3];
    std::vector<float> own(6), whole(6);
    parts.validation.read(3, own.data());
    images.read(which, whole.data());
    CHECK(own == whole);
    CHECK(parts.validation.label(3) == images.label(which));
    CHECK(parts.validation.classes() == 3);
    CHECK(error_of([&] { (void)ps::Subset<ps::LabelledImages>(images, {30}); }) ==
          "subset: there is no sample 30 of 30");
}

TEST_CASE("normalised, each channel has mean 0 and deviation 1") {
    ps::LabelledImages images{.image = {3, 4, 5}, .labels = std::vector<int>(50), .class_count = 1};
    images.floats = values::drawn(3000, 1);
    for (std::size_t i = 0; i < images.floats.size(); ++i) {
        const std::size_t c = i / 20 % 3;
        if (c == 1) images.floats[i] = images.floats[i] * 1e-3F + 100;
        if (c == 2) images.floats[i] = 4;
    }
    const ps::Normalise normalise = ps::normalisation(images);
    ps::check_normalise(normalise, images.image);
    CHECK(normalise.mean[2] == 4);
    CHECK(normalise.deviation[2] == 1);
    std::vector<float> image(60);
    double sums[3] = {}, squares[3] = {};
    for (std::size_t i = 0; i < images.size(); ++i) {
        images.read(i, image.data());
        normalise(images.image, image.data());
        for (std::size_t p = 0; p < 60; ++p) {
            sums[p / 20] += image[p];
            squares[p / 20] += static_cast<double>(image[p]) * image[p];
        }
    }
    for (std::size_t c = 0; c < 3; ++c) {
        CAPTURE(c);
        CHECK(std::abs(sums[c] / 1000) < 5e-3);  // of 100, floats are 7.6e-6 apart
        CHECK(squares[c] / 1000 == doctest::Approx(c == 2 ? 0 : 1).epsilon(5e-3));
    }
    ps::Normalise{}(images.image, image.data());

    CHECK(error_of([] { (void)ps::normalisation(ps::LabelledImages{}); }) == "normalisation: there are no images");
    const auto refused = [](ps::Normalise const& n) { return error_of([&] { ps::check_normalise(n, {3, 1, 1}); }); };
    CHECK(refused({{1, 2}, {1, 1}}) == "normalise: 2 means and 2 deviations for images of 3x1x1");
    CHECK(refused({{1, 2, 3}, {1, 1}}) == "normalise: 3 means and 2 deviations for images of 3x1x1");
    CHECK(refused({{1, 2, 3}, {1, 0, 1}}).starts_with("normalise: channel 1: "));
    CHECK(refused({{1, NAN, 3}, {1, 1, 1}}).starts_with("normalise: channel 1: "));
    CHECK(refused({}).empty());
}
