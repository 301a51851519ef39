#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/io/file.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// A text file that grows at its end, locked against other programs that append to it. A killed writer may leave the
/// last line incomplete: whole() gives the bytes up to the last whole line, and cut(whole()) removes the rest.
class LineFile {
public:
    /// Opens or creates the file. Throws error if it cannot be written, is a pipe, or is being appended to by another
    /// program.
    explicit LineFile(std::string path)
        : path_(std::move(path)), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
        if (!file_.is_open()) io::fail_of_system(path_, "cannot write");
        // Lines in a pipe that nobody reads would be lost, and writing would block once the pipe is full.
        struct stat status {};
        if (::fstat(file_.number(), &status) == 0 && S_ISFIFO(status.st_mode))
            fail(path_, ": cannot write: it is a pipe");
        if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) fail(path_, ": another program appends to it");
            io::fail_of_system(path_, "cannot lock");
        }
        read();
    }

    [[nodiscard]] std::string const& path() const { return path_; }
    /// The text of the file when it was opened; empty for anything but a regular file.
    [[nodiscard]] std::string const& text() const { return text_; }
    /// The number of bytes of text() up to the end of its last whole line.
    [[nodiscard]] std::size_t whole() const { return text_.rfind('\n') + 1; }  // 0 where there is none

    /// Shortens the file to its first bytes. Throws error if that fails.
    void cut(std::size_t bytes) {
        if (bytes_ != bytes && ::ftruncate(file_.number(), static_cast<off_t>(bytes)) != 0) {
            io::fail_of_system(path_, "cannot shorten");
        }
        bytes_ = bytes;
    }
    /// Appends the lines, with one call unless the system splits it. Throws error if that fails, for instance on a full
    /// disk, and restores the file's former size.
    void append(std::string_view lines) {
        if (!io::write_all(file_.number(), std::as_bytes(std::span(lines)))) {
            const int reason = errno;
            // If this fails too, the next program that opens the file cuts the incomplete line.
            [[maybe_unused]] const int ignored = ::ftruncate(file_.number(), static_cast<off_t>(bytes_));
            io::fail_of_system(path_, "cannot write", reason);
        }
        bytes_ += lines.size();
    }

private:
    void read() {
        struct stat status {};
        if (::fstat(file_.number(), &status) != 0) io::fail_of_system(path_, "cannot read");
        if (!S_ISREG(status.st_mode)) return;
        text_.resize(static_cast<std::size_t>(status.st_size));
        for (std::size_t done = 0; done < text_.size();) {
            const ssize_t count = ::pread(file_.number(), text_.data() + done,
                                          std::min(text_.size() - done, io::bytes_per_call), static_cast<off_t>(done));
            if (count < 0 && errno != EINTR) io::fail_of_system(path_, "cannot read");
            if (count == 0) fail(path_, ": became shorter while it was read");
            if (count > 0) done += static_cast<std::size_t>(count);
        }
        bytes_ = text_.size();
    }

    std::string path_;
    io::Descriptor file_;
    std::string text_;
    std::size_t bytes_ = 0;
};

namespace io {

/// Whether a text is the header of a CSV table up to some point, as a killed writer leaves it. The values of lines "#
/// key: value" are not compared, since another version or machine may have written them.
[[nodiscard]] inline bool is_torn_header(std::string_view text, std::string_view header) {
    core::Pieces lines(text, '\n'), expected(header, '\n');
    std::string_view line, wanted;
    while (lines.next(line) && expected.next(wanted)) {
        const bool last = line.data() + line.size() == text.data() + text.size();
        const std::string_view key = wanted.substr(0, wanted.starts_with('#') ? wanted.find(": ") + 2 : wanted.size());
        if (last) {
            return line.starts_with(key) ? wanted.starts_with('#') || line.size() == key.size() : key.starts_with(line);
        }
        if (!wanted.starts_with('#') || !line.starts_with(key)) return false;
    }
    return false;
}

}  // namespace io

}  // namespace primsel::inline PRIMSEL_ABI
