#pragma once

#include <primsel/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Random numbers that are the same on every machine and with every standard library: SplitMix64 (Steele, Lea and
/// Flood, Fast splittable pseudorandom number generators, 2014). What it is made of, as a seed, an epoch and the index
/// of a sample, names the sequence: each is had at once, whatever was drawn from others before.
class Random {
public:
    using result_type = std::uint64_t;

    template <std::integral... Parts>
    explicit constexpr Random(std::uint64_t seed, Parts... parts) : state_(mixed(seed)) {
        ((state_ = mixed(state_ + golden + static_cast<std::uint64_t>(parts))), ...);
    }

    [[nodiscard]] static constexpr result_type min() { return 0; }
    [[nodiscard]] static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
    constexpr result_type operator()() noexcept { return mixed(state_ += golden); }

    /// One of 0 to count - 1, each as likely; 0 for a count of 0.
    constexpr std::uint64_t below(std::uint64_t count) noexcept {
        if (count == 0) return 0;
        // The remainder of 2^64 by count: so many of the smallest would make their remainders likelier.
        const std::uint64_t uneven = (max() % count + 1) % count;
        std::uint64_t drawn = (*this)();
        while (drawn < uneven) drawn = (*this)();
        return drawn % count;
    }
    /// At least 0 and less than 1, a multiple of 2^-53.
    constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
    constexpr bool coin() noexcept { return (*this)() >> 63 != 0; }

private:
    static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

    [[nodiscard]] static constexpr std::uint64_t mixed(std::uint64_t bits) {
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
        return bits ^ (bits >> 31);
    }

    std::uint64_t state_;
};

/// Writes the positions from 0 on in an order that the generator draws, each as likely (Fisher and Yates).
inline void permute(std::vector<std::size_t>& order, Random random) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t left = order.size(); left > 1; --left) {
        std::swap(order[left - 1], order[static_cast<std::size_t>(random.below(left))]);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
