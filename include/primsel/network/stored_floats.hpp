#pragma once

#include <primsel/core/aligned_buffer.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Floats that live elsewhere: a range of const float, whatever address a file has them at. Those that are not aligned
/// are copied when somebody first reads them as floats, once for all copies of this object; `bytes` and `read` need no
/// such copy. Reading is safe from several threads.
class StoredFloats {
public:
    StoredFloats() = default;
    template <class Range>
        requires(!std::same_as<std::remove_cvref_t<Range>, StoredFloats> &&
                 std::convertible_to<Range, std::span<const float>>)
    StoredFloats(Range&& range) {  // NOLINT(google-explicit-constructor)
        const std::span<const float> values(range);
        aligned_ = values.data(), size_ = values.size();
    }
    StoredFloats(const float* values, std::size_t size) : aligned_(values), size_(size) {}
    /// Whole floats at any address.
    [[nodiscard]] static StoredFloats of_bytes(std::span<const std::byte> bytes) {
        StoredFloats floats;
        floats.size_ = bytes.size() / sizeof(float);
        const void* const address = bytes.data();
        if (reinterpret_cast<std::uintptr_t>(address) % alignof(float) == 0)
            floats.aligned_ = static_cast<const float*>(address);
        else
            floats.unaligned_ = std::make_shared<Unaligned>(bytes.first(floats.size_ * sizeof(float)));
        return floats;
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(float); }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Whether reading them as floats needs no copy.
    [[nodiscard]] bool is_aligned() const noexcept { return unaligned_ == nullptr; }

    /// Throws std::bad_alloc when there is no room for the copy.
    [[nodiscard]] const float* data() const { return unaligned_ == nullptr ? aligned_ : unaligned_->floats(); }
    [[nodiscard]] const float* begin() const { return data(); }
    [[nodiscard]] const float* end() const { return data() + size_; }
    [[nodiscard]] float operator[](std::size_t i) const { return data()[i]; }
    [[nodiscard]] StoredFloats first(std::size_t count) const {
        StoredFloats some = *this;
        some.size_ = count;
        return some;
    }

    /// Where they are stored.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        const std::byte* const at =
            unaligned_ == nullptr ? reinterpret_cast<const std::byte*>(aligned_) : unaligned_->bytes.data();
        return {at, size_bytes()};
    }
    /// Copies those from `from` on, as many as dst takes.
    void read(std::size_t from, std::span<float> dst) const noexcept {
        if (!dst.empty()) std::memcpy(dst.data(), bytes().data() + from * sizeof(float), dst.size_bytes());
    }

private:
    struct Unaligned {
        explicit Unaligned(std::span<const std::byte> all) : bytes(all) {}
        [[nodiscard]] const float* floats() {
            const float* ready = copied.load(std::memory_order_acquire);
            if (ready != nullptr) return ready;
            const std::lock_guard lock(mutex);
            if (copied.load(std::memory_order_relaxed) == nullptr) {
                copy = AlignedBuffer(std::max<std::size_t>(bytes.size() / sizeof(float), 1));
                if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
                copied.store(copy.data(), std::memory_order_release);
            }
            return copy.data();
        }
        std::span<const std::byte> bytes;
        std::mutex mutex;
        AlignedBuffer copy;
        std::atomic<const float*> copied = nullptr;
    };

    const float* aligned_ = nullptr;
    std::size_t size_ = 0;
    std::shared_ptr<Unaligned> unaligned_;
};

}  // namespace primsel::inline PRIMSEL_ABI
