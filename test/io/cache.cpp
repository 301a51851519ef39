#include "scratch.hpp"

#include <primsel/io/cache.hpp>

#include <sys/stat.h>

#include <string>

namespace ps = primsel;

TEST_CASE("a file of the cache makes its folders; what cannot be written is no error") {
    const scratch::Folder folder;
    const std::string path = folder.file("a/b/c.json");
    CHECK(ps::write_cache_file(path, "first"));
    CHECK(scratch::content(path) == "first");
    CHECK(ps::write_cache_file(path, "second"));
    CHECK(scratch::content(path) == "second");
    CHECK_FALSE(ps::write_cache_file("", "text"));
    CHECK_FALSE(ps::write_cache_file(path + "/below.json", "text"));
    CHECK_FALSE(ps::write_cache_file(folder.file("a"), "text"));
    CHECK(scratch::content(path) == "second");
}

TEST_CASE("a pipe in the place of a file of the cache is left alone") {
    const scratch::Folder folder;
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_FALSE(ps::write_cache_file(pipe, "text"));
    struct stat status {};
    REQUIRE(::stat(pipe.c_str(), &status) == 0);
    CHECK(S_ISFIFO(status.st_mode));
}
