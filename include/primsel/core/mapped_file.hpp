#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/windows.hpp>

#include <cstddef>
#include <span>
#include <utility>

#if defined(_WIN32)
#elif defined(__wasm__)
#include <cstdio>
#include <cstdlib>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace primsel::inline PRIMSEL_ABI::core {

/// A file, mapped into memory for reading; read into memory where the system maps none (WebAssembly). Neither allocates
/// by the C++ library nor throws: a refusal is a text, and null says that all is well.
class MappedFile {
public:
    MappedFile() = default;
    MappedFile(MappedFile const&) = delete;
    MappedFile& operator=(MappedFile const&) = delete;
    ~MappedFile() { close(); }

    /// Maps the file in place of the one before. The path is UTF-8. Returns null, or why it cannot.
    [[nodiscard]] const char* open(const char* path) noexcept {
        close();
        return map(path);
    }
    /// The bytes, which begin at a multiple of 64. A file that shrinks while it is mapped ends the program when it is
    /// read.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {static_cast<const std::byte*>(data_), size_};
    }

private:
    static constexpr const char *not_opened = "the file cannot be opened", *irregular = "this is no regular file",
                                *empty = "the file is empty", *not_mapped = "the file cannot be mapped into memory";

#if defined(_WIN32)
    const char* map(const char* path) noexcept {
        constexpr int most = 32768;
        wchar_t name[most];
        if (::MultiByteToWideChar(windows::utf8, 0, path, -1, name, most) <= 0) return not_opened;
        void* const file =
            ::CreateFileW(name, windows::generic_read, windows::share_all, nullptr, windows::open_existing, 0, nullptr);
        if (file == windows::invalid_handle()) return not_opened;
        const char* const refusal = map(file);
        ::CloseHandle(file);
        return refusal;
    }
    const char* map(void* file) noexcept {
        constexpr unsigned long disk = 1, end = 2, read_only = 2, map_read = 4;
        if (::GetFileType(file) != disk) return irregular;
        long high = 0;
        const unsigned long low = ::SetFilePointer(file, 0, &high, end);
        const auto size = static_cast<std::size_t>(high) << 32 | low;
        if (size == 0) return empty;
        void* const mapping = ::CreateFileMappingW(file, nullptr, read_only, 0, 0, nullptr);
        if (mapping == nullptr) return not_mapped;
        data_ = ::MapViewOfFile(mapping, map_read, 0, 0, 0);
        ::CloseHandle(mapping);  // the view keeps it
        size_ = data_ == nullptr ? 0 : size;
        return data_ == nullptr ? not_mapped : nullptr;
    }
    void unmap() noexcept { ::UnmapViewOfFile(data_); }
#elif defined(__wasm__)
    const char* map(const char* path) noexcept {
        std::FILE* const file = std::fopen(path, "rb");
        if (file == nullptr) return not_opened;
        const long size = std::fseek(file, 0, SEEK_END) == 0 ? std::ftell(file) : -1;
        const char* refusal = size < 0 ? irregular : size == 0 ? empty : nullptr;
        if (refusal == nullptr) {
            const auto bytes = static_cast<std::size_t>(size);
            data_ = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
            size_ = data_ == nullptr ? 0 : bytes;
            if (data_ == nullptr || std::fseek(file, 0, SEEK_SET) != 0 || std::fread(data_, 1, bytes, file) != bytes) {
                close();
                refusal = not_mapped;
            }
        }
        std::fclose(file);
        return refusal;
    }
    void unmap() noexcept { std::free(data_); }
#else
    const char* map(const char* path) noexcept {
        const int file = ::open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return not_opened;
        const char* const refusal = map(file);
        ::close(file);
        return refusal;
    }
    const char* map(int file) noexcept {
        struct stat status;
        if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return irregular;
        if (status.st_size <= 0) return empty;
        const auto bytes = static_cast<std::size_t>(status.st_size);
        int flags = MAP_PRIVATE;
#if defined(MAP_POPULATE)
        flags |= MAP_POPULATE;
#endif
        void* const data = ::mmap(nullptr, bytes, PROT_READ, flags, file, 0);
        if (data == MAP_FAILED) return not_mapped;
        data_ = data, size_ = bytes;
        return nullptr;
    }
    void unmap() noexcept { ::munmap(data_, size_); }
#endif
    void close() noexcept {
        if (data_ != nullptr) unmap();
        data_ = nullptr, size_ = 0;
    }

    void* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::core
