// PRIMSEL_TEST_INSTRUMENTED where a sanitizer slows the program down or replaces its allocator.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PRIMSEL_TEST_INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define PRIMSEL_TEST_INSTRUMENTED 1
#endif
#endif
