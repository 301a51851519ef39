#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/error.hpp>
#include <primsel/io/descriptor.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The default limit of a file's size in bytes: 64 GiB, or as many as a size_t counts.
inline constexpr std::size_t file_size_limit = sizeof(std::size_t) == 8
                                                   ? static_cast<std::size_t>(std::uint64_t{1} << 36)
                                                   : std::numeric_limits<std::size_t>::max();

namespace io {

/// Throws "<path>: <what>: <the system's reason>".
[[noreturn]] inline void fail_of_system(std::string const& path, std::string_view what, int reason = errno) {
    fail(path, ": ", what, ": ", std::strerror(reason));
}

/// The characters that separate the names of a path.
#if defined(_WIN32)
inline constexpr const char* slashes = "/\\";
#else
inline constexpr const char* slashes = "/";
#endif

/// The folder of a file.
[[nodiscard]] inline std::string folder_of(std::string const& path) {
    const std::size_t slash = path.find_last_of(slashes);
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}
/// The name of a file in its folder.
[[nodiscard]] inline std::string name_of(std::string const& path) {
    return path.substr(path.find_last_of(slashes) + 1);
}
/// Calls use(name) with names for a new file beside `path` until it returns true or fails with another reason than
/// EEXIST. Returns the name, or an empty one with the reason in errno.
template <class Use>
[[nodiscard]] std::string name_beside(std::string const& path, Use const& use) {
    for (int attempt = 0;; ++attempt) {
        std::string name = join(path, '.', process_number(), '-', attempt, ".tmp");
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
    const std::string folder = folder_of(path), name = name_of(path);
    std::vector<std::string> others;
    (void)list_folder(folder, others);
    for (std::string const& other : others) {
        if (other.starts_with(name) && is_suffix_beside(std::string_view(other).substr(name.size()))) {
            remove_if_left(join(folder, '/', other));
        }
    }
}
/// Opens a new file beside `path` for writing and locks it. Sets `name` to its name, or leaves it empty if the file has
/// none. The file is not open, with the reason in errno, if that fails.
inline Descriptor open_beside(std::string const& path, std::string& name) {
    if (Descriptor unnamed = open_unnamed(folder_of(path)); unnamed.is_open()) {
        (void)unnamed.lock();
        return unnamed;
    }
    for (;;) {
        Descriptor file;
        name = name_beside(path, [&file](std::string const& each) {
            file = Descriptor::create(each);
            return file.is_open();
        });
        if (!file.is_open()) return file;
        (void)file.lock();
        // Between its creation and its lock, another writer may have removed it as a leftover.
        if (FileStatus status; !file.status(status) || status.names > 0) return file;
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
        descriptor_.close();  // Windows removes no file that is open
        if (!name_.empty()) remove_file(name_);
    }

    [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
    [[nodiscard]] Descriptor& descriptor() { return descriptor_; }
    /// Flushes the file to the disk and renames it to `path`. Returns false, with the reason in errno, if that fails.
    bool replace() {
        // Some file systems cannot flush (EINVAL).
        if (!descriptor_.flush() && errno != EINVAL) return false;
        if (name_.empty()) {
            name_ = name_beside(path_, [this](std::string const& name) { return link_unnamed(descriptor_, name); });
        }
        if (name_.empty()) return false;
#if defined(_WIN32)
        descriptor_.close();  // an open file keeps its name
#endif
        // Elsewhere the file stays locked until it has the name.
        if (!replace_file(name_, path_)) return false;
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
    explicit OpenFile(std::string path, std::size_t limit = file_size_limit)
        : path_(std::move(path)), descriptor_(io::Descriptor::read_only(path_)) {
        if (!descriptor_.is_open() || !descriptor_.status(status_)) io::fail_of_system(path_, "cannot read");
        if (status_.kind != io::FileStatus::Kind::regular) fail(path_, ": cannot read: it is not a regular file");
        if (size() > limit) fail(path_, ": its ", size(), " bytes are more than the limit of ", limit);
    }
    [[nodiscard]] std::string const& path() const { return path_; }
    [[nodiscard]] std::size_t size() const { return status_.size; }
    /// Reads dst.size() bytes from `offset` on. Returns false if the file ends before them. Throws error if the system
    /// cannot read.
    [[nodiscard]] bool read(std::size_t offset, std::span<std::byte> dst) const {
        while (!dst.empty()) {
            const std::ptrdiff_t count = descriptor_.read_at(offset, dst);
            if (count == 0) return false;
            if (count < 0) io::fail_of_system(path_, "cannot read");
            dst = dst.subspan(static_cast<std::size_t>(count)), offset += static_cast<std::size_t>(count);
        }
        return true;
    }
    /// Whether the file still has the size and time of change that it had when it was opened.
    [[nodiscard]] bool is_unchanged() const {
        io::FileStatus now;
        return descriptor_.status(now) && now.size == status_.size && now.changed == status_.changed;
    }

private:
    std::string path_;
    io::Descriptor descriptor_;
    io::FileStatus status_;
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
    unsigned permissions = 0;

    /// Throws error if the file is a folder or must not be written.
    explicit WrittenFile(std::string const& name) : path(name) {
        FileStatus status;
        exists = status_of(name, status);
        if (!exists) return;
        is_regular = status.kind == FileStatus::Kind::regular, permissions = status.permissions;
        if (status.kind == FileStatus::Kind::folder) fail_of_system(name, "cannot write", EISDIR);
        if (!may_write(name)) fail_of_system(name, "cannot write");
        if (is_regular && !resolve_links(name, path)) fail_of_system(name, "cannot write");
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
        io::Descriptor file = io::Descriptor::write_only(path);
        require(file.is_open());
        for (const auto part : parts) require(file.write(part));
        require(file.close());
        return;
    }
    io::TemporaryFile file(target.path);
    require(file.is_open());
    for (const auto part : parts) require(file.descriptor().write(part));
    // The new file keeps the permissions of the old one.
    if (target.exists) require(io::set_permissions(file.descriptor(), target.permissions));
    require(file.replace());
}
inline void write_file(std::string const& path, std::string_view text) {
    const std::span<const std::byte> part = std::as_bytes(std::span(text));
    write_file(path, std::span(&part, 1));
}

}  // namespace primsel::inline PRIMSEL_ABI
