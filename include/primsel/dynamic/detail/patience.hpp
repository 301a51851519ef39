#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// Counts the images for which another point is better, and tells when to take it. The number of images needed doubles
/// if a point that was taken has to be left within 64 images, and halves when one lasts for 512.
class Patience {
public:
    explicit Patience(std::size_t images) noexcept : least_(images), images_(images) {}

    /// Counts an image for which another point is better. Returns whether there were enough of them.
    bool wait() noexcept { return ++waited_ > images_; }
    void nothing_better() noexcept { waited_ = 0; }
    /// The better point is taken.
    void take() noexcept { waited_ = 0, since_taken_ = 0; }
    /// The present point has to be left.
    void give_up() noexcept {
        waited_ = 0;
        if (since_taken_ < trial) images_ = std::min(2 * std::max<std::size_t>(images_, 1), longest);
        since_taken_ = lasting;
    }
    /// Counts an image that ran.
    void image() noexcept {
        if (since_taken_ >= lasting || ++since_taken_ < lasting) return;
        images_ = std::max(images_ / 2, least_);
    }
    /// Forgets what was learned, since the machine or the budget changed.
    void reset() noexcept { images_ = least_, since_taken_ = lasting; }

private:
    static constexpr std::size_t trial = 64, lasting = 512, longest = 512;
    std::size_t least_, images_, waited_ = 0, since_taken_ = lasting;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
