#include <primsel/core/own_process.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace core = primsel::core;

TEST_CASE("OwnProcess: a child of fork is another process, and so is a child of that child") {
    const core::OwnProcess here;
    CHECK(here.is_this());
    const pid_t child = ::fork();
    if (child == 0) {
        const core::OwnProcess there;
        if (here.is_this() || !there.is_this()) ::_exit(1);
        const pid_t grandchild = ::fork();
        if (grandchild == 0) ::_exit(here.is_this() || there.is_this() ? 1 : 0);
        int status = 0;
        ::waitpid(grandchild, &status, 0);
        ::_exit(status == 0 && there.is_this() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(here.is_this());
}

TEST_CASE("forget: a new object, and no destructor of the old one") {
    static int destroyed = 0;
    struct Counted {
        int value = 1;
        ~Counted() { ++destroyed; }
    };
    {
        Counted object;
        object.value = 7;
        core::forget(object);
        CHECK(object.value == 1);
        CHECK(destroyed == 0);
    }
    CHECK(destroyed == 1);
}
