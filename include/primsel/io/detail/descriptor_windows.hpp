// io/descriptor.hpp for Windows.
#pragma once

#include <primsel/core/windows.hpp>
#include <primsel/io/detail/file_status.hpp>

#if defined(_WIN32)

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::io {

namespace detail {

// BY_HANDLE_FILE_INFORMATION, OVERLAPPED and WIN32_FIND_DATAW, as far as they are read.
struct WindowsFileInformation {
    std::uint32_t attributes, created[2], accessed[2], written[2], volume, size_high, size_low, links, index_high,
        index_low;
};
struct WindowsOverlapped {
    std::uintptr_t internal[2];
    std::uint32_t offset_low, offset_high;
    void* event;
};
struct WindowsFindData {
    std::uint32_t attributes, created[2], accessed[2], written[2], size_high, size_low, reserved[2];
    wchar_t name[260], short_name[14];
};

[[nodiscard]] inline std::uint64_t joined(std::uint32_t high, std::uint32_t low) {
    return std::uint64_t{high} << 32 | low;
}

}  // namespace detail

/// An open file, closed at the end of the scope.
class Descriptor {
public:
    using Handle = void*;

    Descriptor() = default;
    explicit Descriptor(Handle handle) : handle_(handle) {}
    Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, core::windows::invalid_handle())) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Descriptor() { close(); }

    /// Opens a file for reading. Other programs may replace and remove it.
    [[nodiscard]] static Descriptor read_only(std::string const& path) {
        return open(path, core::windows::generic_read, core::windows::share_all, core::windows::open_existing);
    }
    /// Opens a file for writing from its start, without emptying it.
    [[nodiscard]] static Descriptor write_only(std::string const& path) {
        return open(path, core::windows::generic_write, core::windows::share_all, core::windows::open_existing);
    }
    /// Opens a file, or creates it, for reading anywhere and writing at its end.
    [[nodiscard]] static Descriptor at_end(std::string const& path) {
        constexpr unsigned long read_write = 3;
        Descriptor file = open(path, core::windows::generic_read | core::windows::generic_write, read_write,
                               core::windows::open_always);
        file.appends_ = true;
        return file;
    }
    /// Creates a file for writing, and fails with EEXIST if there is one of that name. Nobody can remove it meanwhile.
    [[nodiscard]] static Descriptor create(std::string const& path) {
        constexpr unsigned long read_write = 3;
        return open(path, core::windows::generic_write, read_write, core::windows::create_new);
    }

    [[nodiscard]] bool is_open() const { return handle_ != core::windows::invalid_handle(); }
    [[nodiscard]] Handle handle() const { return handle_; }
    /// Closes the file. False if data written earlier is lost.
    bool close() { return !is_open() || ::CloseHandle(std::exchange(handle_, core::windows::invalid_handle())) != 0; }

    [[nodiscard]] bool status(FileStatus& status) const {
        constexpr unsigned long unknown = 0, disk = 1, pipe = 3;
        status = {};
        const unsigned long type = ::GetFileType(handle_);
        if (type == unknown) return core::windows::leave_errno();
        status.kind = type == pipe ? FileStatus::Kind::pipe : FileStatus::Kind::other;
        if (type != disk) return true;
        detail::WindowsFileInformation found{};
        if (::GetFileInformationByHandle(handle_, reinterpret_cast<_BY_HANDLE_FILE_INFORMATION*>(&found)) == 0) {
            return core::windows::leave_errno();
        }
        constexpr std::uint32_t folder = 0x10;
        status.kind = (found.attributes & folder) != 0 ? FileStatus::Kind::folder : FileStatus::Kind::regular;
        status.size = detail::joined(found.size_high, found.size_low);
        status.changed = static_cast<std::int64_t>(detail::joined(found.written[1], found.written[0]));
        status.device = found.volume, status.number = detail::joined(found.index_high, found.index_low);
        status.names = found.links;
        return true;
    }
    /// Reads up to as many bytes as there is room for, from `offset` on. Returns their number, 0 at the end of the
    /// file, or -1 if it fails.
    [[nodiscard]] std::ptrdiff_t read_at(std::size_t offset, std::span<std::byte> room) const {
        constexpr unsigned long end_of_file = 38;
        detail::WindowsOverlapped place{};
        place.offset_low = static_cast<std::uint32_t>(offset),
        place.offset_high = static_cast<std::uint32_t>(offset >> 32);
        unsigned long count = 0;
        if (::ReadFile(handle_, room.data(), static_cast<unsigned long>(std::min(room.size(), bytes_per_call)), &count,
                       reinterpret_cast<_OVERLAPPED*>(&place)) == 0 &&
            ::GetLastError() != end_of_file) {
            core::windows::leave_errno();
            return -1;
        }
        return static_cast<std::ptrdiff_t>(count);
    }
    /// Writes all bytes.
    [[nodiscard]] bool write(std::span<const std::byte> bytes) {
        constexpr unsigned long from_end = 2;
        if (appends_) ::SetFilePointer(handle_, 0, nullptr, from_end);
        while (!bytes.empty()) {
            unsigned long count = 0;
            if (::WriteFile(handle_, bytes.data(), static_cast<unsigned long>(std::min(bytes.size(), bytes_per_call)),
                            &count, nullptr) == 0) {
                return core::windows::leave_errno();
            }
            bytes = bytes.subspan(count);
        }
        return true;
    }
    /// Shortens or extends the file.
    [[nodiscard]] bool resize(std::size_t bytes) {
        long high = static_cast<long>(bytes >> 32);
        ::SetFilePointer(handle_, static_cast<long>(static_cast<std::uint32_t>(bytes)), &high, 0);
        return ::SetEndOfFile(handle_) != 0 || core::windows::leave_errno();
    }
    /// Locks the file against other programs that lock it; EWOULDBLOCK if one has it. The lock ends with the object.
    [[nodiscard]] bool lock() {
        // One byte beyond any file: others may read what is there.
        return ::LockFile(handle_, 0, 0x4000'0000, 1, 0) != 0 || core::windows::leave_errno();
    }
    /// Has all that was written on the disk.
    [[nodiscard]] bool flush() { return ::FlushFileBuffers(handle_) != 0 || core::windows::leave_errno(); }

private:
    static Descriptor open(std::string const& path, unsigned long access, unsigned long share, unsigned long how) {
        const std::wstring name = core::windows::wide(path);
        Descriptor file(
            ::CreateFileW(name.c_str(), access, share, nullptr, how, core::windows::backup_semantics, nullptr));
        if (!file.is_open()) core::windows::leave_errno();
        return file;
    }

    Handle handle_ = core::windows::invalid_handle();
    bool appends_ = false;
};

