#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/io/file.hpp>

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
    explicit LineFile(std::string path) : path_(std::move(path)), file_(io::Descriptor::at_end(path_)) {
        if (!file_.is_open()) io::fail_of_system(path_, "cannot write");
        io::FileStatus status;
        if (!file_.status(status)) io::fail_of_system(path_, "cannot read");
        // Lines in a pipe that nobody reads would be lost, and writing would block once the pipe is full.
        if (status.kind == io::FileStatus::Kind::pipe) fail(path_, ": cannot write: it is a pipe");
        if (!file_.lock()) {
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
        if (bytes_ != bytes && !file_.resize(bytes)) {
            io::fail_of_system(path_, "cannot shorten");
        }
        bytes_ = bytes;
    }
    /// Appends the lines, with one call unless the system splits it. Throws error if that fails, for instance on a full
    /// disk, and restores the file's former size.
    void append(std::string_view lines) {
        if (!file_.write(std::as_bytes(std::span(lines)))) {
            const int reason = errno;
            // If this fails too, the next program that opens the file cuts the incomplete line.
            (void)file_.resize(bytes_);
            io::fail_of_system(path_, "cannot write", reason);
        }
        bytes_ += lines.size();
    }

private:
    void read() {
        io::FileStatus status;
        if (!file_.status(status)) io::fail_of_system(path_, "cannot read");
        if (status.kind != io::FileStatus::Kind::regular) return;
        text_.resize(status.size);
        for (std::span<char> rest(text_); !rest.empty();) {
            const std::ptrdiff_t count = file_.read_at(text_.size() - rest.size(), std::as_writable_bytes(rest));
            if (count < 0) io::fail_of_system(path_, "cannot read");
            if (count == 0) fail(path_, ": became shorter while it was read");
            rest = rest.subspan(static_cast<std::size_t>(count));
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
