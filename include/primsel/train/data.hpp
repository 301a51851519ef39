#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/tensor/shape.hpp>
#include <primsel/train/random.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A source of images to train with: images of one shape, each with a label of 0 to classes() - 1. `read(i, dst)`
/// writes the shape().size() floats of image i, chw, by custom 0 to 1; it may throw, and is called from the thread of
/// Batches. See docs/train/data.md.
///
/// A minimal model:
///     struct Mine {
///         std::size_t size() const { return 1000; }
///         primsel::Shape shape() const { return {1, 8, 8}; }
///         int classes() const { return 2; }
///         void read(std::size_t i, float* dst) const { std::fill_n(dst, 64, i % 2 == 0 ? 0.0F : 1.0F); }
///         int label(std::size_t i) const { return static_cast<int>(i % 2); }
///     };
template <class S>
concept DataSource = requires(S const& source, std::size_t index, float* dst) {
    { source.size() } -> std::convertible_to<std::size_t>;
    { source.shape() } -> std::convertible_to<Shape>;
    { source.classes() } -> std::convertible_to<int>;
    source.read(index, dst);
    { source.label(index) } -> std::convertible_to<int>;
};

/// Images and labels in memory, as bytes or as floats: one of both is empty. Image i is the shape.size() values, chw,
/// from i * shape.size() on. Bytes are read as floats from 0 to 1, 255 parts each; floats as they are.
struct LabelledImages {
    Shape image = {};
    std::vector<std::uint8_t> bytes = {};
    std::vector<float> floats = {};
    std::vector<int> labels = {};
    int class_count = 0;
    /// One for each class, or none at all.
    std::vector<std::string> class_names = {};

    [[nodiscard]] std::size_t size() const { return labels.size(); }
    [[nodiscard]] Shape shape() const { return image; }
    [[nodiscard]] int classes() const { return class_count; }
    void read(std::size_t index, float* dst) const {
        const std::size_t count = image.size(), begin = index * count;
        if (bytes.empty()) {
            std::copy_n(floats.data() + begin, count, dst);
        } else {
            for (std::size_t i = 0; i < count; ++i) dst[i] = static_cast<float>(bytes[begin + i]) / 255.0F;
        }
    }
    [[nodiscard]] int label(std::size_t index) const { return labels[index]; }
};

/// Throws error, beginning with the name, for images that no network can be trained with: none at all, of an impossible
/// shape, values that do not fill them, labels or names that do not fit the classes.
inline void check_images(std::string_view name, LabelledImages const& images) {
    const Shape shape = images.image;
    if (shape.c < 1 || shape.h < 1 || shape.w < 1 || !within_bounds(shape)) {
        fail(name, ": impossible shape ", to_string(shape));
    }
    if (images.labels.empty()) fail(name, ": there are no images");
    if (!images.bytes.empty() && !images.floats.empty()) fail(name, ": images are bytes or floats, not both");
    const std::size_t values = images.bytes.size() + images.floats.size();
    if (values % shape.size() != 0 || values / shape.size() != images.size()) {
        fail(name, ": ", values, " values are not ", images.size(), " images of ", to_string(shape));
    }
    if (images.class_count < 1) fail(name, ": there are no classes");
    if (!images.class_names.empty() && images.class_names.size() != static_cast<std::size_t>(images.class_count)) {
        fail(name, ": ", images.class_names.size(), " names for ", images.class_count, " classes");
    }
    for (std::size_t i = 0; i < images.size(); ++i) {
        const int label = images.labels[i];
        if (label < 0 || label >= images.class_count) {
            fail(name, ": image ", i, ": label ", label, " is none of the ", images.class_count, " classes");
        }
    }
}

/// Throws error, beginning with `who`, where the source has no images, or images or classes that do not fit a network
/// that takes such an image and has so many results.
template <DataSource Source>
void check_fits(std::string_view who, Source const& source, Shape const& image, std::size_t results) {
    if (source.size() == 0) fail(who, ": there are no images");
    if (source.shape() != image) {
        fail(who, ": the images are ", to_string(source.shape()), ", the network takes ", to_string(image));
    }
    if (const auto classes = static_cast<std::size_t>(source.classes()); classes > results) {
        fail(who, ": the labels are of ", classes, " classes, the network's result has ", results, " values");
    }
}

/// Some samples of a source, in an order of its own. The source must outlive it.
template <DataSource Source>
class Subset {
public:
    /// Throws error for an index beyond the source's.
    Subset(Source const& source, std::vector<std::size_t> indices) : source_(&source), indices_(std::move(indices)) {
        for (const std::size_t index : indices_) {
            if (index >= source.size()) fail("subset: there is no sample ", index, " of ", source.size());
        }
    }
    Subset(Source const&& source, std::vector<std::size_t> indices) = delete;

