#define DOCTEST_CONFIG_IMPLEMENT
#include "skipped.hpp"

#include <doctest/doctest.h>

int main(int argc, char** argv) {
    const int status = doctest::Context(argc, argv).run();
    return status == 0 && tests::any_skipped ? 77 : status;
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
// Tests fork programs of several threads; their children start threads of their own.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif
#endif
