// Supplies the parts that Debian's C++ library for WASI is built without: exceptions, by the Itanium C++ ABI with
// WebAssembly's exception handling, for one thread, and the members of threads, mutexes and paths that are not in its
// headers.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <typeinfo>

namespace __cxxabiv1 {

/// The first virtual functions of every std::type_info of the library, in their order.
class __shim_type_info : public std::type_info {
public:
    ~__shim_type_info() override;
    virtual void noop1() const;
    virtual void noop2() const;
    /// Whether a handler of this type catches `thrown`; moves `object` to the part that the handler sees.
    virtual bool can_catch(const __shim_type_info* thrown, void*& object) const = 0;
};

}  // namespace __cxxabiv1

namespace {

using Type = __cxxabiv1::__shim_type_info;

/// Lies before each thrown object.
struct alignas(16) Exception {
    const Type* type;
    void* (*destroy)(void*);
    /// The part of the object that its handler sees.
    void* seen;
    Exception* caught_before;
    int handlers;
    bool rethrown;

    [[nodiscard]] void* object() { return this + 1; }
    [[nodiscard]] static Exception* of(void* object) { return static_cast<Exception*>(object) - 1; }
};
Exception* last_caught = nullptr;
int uncaught = 0;

[[noreturn]] void raise(Exception* exception) {
    ++uncaught;
    __builtin_wasm_throw(0, exception);
}
void release(Exception* exception) {
    if (exception->destroy != nullptr) exception->destroy(exception->object());
    std::free(exception);
}

/// Reads the numbers of a table of handlers (LEB128).
struct Reader {
    const std::uint8_t* at;

    std::uintptr_t next() {
        std::uintptr_t result = 0;
        for (unsigned shift = 0;; shift += 7) {
            const std::uint8_t byte = *at++;
            result |= static_cast<std::uintptr_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return result;
        }
    }
    std::intptr_t next_signed() {
        std::uintptr_t result = 0;
        for (unsigned shift = 0;;) {
            const std::uint8_t byte = *at++;
            result |= static_cast<std::uintptr_t>(byte & 0x7F) << shift;
            shift += 7;
            if (byte >= 0x80) continue;
            if ((byte & 0x40) != 0 && shift < 32) result |= ~std::uintptr_t{0} << shift;
            return static_cast<std::intptr_t>(result);
        }
    }
};

}  // namespace

extern "C" {

/// The compiler writes the first two before it asks for the third: the number of the handler that catches, or 0.
struct {
    std::uintptr_t pad;
    const std::uint8_t* table;
    std::uintptr_t selector;
} __wasm_lpad_context;

/// Looks the handler up in the table of the function: a header, for each landing pad the place of its first action,
/// then the actions, a list of numbers of types for each landing pad; the types lie backwards before `types`.
int _Unwind_CallPersonality(void* raised) {
    auto* const exception = static_cast<Exception*>(raised);
    constexpr std::uint8_t omitted = 0xFF;
    __wasm_lpad_context.selector = 0;
    Reader table{__wasm_lpad_context.table};
    if (*table.at++ != omitted) std::abort();  // the pads count from the function's begin
    const bool has_types = *table.at++ != omitted;
    const std::uintptr_t distance = has_types ? table.next() : 0;
    const auto* const types = reinterpret_cast<const Type* const*>(table.at + distance);
    ++table.at;  // the form of the pads' numbers is LEB128
    const std::uintptr_t bytes = table.next();
    const std::uint8_t* const actions = table.at + bytes;
    std::uintptr_t action = 0;
    for (std::uintptr_t pad = 0; pad <= __wasm_lpad_context.pad; ++pad) {
        table.next();
        action = table.next();
    }
    if (action == 0) return 0;
    for (Reader list{actions + action - 1};;) {
        const std::intptr_t number = list.next_signed();
        const std::uint8_t* const here = list.at;
        const std::intptr_t step = list.next_signed();
        if (number > 0) {
            const Type* const type = types[-number];
            void* seen = exception->object();
            if (type == nullptr || type->can_catch(exception->type, seen)) {
                exception->seen = seen;
                __wasm_lpad_context.selector = static_cast<std::uintptr_t>(number);
                return 0;
            }
        }
        if (step == 0) return 0;
        list.at = here + step;
    }
}

void* __cxa_allocate_exception(std::size_t bytes) noexcept {
    auto* const exception = static_cast<Exception*>(std::aligned_alloc(
        alignof(Exception),
        (sizeof(Exception) + bytes + alignof(Exception) - 1) / alignof(Exception) * alignof(Exception)));
    if (exception == nullptr) std::terminate();
    *exception = {};
    return exception->object();
}
void __cxa_free_exception(void* object) noexcept { std::free(Exception::of(object)); }

[[noreturn]] void __cxa_throw(void* object, std::type_info* type, void* (*destroy)(void*)) {
    Exception* const exception = Exception::of(object);
    exception->type = static_cast<const Type*>(type);
    exception->destroy = destroy;
    exception->seen = object;
    raise(exception);
}
[[noreturn]] void __cxa_rethrow() {
    if (last_caught == nullptr) std::terminate();
    last_caught->rethrown = true;
    raise(last_caught);
}

void* __cxa_get_exception_ptr(void* raised) noexcept { return static_cast<Exception*>(raised)->seen; }
void* __cxa_begin_catch(void* raised) noexcept {
    auto* const exception = static_cast<Exception*>(raised);
    if (exception != last_caught) {
        exception->caught_before = last_caught;
        last_caught = exception;
    }
    exception->rethrown = false;
    ++exception->handlers;
    --uncaught;
    return exception->seen;
}
void __cxa_end_catch() {
    Exception* const exception = last_caught;
    if (--exception->handlers > 0) return;
    last_caught = exception->caught_before;
    if (!exception->rethrown) release(exception);
}

int __cxa_atexit(void (*)(void*), void*, void*);
int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* library) {
    return __cxa_atexit(destroy, object, library);
}

