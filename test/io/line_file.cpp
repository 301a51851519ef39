#include <primsel/io/line_file.hpp>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <string>

#include "scratch.hpp"

namespace ps = primsel;
using scratch::content;
using scratch::error_of;

TEST_CASE("line files: wherever their writer was stopped, whole lines are told from what was cut short") {
    const scratch::Folder folder;
    const std::string path = folder.file("lines"), all = "one\n\nthree\nfour";
    for (std::size_t length = 0; length <= all.size(); ++length) {
        CAPTURE(length);
        scratch::write(path, all.substr(0, length));
        ps::LineFile file(path);
        CHECK(file.path() == path);
        CHECK(file.text() == all.substr(0, length));
        CHECK(file.whole() <= length);
        CHECK(all.substr(file.whole(), length - file.whole()).find('\n') == std::string::npos);
        CHECK((file.whole() == 0 || all[file.whole() - 1] == '\n'));
        file.cut(file.whole());
        file.append("next\n");
        CHECK(content(path) == all.substr(0, file.whole()) + "next\n");
        file.append("last\n");
        CHECK(content(path) == all.substr(0, file.whole()) + "next\nlast\n");
    }
}

TEST_CASE("line files: one writer at a time, and no pipes") {
    const scratch::Folder folder;
    const std::string path = folder.file("lines"), pipe = folder.file("pipe");
    {
        const ps::LineFile file(path);
        CHECK(error_of([&] { const ps::LineFile other(path); }) == path + ": another program appends to it");
    }
    const ps::LineFile file(path);
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(error_of([&] { const ps::LineFile other(pipe); }) == pipe + ": cannot write: it is a pipe");
    CHECK(error_of([&] { const ps::LineFile other(folder.file("")); }).find("cannot write") != std::string::npos);
}

TEST_CASE("line files: what does not fit leaves nothing behind") {
    const scratch::Folder folder;
    const std::string path = folder.file("lines");
    ps::LineFile file(path);
    file.append("one\n");
    {
        const scratch::SmallDisk disk(6);
        CHECK(error_of([&] { file.append("another\n"); }).starts_with(path + ": cannot write: "));
        CHECK(content(path) == "one\n");
    }
    file.append("two\n");
    CHECK(content(path) == "one\ntwo\n");
}
