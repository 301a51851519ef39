#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <primsel/io/file.hpp>
#include <thread>

#include "scratch.hpp"

namespace ps = primsel;
using scratch::error_of;

TEST_CASE("read_file gives the bytes of a file, aligned to a cache line and shared by copies") {
    const scratch::Folder folder;
    const std::string path = folder.file("bytes");
    for (const std::size_t size : {0U, 1U, 3U, 4U, 63U, 64U, 65U, 100'000U, 3'000'001U}) {
        std::string text(size, '\0');
        for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 256);
        scratch::write(path, text);
        ps::SharedBytes copy;
        {
            const ps::SharedBytes file = ps::read_file(path);
            copy = file;
        }
        CHECK(copy.bytes.size() == size);
        CHECK(reinterpret_cast<std::uintptr_t>(copy.bytes.data()) % ps::alignment == 0);
        CHECK((copy.text() == text));
    }
}

TEST_CASE("OpenFile reads any part of a file, and tells that it was changed or is too short") {
    const scratch::Folder folder;
    const std::string path = folder.file("bytes");
    scratch::write(path, "some bytes");
    const ps::OpenFile file(path);
    CHECK((file.path() == path && file.size() == 10));
    std::string part(5, '?');
    CHECK(file.read(5, std::as_writable_bytes(std::span(part))));
    CHECK(part == "bytes");
    CHECK(file.read(10, {}));
    CHECK_FALSE(file.read(6, std::as_writable_bytes(std::span(part))));
    ps::write_file(path, "another file");
    CHECK(file.is_unchanged());
    const ps::OpenFile second(path);
    std::filesystem::resize_file(path, 7);
    CHECK_FALSE(second.is_unchanged());
    CHECK_FALSE(second.read(5, std::as_writable_bytes(std::span(part))));
    CHECK(error_of([&] { (void)ps::read_file(second); }) == path + ": became shorter while it was read");
    for (std::string const& wrong : {folder.file("missing"), folder.file(""), std::string("/dev/null")}) {
        CHECK(error_of([&] { (void)ps::OpenFile(wrong); }) == error_of([&] { (void)ps::read_file(wrong); }));
    }
}

TEST_CASE("read_file names the file and the reason when it cannot read") {
    const scratch::Folder folder;
    const std::string missing = folder.file("missing"), pipe = folder.file("pipe"), large = folder.file("large");
    CHECK(error_of([&] { (void)ps::read_file(missing); }) == missing + ": cannot read: No such file or directory");
    const std::string irregular = ": cannot read: it is not a regular file";
    CHECK(error_of([&] { (void)ps::read_file(folder.file("")); }) == folder.file("") + irregular);
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(error_of([&] { (void)ps::read_file(pipe); }) == pipe + irregular);
    CHECK(error_of([&] { (void)ps::read_file("/dev/zero"); }) == "/dev/zero" + irregular);
    scratch::write(large, "12345");
    CHECK(error_of([&] { (void)ps::read_file(large, 4); }) == large + ": its 5 bytes are more than the limit of 4");
    const ps::SharedBytes whole = ps::read_file(large, 5);
    CHECK(whole.text() == "12345");
    // A file that claims a size which no machine has memory for.
    std::filesystem::resize_file(large, std::uintmax_t{1} << 42U);
    CHECK(error_of([&] { (void)ps::read_file(large); }) ==
          large + ": its 4398046511104 bytes are more than the limit of 68719476736");
}

TEST_CASE("write_file writes parts one after the other and replaces what was there") {
    const scratch::Folder folder;
    const std::string path = folder.file("parts");
    ps::write_file(path, "something that is longer than what follows");
    const std::string a = "one ", b, c(70'000, 'c');
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(a)), std::as_bytes(std::span(b)),
                                                std::as_bytes(std::span(c))};
    ps::write_file(path, parts);
    CHECK((scratch::content(path) == a + b + c));
    ps::write_file(path, "");
    CHECK(scratch::content(path).empty());
    CHECK(folder.entries() == 1);
}

TEST_CASE("write_file leaves the old file as it was when the disk is full") {
    const scratch::Folder folder;
    const std::string path = folder.file("model"), fresh = folder.file("fresh");
    ps::write_file(path, "precious");
    std::string with_old, without_old;
    {
        const scratch::SmallDisk disk(1000);
        const std::string text(1001, 'x');
        with_old = error_of([&] { ps::write_file(path, text); });
        without_old = error_of([&] { ps::write_file(fresh, text); });
        ps::write_file(folder.file("fits"), std::string_view(text).substr(1));
    }
    CHECK(with_old == path + ": cannot write: File too large");
    CHECK(without_old == fresh + ": cannot write: File too large");
    CHECK(scratch::content(path) == "precious");
    CHECK(scratch::content(folder.file("fits")).size() == 1000);
    CHECK(folder.entries() == 2);
    CHECK(error_of([] { ps::write_file("/dev/full", "x"); }) == "/dev/full: cannot write: No space left on device");
}

