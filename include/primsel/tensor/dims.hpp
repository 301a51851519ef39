#pragma once

#include <primsel/core/config.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// The extents of a tensor of any rank up to max_rank, outermost first. Elements lie row-major: elements that differ by
/// 1 along the last axis are neighbours in memory.
class Dims {
public:
    static constexpr std::size_t max_rank = 8;

    constexpr Dims() = default;
    /// Precondition: at most max_rank extents. Callers check the number first.
    constexpr Dims(std::initializer_list<int> extents) {
        for (const int extent : extents) push_back(extent);
    }
    constexpr void push_back(int extent) { extents_[rank_++] = extent; }

    [[nodiscard]] constexpr std::size_t rank() const { return rank_; }
    [[nodiscard]] constexpr int operator[](std::size_t axis) const { return extents_[axis]; }
    [[nodiscard]] constexpr int& operator[](std::size_t axis) { return extents_[axis]; }
    [[nodiscard]] constexpr const int* begin() const { return extents_.data(); }
    [[nodiscard]] constexpr const int* end() const { return extents_.data() + rank_; }
    /// The number of elements; 1 for rank 0.
    [[nodiscard]] constexpr std::size_t size() const {
        std::size_t size = 1;
        for (const int extent : *this) size *= static_cast<std::size_t>(extent);
        return size;
    }
    friend constexpr bool operator==(Dims const&, Dims const&) = default;

private:
    std::array<int, max_rank> extents_{};  // 0 beyond the rank
    std::size_t rank_ = 0;
};

/// Returns the extents as text, e.g. "2x3x4"; "scalar" for rank 0.
[[nodiscard]] inline std::string to_string(Dims const& dims) {
    std::string text;
    for (const int extent : dims) {
        if (!text.empty()) text += 'x';
        text += std::to_string(extent);
    }
    return text.empty() ? "scalar" : text;
}

}  // namespace primsel::inline PRIMSEL_ABI