    [[nodiscard]] std::size_t size() const { return indices_.size(); }
    [[nodiscard]] Shape shape() const { return source_->shape(); }
    [[nodiscard]] int classes() const { return source_->classes(); }
    void read(std::size_t index, float* dst) const { source_->read(indices_[index], dst); }
    [[nodiscard]] int label(std::size_t index) const { return source_->label(indices_[index]); }
    /// Which of the source's samples they are.
    [[nodiscard]] std::vector<std::size_t> const& indices() const { return indices_; }

private:
    const Source* source_;
    std::vector<std::size_t> indices_;
};

/// The samples to train with, and those held back to judge by.
template <DataSource Source>
struct TrainValidation {
    Subset<Source> train, validation;
};

/// Holds back this share of the samples, 0 to 1, rounded to the nearest count and drawn by the seed. The source must
/// outlive both parts. Throws error for other shares.
template <DataSource Source>
[[nodiscard]] TrainValidation<Source> split(Source const& source, double held_back, std::uint64_t seed = 0) {
    const bool is_share = held_back >= 0 && held_back <= 1;
    if (!is_share) fail("split: a share of ", held_back, " is none from 0 to 1");
    std::vector<std::size_t> order(source.size());
    permute(order, Random(seed));
    const auto count = static_cast<std::ptrdiff_t>(std::llround(held_back * static_cast<double>(order.size())));
    const auto begin = order.begin(), middle = order.end() - count;
    return {Subset<Source>(source, {begin, middle}), Subset<Source>(source, {middle, order.end()})};
}
template <DataSource Source>
TrainValidation<Source> split(Source const&& source, double held_back, std::uint64_t seed = 0) = delete;

/// Takes the mean of each channel from its values and divides them by the deviation; nothing, where there are none.
struct Normalise {
    std::vector<float> mean = {}, deviation = {};

    /// An image, chw, of as many channels.
    void operator()(Shape shape, float* image) const noexcept {
        for (std::size_t c = 0; c < mean.size(); ++c) {
            const float low = mean[c], scale = 1.0F / deviation[c];
            float* channel = image + c * shape.pixels();
            for (std::size_t i = 0; i < shape.pixels(); ++i) channel[i] = (channel[i] - low) * scale;
        }
    }
};

/// Throws error where there are not as many means and deviations as channels, or a deviation is not above 0.
inline void check_normalise(Normalise const& normalise, Shape shape) {
    const std::size_t count = normalise.mean.size();
    if (count != normalise.deviation.size() || (count != 0 && count != static_cast<std::size_t>(shape.c))) {
        fail("normalise: ", count, " means and ", normalise.deviation.size(), " deviations for images of ",
             to_string(shape));
    }
    for (std::size_t c = 0; c < count; ++c) {
        if (!is_finite(normalise.mean[c]) || !is_finite(normalise.deviation[c]) || !(normalise.deviation[c] > 0)) {
            fail("normalise: channel ", c, ": mean ", normalise.mean[c], ", deviation ", normalise.deviation[c]);
        }
    }
}

/// The mean and deviation of each channel over all images; a deviation of 1 where all values are the same.
/// Throws error for a source without images.
template <DataSource Source>
[[nodiscard]] Normalise normalisation(Source const& source) {
    if (source.size() == 0) fail("normalisation: there are no images");
    const Shape shape = source.shape();
    const auto channels = static_cast<std::size_t>(shape.c), pixels = shape.pixels();
    std::vector<float> image(shape.size());
    std::vector<double> mean(channels), squares(channels);
    for (std::size_t i = 0; i < source.size(); ++i) {
        source.read(i, image.data());
        for (std::size_t c = 0; c < channels; ++c) {
            const float* channel = image.data() + c * pixels;
            double own_mean = 0, own_squares = 0;
            for (std::size_t p = 0; p < pixels; ++p) own_mean += channel[p];
            own_mean /= static_cast<double>(pixels);
            for (std::size_t p = 0; p < pixels; ++p) own_squares += (channel[p] - own_mean) * (channel[p] - own_mean);
            // Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
            const double apart = own_mean - mean[c], images = static_cast<double>(i) + 1;
            mean[c] += apart / images;
            squares[c] += own_squares + apart * apart * static_cast<double>(pixels) * (images - 1) / images;
        }
    }
    Normalise result{std::vector<float>(channels), std::vector<float>(channels)};
    for (std::size_t c = 0; c < channels; ++c) {
        const double variance = squares[c] / (static_cast<double>(source.size()) * static_cast<double>(pixels));
        result.mean[c] = static_cast<float>(mean[c]);
        result.deviation[c] = variance > 0 ? static_cast<float>(std::sqrt(variance)) : 1.0F;
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