[[nodiscard]] inline bool status_of(std::string const& path, FileStatus& status) {
    const Descriptor file = Descriptor::read_only(path);
    return file.is_open() && file.status(status);
}
/// Removes a file; not one that somebody writes to.
inline bool remove_file(std::string const& path) {
    return ::DeleteFileW(core::windows::wide(path).c_str()) != 0 || core::windows::leave_errno();
}
/// Gives a file another name, in place of the file that has it.
[[nodiscard]] inline bool replace_file(std::string const& from, std::string const& to) {
    constexpr unsigned long replace_existing = 1, write_through = 8;
    return ::MoveFileExW(core::windows::wide(from).c_str(), core::windows::wide(to).c_str(),
                         replace_existing | write_through) != 0 ||
           core::windows::leave_errno();
}
[[nodiscard]] inline bool make_folder(std::string const& path) {
    return ::CreateDirectoryW(core::windows::wide(path).c_str(), nullptr) != 0 || core::windows::leave_errno();
}
/// Adds the names of what is in a folder.
[[nodiscard]] inline bool list_folder(std::string const& path, std::vector<std::string>& names) {
    detail::WindowsFindData found{};
    auto* const room = reinterpret_cast<_WIN32_FIND_DATAW*>(&found);
    void* const search = ::FindFirstFileW(core::windows::wide(path + "/*").c_str(), room);
    if (search == core::windows::invalid_handle()) return core::windows::leave_errno();
    do names.push_back(core::windows::narrow(static_cast<const wchar_t*>(found.name)));
    while (::FindNextFileW(search, room) != 0);
    ::FindClose(search);
    return true;
}
/// Sets `resolved` to the path of the file itself where `path` names links to it.
[[nodiscard]] inline bool resolve_links(std::string const& path, std::string& resolved) {
    const Descriptor file = Descriptor::read_only(path);
    std::wstring name(32768, L'\0');
    const unsigned long size = file.is_open() ? ::GetFinalPathNameByHandleW(file.handle(), name.data(), 32768, 0) : 0;
    if (size == 0) return core::windows::leave_errno();
    resolved = core::windows::narrow(std::wstring_view(name).substr(0, size));
    return true;
}
/// Whether this program may write to a file that there is.
[[nodiscard]] inline bool may_write(std::string const& path) { return Descriptor::write_only(path).is_open(); }
[[nodiscard]] inline bool set_permissions(Descriptor const&, unsigned) { return true; }
/// The number of this process.
[[nodiscard]] inline long process_number() { return static_cast<long>(::GetCurrentProcessId()); }

// No file is without a name.
[[nodiscard]] inline Descriptor open_unnamed(std::string const&) { return Descriptor(); }
[[nodiscard]] inline bool link_unnamed(Descriptor const&, std::string const&) {
    errno = ENOSYS;
    return false;
}

/// Removes a file that a killed writer left: Windows removes none that somebody writes to.
inline void remove_if_left(std::string const& path) { remove_file(path); }

}  // namespace primsel::inline PRIMSEL_ABI::io

#endif
