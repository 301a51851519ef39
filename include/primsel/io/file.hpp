#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/error.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// The default limit of a file's size in bytes: 64 GiB.
inline constexpr std::size_t file_size_limit = std::size_t{1} << 36;

namespace io {

/// Throws "<path>: <what>: <the system's reason>".
[[noreturn]] inline void fail_of_system(std::string const& path, std::string_view what, int reason = errno) {
    fail(path, ": ", what, ": ", std::strerror(reason));
}

/// An open file, closed at the end of the scope.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor const&) = delete;
    Descriptor& operator=(Descriptor const&) = delete;
    ~Descriptor() { close(); }

    [[nodiscard]] bool is_open() const { return number_ >= 0; }
    [[nodiscard]] int number() const { return number_; }
    /// Closes the file. Returns false, with the reason in errno, if data written earlier is lost.
    bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

private:
    int number_;
};

/// The time of the last change of a file's contents.
[[nodiscard]] inline timespec time_of_change(struct stat const& status) {
#if defined(__APPLE__)
    return status.st_mtimespec;
#else
    return status.st_mtim;
#endif
}

// No system call moves more than about 2 GiB at once.
inline constexpr std::size_t bytes_per_call = std::size_t{1} << 30;

/// Writes all bytes. Returns false, with the reason in errno, if that fails.
inline bool write_all(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), std::min(bytes.size(), bytes_per_call));
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

