#include <primsel/io/descriptor.hpp>

#include <doctest/doctest.h>

#include "scratch.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace io = primsel::io;

namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("Descriptor: bytes are written as they are and read from anywhere, under names in UTF-8") {
    const scratch::Folder folder;
    for (const char* const name : {"plain", "\xc3\xbcmlaut \xce\xb1 \xf0\x9f\x90\x88"}) {
        const std::string path = folder.file(name);
        io::Descriptor file = io::Descriptor::create(path);
        REQUIRE(file.is_open());
        CHECK(file.write(bytes("a\r\nb\nc\x1a")));
        CHECK(file.write(bytes("d\n")));
        CHECK(file.flush());
        CHECK(file.close());
        CHECK_FALSE(file.is_open());
        CHECK_FALSE(io::Descriptor::create(path).is_open());
        CHECK(errno == EEXIST);

        const io::Descriptor again = io::Descriptor::read_only(path);
        std::string part(4, '?');
        CHECK(again.read_at(5, std::as_writable_bytes(std::span(part))) == 4);
        CHECK(part ==
              "c\x1a"
              "d\n");
        CHECK(again.read_at(8, std::as_writable_bytes(std::span(part))) == 1);
        CHECK(again.read_at(9, std::as_writable_bytes(std::span(part))) == 0);
        io::FileStatus open, named;
        CHECK((again.status(open) && io::status_of(path, named)));
        CHECK((open.kind == io::FileStatus::Kind::regular && open.size == 9 && open.names == 1));
        CHECK(open.is_same_file(named));
    }
    std::vector<std::string> names;
    REQUIRE(io::list_folder(folder.file(""), names));
    CHECK(std::ranges::find(names, "\xc3\xbcmlaut \xce\xb1 \xf0\x9f\x90\x88") != names.end());
    io::FileStatus status;
    CHECK((io::status_of(folder.file(""), status) && status.kind == io::FileStatus::Kind::folder));
    CHECK_FALSE(io::list_folder(folder.file("none"), names));
    CHECK(errno == ENOENT);
}

TEST_CASE("Descriptor: at the end of a file it appends, whatever its size became; one at a time has its lock") {
    const scratch::Folder folder;
    const std::string path = folder.file("log");
    {
        io::Descriptor first = io::Descriptor::at_end(path), second = io::Descriptor::at_end(path);
        REQUIRE((first.is_open() && second.is_open()));
        CHECK(first.lock());
        CHECK_FALSE(second.lock());
        CHECK(errno == EWOULDBLOCK);
        CHECK(first.write(bytes("one two")));
        CHECK(first.resize(4));
        CHECK(second.write(bytes("three")));
        CHECK(scratch::content(path) == "one three");
    }
    io::Descriptor third = io::Descriptor::at_end(path);
    CHECK(third.lock());
}

TEST_CASE("files are renamed over others, and removed unless they are locked") {
    const scratch::Folder folder;
    const std::string from = folder.file("from"), to = folder.file("to");
    scratch::write(from, "new"), scratch::write(to, "old");
    CHECK(io::replace_file(from, to));
    CHECK(scratch::content(to) == "new");
    CHECK_FALSE(io::replace_file(from, to));
    CHECK(errno == ENOENT);
    {
        io::Descriptor live = io::Descriptor::create(from);
        CHECK(live.lock());
        io::remove_if_left(from);
        CHECK(folder.entries() == 2);
    }
    io::remove_if_left(from);
    CHECK(folder.entries() == 1);
    CHECK(io::make_folder(from));
    CHECK_FALSE(io::make_folder(from));
    CHECK(errno == EEXIST);
    io::remove_if_left(from);
    CHECK(folder.entries() == 2);
    CHECK(io::remove_file(to));
    CHECK_FALSE(io::remove_file(to));
}
