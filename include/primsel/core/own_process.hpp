#pragma once

#include <primsel/core/config.hpp>

#if PRIMSEL_HAS_FORK
#include <pthread.h>
#endif

#include <atomic>
#include <memory>
#include <new>

namespace primsel::inline PRIMSEL_ABI::core {

/// The number of forks between the program's first process and this one, counted since the first OwnProcess.
inline constinit std::atomic<unsigned> process_forks = 0;

/// Remembers the process in which an object was made. A child of fork has a copy of every object but only the forking
/// thread, so waiting for another thread there never ends. Windows and WebAssembly have no fork.
class OwnProcess {
public:
    OwnProcess() {
#if PRIMSEL_HAS_FORK
        static const int registered =
            ::pthread_atfork(nullptr, nullptr, [] { process_forks.fetch_add(1, std::memory_order_relaxed); });
        (void)registered;
#endif
    }
    /// Returns whether the caller runs in the process of construction, not in a child of it.
    [[nodiscard]] bool is_this() const noexcept { return forks_ == process_forks.load(std::memory_order_relaxed); }

private:
    unsigned forks_ = process_forks.load(std::memory_order_relaxed);
};

/// Constructs a new object in the place of one whose destructor would wait for a thread that this process does not
/// have.
template <class T>
void forget(T& object) {
    ::new (static_cast<void*>(std::addressof(object))) T;
}

}  // namespace primsel::inline PRIMSEL_ABI::core
