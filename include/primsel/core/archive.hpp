#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

static_assert(std::endian::native == std::endian::little, "primsel: archives are little-endian");

/// Writes values as bytes, or reads the same values from those bytes. A class that is stored names its members once,
/// for both directions:
///     void archive(Archive& archive) { archive(first, second); }
/// Numbers are little-endian and keep every bit; std::size_t takes 8 bytes. Bytes may come from an untrusted source: no
/// allocation exceeds their size, and floats must be finite. Further conditions on members are checked by `require`,
/// after they were read. Error messages begin with the name.
class Archive {
public:
    /// Makes an archive that writes.
    explicit Archive(std::string name) : name_(std::move(name)), reads_(false) {}
    /// Makes an archive that reads `bytes`, which must outlive it. Error messages count bytes from `offset`.
    Archive(std::string name, std::span<const std::byte> bytes, std::size_t offset = 0)
        : name_(std::move(name)), reads_(true), left_(bytes), offset_(offset) {}

    [[nodiscard]] bool reads() const { return reads_; }
    /// Returns the bytes written so far.
    [[nodiscard]] std::span<const std::byte> bytes() const { return written_; }

    /// Writes or reads the values. Reading throws error where the bytes end early or are no valid values.
    template <class... Values>
    void operator()(Values&... values) {
        (exchange(values), ...);
    }
    template <class... Reason>
    void require(bool holds, Reason const&... reason) const {
        if (!holds) fail(name_, ": ", reason...);
    }
    /// Throws error unless every byte was read.
    void finish() const { require(left_.empty(), left_.size(), " bytes too many, from byte ", offset_); }

private:
    void raw(void* data, std::size_t size) {
        if (size == 0) return;
        if (!reads_) {
            auto const* from = static_cast<const std::byte*>(data);
            written_.insert(written_.end(), from, from + size);
            return;
        }
        require(size <= left_.size(), "ends at byte ", offset_ + left_.size(), ", where ", size - left_.size(),
                " bytes more are needed");
        std::memcpy(data, left_.data(), size);
        left_ = left_.subspan(size);
        offset_ += size;
    }
    /// Reads a count of elements that take at least `bytes_each` bytes each.
    [[nodiscard]] std::size_t count(std::size_t value, std::size_t bytes_each) {
        const std::size_t at = offset_;
        exchange(value);
        require(!reads_ || value <= left_.size() / bytes_each, "a size of ", value, " at byte ", at, ", but only ",
                left_.size(), " bytes follow");
        return value;
    }
    template <class T>
    void require_finite(std::span<const T> values) const {
        if constexpr (std::floating_point<T>) {
            for (const T value : values) {
                require(is_finite(value), "a value that is not finite", reads_ ? join(" before byte ", offset_) : "");
            }
        }
    }

    template <class T>
        requires std::integral<T> || std::floating_point<T>
    void exchange(T& value) {
        raw(&value, sizeof(value));
        require_finite(std::span<const T>(&value, 1));
    }
    void exchange(std::string& text) {
        text.resize(count(text.size(), 1));
        raw(text.data(), text.size());
    }
    template <class T>
    void exchange(std::vector<T>& values) {
        if constexpr (std::integral<T> || std::floating_point<T>) {
            values.resize(count(values.size(), sizeof(T)));
            raw(values.data(), values.size() * sizeof(T));
            require_finite(std::span<const T>(values));
        } else {
            const std::size_t size = count(values.size(), 1);
            if (reads_) values.clear();
            for (std::size_t i = 0; i < size; ++i) {
                if (reads_) values.emplace_back();  // one by one: the stored size may promise more than the bytes hold
                exchange(values[i]);
            }
        }
    }
    template <class T, std::size_t size>
    void exchange(std::array<T, size>& values) {
        for (T& value : values) exchange(value);
    }
    void exchange(std::map<std::string, std::string>& texts) {
        std::vector<std::pair<std::string, std::string>> pairs(texts.begin(), texts.end());
        std::size_t size = count(pairs.size(), 2 * sizeof(std::size_t));
        pairs.resize(size);
        for (std::size_t i = 0; i < size; ++i) {
            exchange(pairs[i].first), exchange(pairs[i].second);
            require(i == 0 || pairs[i - 1].first < pairs[i].first, "keys out of order at byte ", offset_);
        }
        if (reads_) texts = {pairs.begin(), pairs.end()};
    }
    /// Matrices and vectors of Eigen, in column-major order.
    template <class Matrix>
        requires requires(Matrix& matrix) { matrix.resize(matrix.rows(), matrix.cols()); }
    void exchange(Matrix& matrix) {
        using Index = decltype(matrix.rows());
        constexpr std::size_t most = std::size_t{1} << 31;
        auto rows = static_cast<std::size_t>(matrix.rows()), columns = static_cast<std::size_t>(matrix.cols());
        exchange(rows), exchange(columns);
        require(rows < most && columns < most &&
                    (!reads_ || rows * columns <= left_.size() / sizeof(typename Matrix::Scalar)),
                "a matrix of ", rows, " x ", columns, " before byte ", offset_, ", but only ", left_.size(),
                " bytes follow");
        if constexpr (Matrix::ColsAtCompileTime == 1) require(columns == 1, "a vector of ", columns, " columns");
        if (reads_) matrix.resize(static_cast<Index>(rows), static_cast<Index>(columns));
        raw(matrix.data(), rows * columns * sizeof(typename Matrix::Scalar));
        require_finite(std::span<const typename Matrix::Scalar>(matrix.data(), rows * columns));
    }
    template <class T>
        requires requires(T& value, Archive& archive) { value.archive(archive); }
    void exchange(T& value) {
        value.archive(*this);
    }

    std::string name_;
    bool reads_;
    std::span<const std::byte> left_;
    std::vector<std::byte> written_;
    std::size_t offset_ = 0;
};

/// Returns the 64-bit FNV-1a hash of the bytes, by which damaged bytes are recognised.
[[nodiscard]] inline std::uint64_t checksum(std::span<const std::byte> bytes) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3ULL;
    return hash;
}

}  // namespace primsel::inline PRIMSEL_ABI
