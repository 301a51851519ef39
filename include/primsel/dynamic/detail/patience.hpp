#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// For how many images something better must stay better until it is taken. Twice as long each time that it has to be
/// given back soon; half as long each time that the choice lasts.
class Patience {
public:
    explicit Patience(std::size_t images) noexcept : least_(images), images_(images) {}

    /// Another image for which there is something better. Whether that was so for long enough.
    bool wait() noexcept { return ++waited_ > images_; }
    void nothing_better() noexcept { waited_ = 0; }
    /// The better choice is taken.
    void take() noexcept { waited_ = 0, since_taken_ = 0; }
    /// The present choice has to be left.
    void give_up() noexcept {
        waited_ = 0;
        if (since_taken_ < trial) images_ = std::min(2 * std::max<std::size_t>(images_, 1), longest);
        since_taken_ = lasting;
    }
    void image() noexcept {
        if (since_taken_ >= lasting || ++since_taken_ < lasting) return;
        images_ = std::max(images_ / 2, least_);
    }
    /// Forgets the machine, as after a change of it.
    void reset() noexcept { images_ = least_, since_taken_ = lasting; }

private:
    static constexpr std::size_t trial = 64, lasting = 512, longest = 512;
    std::size_t least_, images_, waited_ = 0, since_taken_ = lasting;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
