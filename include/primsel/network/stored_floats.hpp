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
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// A file that values are read from when they are needed.
class ValueFile {
public:
    ValueFile() = default;
    ValueFile(ValueFile const&) = delete;
    ValueFile& operator=(ValueFile const&) = delete;
    virtual ~ValueFile() = default;
    /// Copies the file's bytes from `offset` on to dst. Throws error, naming the file, if it changed since it was
    /// opened.
    virtual void read(std::size_t offset, std::span<std::byte> dst) const = 0;
};

/// Floats that live elsewhere: a range of const float, whatever address it has, or a part of a file. Those of a file,
/// and those that are not aligned, are copied when somebody first reads them as floats, once for all copies of this
/// object; `read` and `each_part` need no such copy. Reading is safe from several threads, and throws error, naming the
/// file, when that was changed since it was opened.
class StoredFloats {
public:
    StoredFloats() = default;
    template <class Range>
        requires(!std::same_as<std::remove_cvref_t<Range>, StoredFloats> &&
                 std::convertible_to<Range, std::span<const float>>)
    StoredFloats(Range&& range) {  // NOLINT(google-explicit-constructor)
        const std::span<const float> values(range);
        ready_ = values.data(), size_ = values.size();
    }
    StoredFloats(const float* values, std::size_t size) : ready_(values), size_(size) {}
    /// Whole floats at any address.
    [[nodiscard]] static StoredFloats of_bytes(std::span<const std::byte> bytes) {
        StoredFloats floats;
        floats.size_ = bytes.size() / sizeof(float);
        const void* const address = bytes.data();
        if (reinterpret_cast<std::uintptr_t>(address) % alignof(float) == 0)
            floats.ready_ = static_cast<const float*>(address);
        else
            floats.copied_ = std::make_shared<Copied>(bytes.data(), nullptr, 0, floats.size_);
        return floats;
    }
    /// As many floats of a file, from this byte on.
    [[nodiscard]] static StoredFloats of_file(std::shared_ptr<const ValueFile> file, std::size_t offset,
                                              std::size_t size) {
        StoredFloats floats;
        floats.size_ = size;
        floats.copied_ = std::make_shared<Copied>(nullptr, std::move(file), offset, size);
        return floats;
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(float); }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Whether reading them as floats needs no copy.
    [[nodiscard]] bool is_ready() const noexcept { return copied_ == nullptr; }
    /// The file that they are read from; null for those in memory.
    [[nodiscard]] const ValueFile* file() const noexcept { return copied_ == nullptr ? nullptr : copied_->file.get(); }

    /// Throws std::bad_alloc when there is no room for the copy.
    [[nodiscard]] const float* data() const { return copied_ == nullptr ? ready_ : copied_->floats(); }
    [[nodiscard]] const float* begin() const { return data(); }
    [[nodiscard]] const float* end() const { return data() + size_; }
    [[nodiscard]] float operator[](std::size_t i) const { return data()[i]; }
    [[nodiscard]] StoredFloats first(std::size_t count) const {
        StoredFloats some = *this;
        some.size_ = count;
        return some;
    }

    /// The memory or file that has them, and where in it: equal for all that are the same floats.
    using Place = std::pair<const void*, std::size_t>;
    [[nodiscard]] Place place() const noexcept {
        if (file() != nullptr) return {file(), copied_->offset};
        return {copied_ == nullptr ? static_cast<const void*>(ready_) : copied_->bytes, 0};
    }
    /// Where they are stored in memory; of a file's, the copy.
    [[nodiscard]] std::span<const std::byte> bytes() const {
        if (copied_ == nullptr || copied_->bytes == nullptr) return std::as_bytes(std::span(data(), size_));
        return {copied_->bytes, size_bytes()};
    }
    /// Copies those from `from` on, as many as dst takes.
    void read(std::size_t from, std::span<float> dst) const {
        if (dst.empty()) return;
        if (file() != nullptr)
            copied_->file->read(copied_->offset + from * sizeof(float), std::as_writable_bytes(dst));
        else
            std::memcpy(dst.data(), bytes().data() + from * sizeof(float), dst.size_bytes());
    }
    /// Calls with the bytes of `count` from `from` on, in order: all at once, or those of a file some at a time.
    template <class Call>
    void each_part(std::size_t from, std::size_t count, Call const& call) const {
        if (file() == nullptr) return call(bytes().subspan(from * sizeof(float), count * sizeof(float)));
        constexpr std::size_t most = std::size_t{1} << 16;  // they stay in the cache
        const auto part = std::make_unique_for_overwrite<float[]>(std::min(count, most));
        for (std::size_t done = 0; done < count;) {
            const std::span<float> values(part.get(), std::min(count - done, most));
            read(from + done, values);
            call(std::as_bytes(values));
            done += values.size();
        }
    }
    template <class Call>
    void each_part(Call const& call) const {
        each_part(0, size_, call);
    }

private:
    /// Values whose first reader copies them: from memory or from a file.
    struct Copied {
        Copied(const std::byte* at, std::shared_ptr<const ValueFile> its_file, std::size_t its_offset,
               std::size_t count)
            : bytes(at), file(std::move(its_file)), offset(its_offset), size(count) {}
        [[nodiscard]] const float* floats() {
            const float* ready = copied.load(std::memory_order_acquire);
            if (ready != nullptr) return ready;
            const std::lock_guard lock(mutex);
            if (copied.load(std::memory_order_relaxed) == nullptr) {
                AlignedBuffer floats(std::max<std::size_t>(size, 1));
                const auto dst = std::as_writable_bytes(floats.span().first(size));
                if (file != nullptr)
                    file->read(offset, dst);
                else if (size > 0)
                    std::memcpy(dst.data(), bytes, dst.size());
                copy = std::move(floats);
                copied.store(copy.data(), std::memory_order_release);
            }
            return copy.data();
        }
        const std::byte* bytes;
        std::shared_ptr<const ValueFile> file;
        std::size_t offset, size;
        std::mutex mutex;
        AlignedBuffer copy;
        std::atomic<const float*> copied = nullptr;
    };

    const float* ready_ = nullptr;
    std::size_t size_ = 0;
    std::shared_ptr<Copied> copied_;
};

}  // namespace primsel::inline PRIMSEL_ABI
