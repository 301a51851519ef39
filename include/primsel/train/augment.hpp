#pragma once

#include <primsel/tensor/shape.hpp>
#include <primsel/train/random.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Changes an image, chw, each time that it is trained with, as `random` draws; `scratch` has room for as many floats.
/// Neither throws nor allocates. The generator is made for this image in this epoch alone: what is drawn from it
/// depends on nothing else.
///
/// A minimal model:
///     struct Mine {
///         void operator()(primsel::Shape shape, float* image, float*, primsel::Random& random) const noexcept {
///             if (random.coin()) std::reverse(image, image + shape.size());
///         }
///     };
template <class A>
concept Augmentation = requires(A const& augment, Shape shape, float* values, Random& random) {
    { augment(shape, values, values, random) } noexcept;
};

/// Leaves images as they are.
struct NoAugment {
    void operator()(Shape, float* /*image*/, float* /*scratch*/, Random&) const noexcept {}
};

/// The customary augmentation of small photographs: first the crop, then the flip, then the erased patch.
struct Augment {
    /// Mirrors half of the images, left to right.
    bool flip = false;
    /// Moves the image by up to so many pixels in each direction; what comes in is 0: a random crop of the image with
    /// so many zeros around it.
    int crop = 0;
    /// Sets a square of so many pixels a side to 0, whose middle is anywhere in the image (DeVries and Taylor, Improved
    /// regularization of convolutional neural networks with cutout, 2017).
    int erase = 0;

    void operator()(Shape shape, float* image, float* scratch, Random& random) const noexcept {
        if (crop > 0) {
            const int down = offset(crop, random), right = offset(crop, random);
            std::copy_n(image, shape.size(), scratch);
            for_rows(shape, [&](int c, int h) {
                float* dst = image + row(shape, c, h);
                std::fill_n(dst, shape.w, 0.0F);
                const int from = h - down;
                const int begin = std::max(right, 0), end = std::min(shape.w, shape.w + right);
                if (from < 0 || from >= shape.h || begin >= end) return;
                std::copy_n(scratch + row(shape, c, from) + (begin - right), end - begin, dst + begin);
            });
        }
        if (flip && random.coin()) {
            for_rows(shape, [&](int c, int h) {
                float* begin = image + row(shape, c, h);
                std::reverse(begin, begin + shape.w);
            });
        }
        if (erase > 0) {
            const int top = within(shape.h, random) - erase / 2, left = within(shape.w, random) - erase / 2;
            const int begin = std::max(left, 0), end = std::min(left + erase, shape.w);
            for_rows(shape, [&](int c, int h) {
                if (h >= top && h - top < erase)
                    std::fill(image + row(shape, c, h) + begin, image + row(shape, c, h) + end, 0.0F);
            });
        }
    }

private:
    /// One of -most to most.
    [[nodiscard]] static int offset(int most, Random& random) noexcept {
        return static_cast<int>(random.below(2 * static_cast<std::uint64_t>(most) + 1)) - most;
    }
    [[nodiscard]] static int within(int extent, Random& random) noexcept {
        return static_cast<int>(random.below(static_cast<std::uint64_t>(extent)));
    }
    [[nodiscard]] static std::size_t row(Shape shape, int c, int h) noexcept {
        return (static_cast<std::size_t>(c) * static_cast<std::size_t>(shape.h) + static_cast<std::size_t>(h)) *
               static_cast<std::size_t>(shape.w);
    }
    template <class Call>
    static void for_rows(Shape shape, Call const& call) noexcept {
        for (int c = 0; c < shape.c; ++c) {
            for (int h = 0; h < shape.h; ++h) call(c, h);
        }
    }
};

static_assert(Augmentation<NoAugment> && Augmentation<Augment>);

}  // namespace primsel::inline PRIMSEL_ABI
