// io/descriptor.hpp for POSIX, and for WebAssembly, whose C library has most of it.
#pragma once

#include <primsel/io/detail/file_status.hpp>

#if !defined(_WIN32)

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#if !defined(__wasm__)
#include <sys/file.h>
#endif

namespace primsel::inline PRIMSEL_ABI::io {

/// An open file, closed at the end of the scope.
class Descriptor {
public:
    using Handle = int;

    Descriptor() = default;
    explicit Descriptor(Handle handle) : handle_(handle) {}
    Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Descriptor() { close(); }

    /// Opens a file for reading. Other programs may replace and remove it.
    // Without O_NONBLOCK opening a pipe would block until something writes to it.
    [[nodiscard]] static Descriptor read_only(std::string const& path) {
        return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    }
    /// Opens a file for writing from its start, without emptying it.
    [[nodiscard]] static Descriptor write_only(std::string const& path) {
        return Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    }
    /// Opens a file, or creates it, for reading anywhere and writing at its end.
    [[nodiscard]] static Descriptor at_end(std::string const& path) {
        return Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    }
    /// Creates a file for writing, and fails with EEXIST if there is one of that name.
    [[nodiscard]] static Descriptor create(std::string const& path) {
        return Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    }

    [[nodiscard]] bool is_open() const { return handle_ >= 0; }
    [[nodiscard]] Handle handle() const { return handle_; }
    /// Closes the file. False if data written earlier is lost.
    bool close() { return handle_ < 0 || ::close(std::exchange(handle_, -1)) == 0; }

    [[nodiscard]] bool status(FileStatus& status) const {
        struct stat found {};
        if (::fstat(handle_, &found) != 0) return false;
        status = status_of(found);
        return true;
    }
    /// Reads up to as many bytes as there is room for, from `offset` on. Returns their number, 0 at the end of the
    /// file, or -1 if it fails.
    [[nodiscard]] std::ptrdiff_t read_at(std::size_t offset, std::span<std::byte> room) const {
        for (;;) {
            const auto count =
                ::pread(handle_, room.data(), std::min(room.size(), bytes_per_call), static_cast<off_t>(offset));
            if (count >= 0 || errno != EINTR) return static_cast<std::ptrdiff_t>(count);
        }
    }
    /// Writes all bytes.
    [[nodiscard]] bool write(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const auto count = ::write(handle_, bytes.data(), std::min(bytes.size(), bytes_per_call));
            if (count < 0 && errno != EINTR) return false;
            if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
        return true;
    }
    /// Shortens or extends the file.
    [[nodiscard]] bool resize(std::size_t bytes) { return ::ftruncate(handle_, static_cast<off_t>(bytes)) == 0; }
    /// Locks the file against other programs that lock it; EWOULDBLOCK if one has it. The lock ends with the object.
    /// Does nothing where the system has no locks.
    [[nodiscard]] bool lock() {
#if !defined(__wasm__)
        return ::flock(handle_, LOCK_EX | LOCK_NB) == 0;
#else
        return true;
#endif
    }
    /// Has all that was written on the disk.
    [[nodiscard]] bool flush() { return ::fsync(handle_) == 0; }

    [[nodiscard]] static FileStatus status_of(struct stat const& found) {
        using enum FileStatus::Kind;
#if defined(__APPLE__)
        const auto time = found.st_mtimespec;
#else
        const auto time = found.st_mtim;
#endif
        return {.kind = S_ISREG(found.st_mode)    ? regular
                        : S_ISDIR(found.st_mode)  ? folder
                        : S_ISFIFO(found.st_mode) ? pipe
                                                  : other,
                .size = static_cast<std::size_t>(found.st_size),
                .changed = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec,
                .device = static_cast<std::uint64_t>(found.st_dev),
                .number = static_cast<std::uint64_t>(found.st_ino),
                .names = static_cast<std::uint64_t>(found.st_nlink),
                .permissions = static_cast<unsigned>(found.st_mode) & 07777U};
    }

private:
    Handle handle_ = -1;
};

[[nodiscard]] inline bool status_of(std::string const& path, FileStatus& status) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return false;
    status = Descriptor::status_of(found);
    return true;
}
inline bool remove_file(std::string const& path) { return ::unlink(path.c_str()) == 0; }
/// Gives a file another name, in place of the file that has it.
[[nodiscard]] inline bool replace_file(std::string const& from, std::string const& to) {
    return ::rename(from.c_str(), to.c_str()) == 0;
}
[[nodiscard]] inline bool make_folder(std::string const& path) { return ::mkdir(path.c_str(), 0777) == 0; }
/// Adds the names of what is in a folder.
[[nodiscard]] inline bool list_folder(std::string const& path, std::vector<std::string>& names) {
    DIR* const folder = ::opendir(path.c_str());
    if (folder == nullptr) return false;
    errno = 0;
    while (const dirent* entry = ::readdir(folder)) {  // NOLINT(concurrency-mt-unsafe): not of one DIR
        names.emplace_back(static_cast<const char*>(entry->d_name));
        errno = 0;
    }
    const int reason = errno;
    ::closedir(folder);
    errno = reason;
    return reason == 0;
}
/// Sets `resolved` to the path of the file itself where `path` names links to it.
[[nodiscard]] inline bool resolve_links(std::string const& path, std::string& resolved) {
#if defined(__wasm__)
    resolved = path;
#else
    char* const name = ::realpath(path.c_str(), nullptr);
    if (name == nullptr) return false;
    resolved = name;
    std::free(name);
#endif
    return true;
}
/// Whether this program may write to a file that there is.
[[nodiscard]] inline bool may_write(std::string const& path) { return ::access(path.c_str(), W_OK) == 0; }
[[nodiscard]] inline bool set_permissions([[maybe_unused]] Descriptor const& file,
                                          [[maybe_unused]] unsigned permissions) {
#if defined(__wasi__)
    return true;
#else
    return ::fchmod(file.handle(), static_cast<mode_t>(permissions)) == 0;
#endif
}
/// The number of this process.
[[nodiscard]] inline long process_number() {
#if defined(__wasi__)
    return 1;
#else
    return static_cast<long>(::getpid());
#endif
}

/// Opens a new file for writing in the folder of a file, which has no name until link_unnamed gives it one, and
/// vanishes if its writer is killed. Not open where the system has no such files: only Linux has.
[[nodiscard]] inline Descriptor open_unnamed([[maybe_unused]] std::string const& folder) {
#if defined(__linux__) && defined(O_TMPFILE)
    // It gets its name through /proc.
    if (::access("/proc/self/fd", X_OK) == 0) {
        return Descriptor(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    }
#endif
    return Descriptor();
}
[[nodiscard]] inline bool link_unnamed([[maybe_unused]] Descriptor const& file,
                                       [[maybe_unused]] std::string const& name) {
#if defined(__linux__) && defined(O_TMPFILE)
    const std::string open = "/proc/self/fd/" + std::to_string(file.handle());
    return ::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
#else
    errno = ENOSYS;
    return false;
#endif
}

/// Removes a file that a killed writer left: one that nobody has locked, and that is no link.
inline void remove_if_left([[maybe_unused]] std::string const& path) {
#if !defined(__wasm__)
    Descriptor file(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    struct stat named {};
    FileStatus opened;
    if (!file.is_open() || !file.lock() || !file.status(opened) || opened.kind != FileStatus::Kind::regular) return;
    // The writer may have renamed the file since it was opened here.
    if (::lstat(path.c_str(), &named) == 0 && opened.is_same_file(Descriptor::status_of(named))) remove_file(path);
#endif
}

}  // namespace primsel::inline PRIMSEL_ABI::io

#endif