/// The folder of a file.
[[nodiscard]] inline std::string folder_of(std::string const& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}
/// Calls use(name) with names for a new file beside `path` until it returns true or fails with another reason than
/// EEXIST. Returns the name, or an empty one with the reason in errno.
template <class Use>
[[nodiscard]] std::string name_beside(std::string const& path, Use const& use) {
    for (int attempt = 0;; ++attempt) {
        std::string name = join(path, '.', ::getpid(), '-', attempt, ".tmp");
        if (use(name)) return name;
        if (errno != EEXIST) return {};
    }
}
/// Whether name_beside made such a name; `suffix` is the part behind the name of the file beside which it lies.
[[nodiscard]] inline bool is_suffix_beside(std::string_view suffix) {
    const auto skip_digits = [&suffix] {
        const std::size_t digits = std::min(suffix.find_first_not_of("0123456789"), suffix.size());
        suffix.remove_prefix(digits);
        return digits > 0;
    };
    const auto skip = [&suffix](std::string_view text) {
        const bool found = suffix.starts_with(text);
        if (found) suffix.remove_prefix(text.size());
        return found;
    };
    return skip(".") && skip_digits() && skip("-") && skip_digits() && suffix == ".tmp";
}
/// Removes new files beside `path` that killed writers left: those that nobody has locked. Process ids would not tell,
/// since a writer may run on another machine or in another container.
inline void remove_left_beside(std::string const& path) {
    const std::string folder = folder_of(path), name = path.substr(path.rfind('/') + 1);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
    while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries.get())) {
        const std::string_view other = entry->d_name;
        if (!other.starts_with(name) || !is_suffix_beside(other.substr(name.size()))) continue;
        const std::string left = folder + '/' + entry->d_name;
        const Descriptor file(::open(left.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
        struct stat opened {
        }, named{};
        if (!file.is_open() || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0) continue;
        // The writer may have renamed the file since it was opened here.
        const bool is_same = ::fstat(file.number(), &opened) == 0 && ::lstat(left.c_str(), &named) == 0 &&
                             opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
        if (is_same && S_ISREG(opened.st_mode)) ::unlink(left.c_str());
    }
}
/// Opens a new file beside `path` for writing and locks it. Sets `name` to its name, or leaves it empty if the file has
/// none. Returns a negative number, with the reason in errno, if that fails.
inline int open_beside(std::string const& path, std::string& name) {
    int number = -1;
#if defined(O_TMPFILE)
    // A file without a name vanishes if its writer is killed. It gets its name through /proc.
    if (::access("/proc/self/fd", X_OK) == 0) {
        number = ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    }
    if (number >= 0) {
        ::flock(number, LOCK_EX);
        return number;
    }
#endif
    for (;;) {
        name = name_beside(path, [&number](std::string const& each) {
            number = ::open(each.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            return number >= 0;
        });
        if (number < 0) return number;
        ::flock(number, LOCK_EX);
        // Between its creation and its lock, another writer may have removed it as a leftover.
        struct stat status {};
        if (::fstat(number, &status) != 0 || status.st_nlink > 0) return number;
        ::close(number);
    }
}

/// A new file beside `path`. The destructor removes it, unless replace() gave it the name `path`. The constructor
/// removes files that killed writers left.
class TemporaryFile {
public:
    explicit TemporaryFile(std::string path)
        : path_((remove_left_beside(path), std::move(path))), descriptor_(open_beside(path_, name_)) {}
    TemporaryFile(TemporaryFile const&) = delete;
    TemporaryFile& operator=(TemporaryFile const&) = delete;
    ~TemporaryFile() {
        if (!name_.empty()) ::unlink(name_.c_str());
    }

    [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
    [[nodiscard]] int number() const { return descriptor_.number(); }
    /// Flushes the file to the disk and renames it to `path`. Returns false, with the reason in errno, if that fails.
    bool replace() {
        // Some file systems cannot flush (EINVAL).
        if (::fsync(number()) != 0 && errno != EINVAL) return false;
        if (name_.empty()) {
            const std::string open = join("/proc/self/fd/", number());
            name_ = name_beside(path_, [&open](std::string const& name) {
                return ::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
            });
        }
        // The file stays locked until it has the name.
        if (name_.empty() || ::rename(name_.c_str(), path_.c_str()) != 0) return false;
        name_.clear();
        return true;
    }

private:
    std::string path_, name_;
    Descriptor descriptor_;
};

}  // namespace io

/// A regular file that is open for reading, with its size and time of change when it was opened. The constructor throws
/// error, naming the file, if it cannot be read, is no regular file, or is larger than `limit` bytes.
class OpenFile {
public:
    // Without O_NONBLOCK opening a pipe would block until something writes to it.
    explicit OpenFile(std::string path, std::size_t limit = file_size_limit)
        : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        if (!descriptor_.is_open() || ::fstat(number(), &status_) != 0) io::fail_of_system(path_, "cannot read");
        if (!S_ISREG(status_.st_mode)) fail(path_, ": cannot read: it is not a regular file");
        if (size() > limit) fail(path_, ": its ", size(), " bytes are more than the limit of ", limit);
    }
    [[nodiscard]] std::string const& path() const { return path_; }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(status_.st_size); }
    /// Reads dst.size() bytes from `offset` on. Returns false if the file ends before them. Throws error if the system
    /// cannot read.
    [[nodiscard]] bool read(std::size_t offset, std::span<std::byte> dst) const {
        while (!dst.empty()) {
            const ssize_t count =
                ::pread(number(), dst.data(), std::min(dst.size(), io::bytes_per_call), static_cast<off_t>(offset));
            if (count == 0) return false;
            if (count < 0 && errno != EINTR) io::fail_of_system(path_, "cannot read");
            if (count > 0)
                dst = dst.subspan(static_cast<std::size_t>(count)), offset += static_cast<std::size_t>(count);
        }
        return true;
    }
    /// Whether the file still has the size and time of change that it had when it was opened.
    [[nodiscard]] bool is_unchanged() const {
        struct stat now {};
        if (::fstat(number(), &now) != 0 || now.st_size != status_.st_size) return false;
        const timespec then = io::time_of_change(status_), latest = io::time_of_change(now);
        return latest.tv_sec == then.tv_sec && latest.tv_nsec == then.tv_nsec;
    }

private:
    [[nodiscard]] int number() const { return descriptor_.number(); }

    std::string path_;
    io::Descriptor descriptor_;
    struct stat status_ {};
};

/// Bytes that copies of this object share, such as those of a whole file.
struct SharedBytes {
    std::span<const std::byte> bytes;
    /// Keeps the bytes alive; null if they live elsewhere.
    std::shared_ptr<const void> owner;

