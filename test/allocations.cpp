#include "allocations.hpp"

#include <cstdlib>
#include <new>

namespace {
// Not a byte more than asked for: an address sanitizer sees what is beyond.
void* allocate(std::size_t bytes, std::size_t align) {
    ++scratch::allocations;
    scratch::allocated_bytes += bytes;
    void* memory = nullptr;
    if (posix_memalign(&memory, align, bytes) != 0) throw std::bad_alloc();
    return memory;
}
}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t align) {
    return allocate(bytes, static_cast<std::size_t>(align));
}
// std::stable_sort takes its buffer this way, and gives it back to the plain operator delete.
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
    try {
        return allocate(bytes, alignof(std::max_align_t));
    } catch (std::bad_alloc const&) {
        return nullptr;
    }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
