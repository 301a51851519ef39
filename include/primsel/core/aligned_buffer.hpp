#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/huge_pages.hpp>

#include <cstddef>
#include <limits>
#include <new>
#include <span>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Bytes: the size of a cache line and of the widest vector.
inline constexpr std::size_t alignment = 64;

/// Returns the number of floats rounded up to whole cache lines.
[[nodiscard]] constexpr std::size_t round_up_floats(std::size_t floats) {
    constexpr std::size_t line = alignment / sizeof(float);
    return (floats + line - 1) / line * line;
}

/// Returns the number of bytes rounded up to whole cache lines.
[[nodiscard]] constexpr std::size_t round_up_bytes(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

/// Returns the size in bytes of so many floats; the largest size_t where it does not fit.
[[nodiscard]] constexpr std::size_t bytes_of_floats(std::size_t floats) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return floats > most / sizeof(float) ? most : floats * sizeof(float);
}
/// Returns the least number of floats that hold so many bytes.
[[nodiscard]] constexpr std::size_t floats_for_bytes(std::size_t bytes) {
    return bytes / sizeof(float) + (bytes % sizeof(float) != 0 ? 1 : 0);
}

#ifdef __cpp_exceptions
/// Owns uninitialised floats, aligned to a cache line. Buffers of 2 MiB and more are aligned to a huge page, and the
/// system is asked for huge pages.
class AlignedBuffer {
public:
    AlignedBuffer() = default;
    /// Throws std::bad_alloc, also when the size in bytes does not fit size_t.
    explicit AlignedBuffer(std::size_t floats) : floats_(floats), align_(alignment) {
        if (floats == 0) return;
        if (floats > std::numeric_limits<std::size_t>::max() / (2 * sizeof(float))) throw std::bad_alloc();
        const std::size_t bytes = round_up_floats(floats) * sizeof(float);
        if (bytes >= core::huge_page) align_ = core::huge_page;
        data_ = static_cast<float*>(::operator new(bytes, std::align_val_t{align_}));
        core::ask_for_huge_pages(data_, bytes);
    }
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), floats_(std::exchange(other.floats_, 0)), align_(other.align_) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(floats_, other.floats_);
        std::swap(align_, other.align_);
        return *this;
    }
    ~AlignedBuffer() {
        if (data_ != nullptr) ::operator delete(data_, std::align_val_t{align_});
    }

    [[nodiscard]] float* data() noexcept { return data_; }
    [[nodiscard]] const float* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return floats_; }
    [[nodiscard]] std::span<float> span() noexcept { return {data_, floats_}; }
    [[nodiscard]] std::span<const float> span() const noexcept { return {data_, floats_}; }

private:
    float* data_ = nullptr;
    std::size_t floats_ = 0;
    std::size_t align_ = alignment;
};
#endif

}  // namespace primsel::inline PRIMSEL_ABI