    [[nodiscard]] std::string_view text() const& { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
    /// Deleted, since the bytes may end with the temporary: keep the object in a variable while its text is used.
    std::string_view text() const&& = delete;
};

/// Reads the whole file into memory that starts at a cache line. Throws error, naming the file, if it cannot be read,
/// became shorter meanwhile, or does not fit the memory.
[[nodiscard]] inline SharedBytes read_file(OpenFile const& file) {
    const std::size_t size = file.size();
    std::shared_ptr<AlignedBuffer> buffer;
    try {
        buffer = std::make_shared<AlignedBuffer>((size + sizeof(float) - 1) / sizeof(float));
    } catch (std::bad_alloc const&) {
        fail(file.path(), ": there is not enough memory for its ", size, " bytes");
    }
    const auto bytes = std::as_writable_bytes(buffer->span()).first(size);
    if (!file.read(0, bytes)) fail(file.path(), ": became shorter while it was read");
    return {bytes, std::move(buffer)};
}
/// Reads the whole file. Throws error, naming the file, also if it is no regular file or larger than `limit` bytes.
[[nodiscard]] inline SharedBytes read_file(std::string const& path, std::size_t limit = file_size_limit) {
    return read_file(OpenFile(path, limit));
}

namespace io::detail {

/// The file that write_file writes to.
struct WrittenFile {
    /// The path with symbolic links resolved.
    std::string path;
    bool exists = false, is_regular = true;
    mode_t permissions = 0;

    /// Throws error if the file is a folder or must not be written.
    explicit WrittenFile(std::string const& name) : path(name) {
        struct stat status {};
        exists = ::stat(name.c_str(), &status) == 0;
        if (!exists) return;
        is_regular = S_ISREG(status.st_mode), permissions = status.st_mode & 07777U;
        if (S_ISDIR(status.st_mode)) fail_of_system(name, "cannot write", EISDIR);
        if (::access(name.c_str(), W_OK) != 0) fail_of_system(name, "cannot write");
        const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(name.c_str(), nullptr), std::free);
        if (is_regular && resolved == nullptr) fail_of_system(name, "cannot write");
        if (is_regular) path = resolved.get();
    }
};

}  // namespace io::detail

/// Throws error, naming the file and the system's reason, if write_file could not write to it. Call it before hours of
/// work. Neither changes nor creates the file.
inline void require_writable(std::string const& path) {
    const io::detail::WrittenFile target(path);
    if (target.is_regular && !io::TemporaryFile(target.path).is_open()) {
        io::fail_of_system(path, "cannot write");
    }
}

/// Writes the parts one after the other to a new file beside `path`, which replaces `path` only when every byte is on
/// the disk. Until then, and after an error such as a full disk, `path` is unchanged. Files that killed writers left
/// beside it are removed. A symbolic link is followed. A file that is not regular, such as /dev/stdout, is written to
/// directly. Throws error, naming the file and the system's reason. Exceeding the process's limit of file size
/// (RLIMIT_FSIZE) is an error only if the program ignores SIGXFSZ; otherwise the system ends the program.
inline void write_file(std::string const& path, std::span<const std::span<const std::byte>> parts) {
    const auto require = [&path](bool done) {
        if (!done) io::fail_of_system(path, "cannot write");
    };
    const io::detail::WrittenFile target(path);
    if (!target.is_regular) {
        io::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        require(file.is_open());
        for (const auto part : parts) require(io::write_all(file.number(), part));
        require(file.close());
        return;
    }
    io::TemporaryFile file(target.path);
    require(file.is_open());
    for (const auto part : parts) require(io::write_all(file.number(), part));
    // The new file keeps the permissions of the old one.
    if (target.exists) require(::fchmod(file.number(), target.permissions) == 0);
    require(file.replace());
}
inline void write_file(std::string const& path, std::string_view text) {
    const std::span<const std::byte> part = std::as_bytes(std::span(text));
    write_file(path, std::span(&part, 1));
}

}  // namespace primsel::inline PRIMSEL_ABI