unsigned __cxa_uncaught_exceptions() noexcept { return static_cast<unsigned>(uncaught); }
bool __cxa_uncaught_exception() noexcept { return uncaught > 0; }

// std::exception_ptr holds nothing.
void __cxa_increment_exception_refcount(void*) noexcept {}
void __cxa_decrement_exception_refcount(void*) noexcept {}
void* __cxa_current_primary_exception() noexcept { return nullptr; }
void __cxa_rethrow_primary_exception(void*) {}

}  // extern "C"

// The library's own operators end the program where there is no memory.
void* operator new(std::size_t bytes) {
    if (void* const room = std::malloc(bytes == 0 ? 1 : bytes)) return room;
    throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void* room) noexcept { std::free(room); }
void operator delete(void* room, std::size_t) noexcept { std::free(room); }
void operator delete[](void* room) noexcept { std::free(room); }
void operator delete[](void* room, std::size_t) noexcept { std::free(room); }

_LIBCPP_BEGIN_NAMESPACE_STD

int __libcpp_thread_create(__libcpp_thread_t*, void* (*)(void*), void*) {
    throw system_error(make_error_code(errc::resource_unavailable_try_again), "WebAssembly has one thread here");
}
thread::~thread() {
    if (joinable()) std::terminate();
}
void thread::join() { std::terminate(); }
void thread::detach() { std::terminate(); }
unsigned thread::hardware_concurrency() noexcept { return 1; }
__thread_struct::__thread_struct() : __p_(nullptr) {}
__thread_struct::~__thread_struct() = default;
__thread_specific_ptr<__thread_struct>& __thread_local_data() {
    static __thread_specific_ptr<__thread_struct> data;
    return data;
}

mutex::~mutex() noexcept = default;
void mutex::lock() {}
bool mutex::try_lock() noexcept { return true; }
void mutex::unlock() noexcept {}

// No other thread changes the value that is waited for.
void __cxx_atomic_notify_one(const void volatile*) noexcept {}
void __cxx_atomic_notify_all(const void volatile*) noexcept {}
void __cxx_atomic_notify_one(const __cxx_atomic_contention_t volatile*) noexcept {}
void __cxx_atomic_notify_all(const __cxx_atomic_contention_t volatile*) noexcept {}
__cxx_contention_t __libcpp_atomic_monitor(const void volatile*) noexcept { return 0; }
__cxx_contention_t __libcpp_atomic_monitor(const __cxx_atomic_contention_t volatile*) noexcept { return 0; }
void __libcpp_atomic_wait(const void volatile*, __cxx_contention_t) noexcept { std::terminate(); }
void __libcpp_atomic_wait(const __cxx_atomic_contention_t volatile*, __cxx_contention_t) noexcept { std::terminate(); }

namespace filesystem {
/// Links are not followed.
path __canonical(path const& file, error_code* fault) {
    if (fault != nullptr) fault->clear();
    return file.lexically_normal();
}
}  // namespace filesystem

_LIBCPP_END_NAMESPACE_STD
