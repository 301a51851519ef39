// Integers that live elsewhere: as std::int64_t, or as the bytes of a file, which are widened when they are needed.
#pragma once

#include <primsel/core/config.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace onnx {
/// A tensor of this many bytes is not copied as wider numbers before somebody reads it.
inline constexpr std::size_t many_bytes = std::size_t{1} << 14;
}  // namespace onnx

/// A range of const std::int64_t, or bytes of a file. Bytes are widened on the first read, once for all copies of this
/// object. Reading is safe from several threads.
class StoredIntegers {
public:
    StoredIntegers() = default;
    template <class Range>
        requires(!std::same_as<std::remove_cvref_t<Range>, StoredIntegers> &&
                 std::convertible_to<Range, std::span<const std::int64_t>>)
    StoredIntegers(Range&& range)  // NOLINT(google-explicit-constructor)
    {
        const std::span<const std::int64_t> values(range);
        ready_ = values.data(), size_ = values.size();
    }
    /// Numbers of 8 bits, which must live as long as these.
    [[nodiscard]] static StoredIntegers of_bytes(std::span<const std::byte> bytes, bool is_signed) {
        StoredIntegers integers;
        integers.widened_ = std::make_shared<Widened>(bytes, is_signed);
        integers.size_ = bytes.size();
        return integers;
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Whether they are stored as bytes.
    [[nodiscard]] bool is_bytes() const noexcept { return widened_ != nullptr; }
    /// Those bytes, where is_bytes(); int8 in two's complement.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return widened_->bytes.first(size_); }

    /// Throws std::bad_alloc when there is no room to widen them.
    [[nodiscard]] const std::int64_t* data() const { return is_bytes() ? widened_->integers() : ready_; }
    [[nodiscard]] const std::int64_t* begin() const { return data(); }
    [[nodiscard]] const std::int64_t* end() const { return data() + size_; }
    [[nodiscard]] std::int64_t operator[](std::size_t i) const { return data()[i]; }
    [[nodiscard]] StoredIntegers first(std::size_t count) const {
        StoredIntegers some = *this;
        some.size_ = count;
        return some;
    }

private:
    struct Widened {
        Widened(std::span<const std::byte> the_bytes, bool has_sign) : bytes(the_bytes), is_signed(has_sign) {}
        [[nodiscard]] const std::int64_t* integers() {
            const std::int64_t* ready = first.load(std::memory_order_acquire);
            if (ready != nullptr) return ready;
            const std::lock_guard lock(mutex);
            if (values.size() < bytes.size()) {
                values.reserve(bytes.size());
                for (const std::byte byte : bytes) {
                    const auto number = std::to_integer<std::uint8_t>(byte);
                    values.push_back(is_signed ? static_cast<std::int8_t>(number) : std::int64_t{number});
                }
                first.store(values.data(), std::memory_order_release);
            }
            return values.data();
        }
        std::span<const std::byte> bytes;
        bool is_signed;
        std::mutex mutex;
        std::vector<std::int64_t> values;
        std::atomic<const std::int64_t*> first = nullptr;
    };

    const std::int64_t* ready_ = nullptr;
    std::size_t size_ = 0;
    std::shared_ptr<Widened> widened_;
};

}  // namespace primsel::inline PRIMSEL_ABI