TEST_CASE("write_file names the file and the reason when it cannot write") {
    const scratch::Folder folder;
    const std::string nowhere = folder.file("no/such/folder"), directory = folder.file("");
    CHECK(error_of([&] { ps::write_file(nowhere, "x"); }) == nowhere + ": cannot write: No such file or directory");
    CHECK(error_of([&] { ps::write_file(directory, "x"); }) == directory + ": cannot write: Is a directory");
    CHECK(folder.entries() == 0);
}

TEST_CASE("write_file keeps permissions, follows links and writes into pipes") {
    namespace fs = std::filesystem;
    const scratch::Folder folder;
    const std::string path = folder.file("target"), link = folder.file("link"), pipe = folder.file("pipe");
    ps::write_file(path, "old");
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
    fs::create_symlink("target", link);
    ps::write_file(link, "new");
    CHECK(fs::is_symlink(link));
    CHECK(scratch::content(path) == "new");
    CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));

    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::string received;
    std::thread reader([&] { received = scratch::content(pipe); });
    ps::write_file(pipe, "through the pipe");
    reader.join();
    CHECK(received == "through the pipe");
    CHECK(fs::is_fifo(pipe));
    CHECK(folder.entries() == 3);
}

TEST_CASE("write_file removes what killed writers left, and nothing else") {
    namespace fs = std::filesystem;
    const scratch::Folder folder;
    const std::string path = folder.file("plan");
    std::string name;
    const ps::io::Descriptor live(::open((path + ".77-1.tmp").c_str(), O_RDWR | O_CREAT, 0666));
    REQUIRE(::flock(live.handle(), LOCK_EX) == 0);
    for (const char* left : {".1-0.tmp", ".77-12.tmp"}) scratch::write(path + left, "left");
    const std::string own = ps::join('.', ::getpid(), "-0.tmp");
    scratch::write(path + own, "left");
    const std::vector<std::string> others{".tmp",      ".-0.tmp",  ".1-.tmp", ".1-0.tmp2",  ".a-0.tmp",
                                          "2.1-0.tmp", ".1-0.old", ".1.tmp",  ".1-0-0.tmp", ".77-1.tmp"};
    for (std::string const& other : others) {
        if (other != ".77-1.tmp") scratch::write(path + other, "another's");
    }
    ps::write_file(path, "text");
    CHECK(scratch::content(path) == "text");
    for (std::string const& other : others) CHECK_MESSAGE(fs::exists(path + other), other);
    CHECK(folder.entries() == 1 + others.size());
}

TEST_CASE("write_file by a child of fork that is killed leaves the old file or the new one, and nothing beside it") {
    const scratch::Folder folder;
    const std::string path = folder.file("checkpoint"), a(3'000'000, 'a'), b(3'500'000, 'b');
    ps::write_file(path, a);
    for (int i = 0; i < 24; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            for (;;) ps::write_file(path, b), ps::write_file(path, a);
        }
        REQUIRE(child > 0);
        std::this_thread::sleep_for(std::chrono::microseconds(900 * i));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        const std::string now = scratch::content(path);
        CHECK((now == a || now == b));
    }
    ps::write_file(path, "last");
    CHECK(folder.entries() == 1);
}

TEST_CASE("require_writable says what write_file would, and changes nothing") {
    namespace fs = std::filesystem;
    const scratch::Folder folder;
    const std::string there = folder.file("there"), fresh = folder.file("fresh"), below = there + "/below",
                      nowhere = folder.file("none/x");
    scratch::write(there, "kept");
    const auto before = fs::last_write_time(there);
    ps::require_writable(there);
    ps::require_writable(fresh);
    ps::require_writable("/dev/null");
    CHECK(scratch::content(there) == "kept");
    CHECK(fs::last_write_time(there) == before);
    CHECK(!fs::exists(fresh));
    CHECK(folder.entries() == 1);
    for (std::string const& path : {nowhere, below, folder.file("")}) {
        const std::string said = error_of([&] { ps::require_writable(path); });
        CHECK(said.find("cannot write") != std::string::npos);
        CHECK(said == error_of([&] { ps::write_file(path, "text"); }));
    }
    CHECK(folder.entries() == 1);
}

TEST_CASE("write_file by two threads leaves the whole of one") {
    const scratch::Folder folder;
    const std::string path = folder.file("shared"), a(50'000, 'a'), b(60'000, 'b');
    std::string failure;
    std::thread other([&] {
        failure = error_of([&] {
            for (int i = 0; i < 50; ++i) ps::write_file(path, b);
        });
    });
    for (int i = 0; i < 50; ++i) {
        ps::write_file(path, a);
        const std::string now = scratch::content(path);
        CHECK((now == a || now == b));
    }
    other.join();
    CHECK(failure.empty());
    CHECK(folder.entries() == 1);
}
