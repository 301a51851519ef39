// The functions of Windows that the library calls, declared as <windows.h> declares them: that header defines thousands
// of macros, among them min, max, near and far, and takes longer to read than the library.
#pragma once

#include <primsel/core/config.hpp>

#if defined(_WIN32)

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

struct _OVERLAPPED;
struct _SECURITY_ATTRIBUTES;
struct _BY_HANDLE_FILE_INFORMATION;
struct _WIN32_FIND_DATAW;

extern "C" {
__declspec(dllimport) unsigned long __stdcall GetLastError();
__declspec(dllimport) int __stdcall MultiByteToWideChar(unsigned, unsigned long, const char*, int, wchar_t*, int);
__declspec(dllimport) int __stdcall WideCharToMultiByte(unsigned, unsigned long, const wchar_t*, int, char*, int,
                                                        const char*, int*);
__declspec(dllimport) int __stdcall CloseHandle(void*);
__declspec(dllimport) void* __stdcall CreateFileW(const wchar_t*, unsigned long, unsigned long, _SECURITY_ATTRIBUTES*,
                                                  unsigned long, unsigned long, void*);
__declspec(dllimport) int __stdcall ReadFile(void*, void*, unsigned long, unsigned long*, _OVERLAPPED*);
__declspec(dllimport) int __stdcall WriteFile(void*, const void*, unsigned long, unsigned long*, _OVERLAPPED*);
__declspec(dllimport) int __stdcall FlushFileBuffers(void*);
__declspec(dllimport) unsigned long __stdcall SetFilePointer(void*, long, long*, unsigned long);
__declspec(dllimport) int __stdcall SetEndOfFile(void*);
__declspec(dllimport) unsigned long __stdcall GetFileType(void*);
__declspec(dllimport) int __stdcall GetFileInformationByHandle(void*, _BY_HANDLE_FILE_INFORMATION*);
__declspec(dllimport) unsigned long __stdcall GetFinalPathNameByHandleW(void*, wchar_t*, unsigned long, unsigned long);
__declspec(dllimport) int __stdcall LockFile(void*, unsigned long, unsigned long, unsigned long, unsigned long);
__declspec(dllimport) int __stdcall MoveFileExW(const wchar_t*, const wchar_t*, unsigned long);
__declspec(dllimport) int __stdcall DeleteFileW(const wchar_t*);
__declspec(dllimport) int __stdcall CreateDirectoryW(const wchar_t*, _SECURITY_ATTRIBUTES*);
__declspec(dllimport) void* __stdcall FindFirstFileW(const wchar_t*, _WIN32_FIND_DATAW*);
__declspec(dllimport) int __stdcall FindNextFileW(void*, _WIN32_FIND_DATAW*);
__declspec(dllimport) int __stdcall FindClose(void*);
__declspec(dllimport) void* __stdcall CreateFileMappingW(void*, _SECURITY_ATTRIBUTES*, unsigned long, unsigned long,
                                                         unsigned long, const wchar_t*);
__declspec(dllimport) void* __stdcall MapViewOfFile(void*, unsigned long, unsigned long, unsigned long,
                                                    unsigned long long);
__declspec(dllimport) int __stdcall UnmapViewOfFile(const void*);
__declspec(dllimport) void* __stdcall GetCurrentProcess();
__declspec(dllimport) unsigned long __stdcall GetCurrentProcessId();
__declspec(dllimport) int __stdcall GetProcessAffinityMask(void*, unsigned long long*, unsigned long long*);
__declspec(dllimport) unsigned long __stdcall GetActiveProcessorCount(unsigned short);
}

namespace primsel::inline PRIMSEL_ABI::core::windows {

inline constexpr unsigned utf8 = 65001;
inline constexpr unsigned long generic_read = 0x80000000, generic_write = 0x40000000, share_all = 7, create_new = 1,
                               open_existing = 3, open_always = 4, backup_semantics = 0x02000000;

/// Returns the handle of no file.
[[nodiscard]] inline void* invalid_handle() noexcept { return reinterpret_cast<void*>(std::intptr_t{-1}); }

/// Returns a text in UTF-8 as Windows wants it; empty if it is no UTF-8.
[[nodiscard]] inline std::wstring wide(std::string_view text) {
    constexpr unsigned long refuse_invalid = 8;
    const int bytes = static_cast<int>(text.size());
    if (bytes == 0) return {};
    std::wstring result(
        static_cast<std::size_t>(::MultiByteToWideChar(utf8, refuse_invalid, text.data(), bytes, nullptr, 0)), L'\0');
    ::MultiByteToWideChar(utf8, refuse_invalid, text.data(), bytes, result.data(), static_cast<int>(result.size()));
    return result;
}
/// Returns a text of Windows in UTF-8.
[[nodiscard]] inline std::string narrow(std::wstring_view text) {
    const int units = static_cast<int>(text.size());
    if (units == 0) return {};
    std::string result(
        static_cast<std::size_t>(::WideCharToMultiByte(utf8, 0, text.data(), units, nullptr, 0, nullptr, nullptr)),
        '\0');
    ::WideCharToMultiByte(utf8, 0, text.data(), units, result.data(), static_cast<int>(result.size()), nullptr,
                          nullptr);
    return result;
}

/// Sets errno to the reason of the last failed call, and returns false.
inline bool leave_errno() noexcept {
    switch (::GetLastError()) {
        case 2:    // ERROR_FILE_NOT_FOUND
        case 3:    // ERROR_PATH_NOT_FOUND
        case 123:  // ERROR_INVALID_NAME
        case 161:  // ERROR_BAD_PATHNAME
            errno = ENOENT;
            break;
        case 5:  // ERROR_ACCESS_DENIED
            errno = EACCES;
            break;
        case 8:   // ERROR_NOT_ENOUGH_MEMORY
        case 14:  // ERROR_OUTOFMEMORY
            errno = ENOMEM;
            break;
        case 32:  // ERROR_SHARING_VIOLATION
            errno = EBUSY;
            break;
        case 33:  // ERROR_LOCK_VIOLATION
            errno = EWOULDBLOCK;
            break;
        case 39:   // ERROR_HANDLE_DISK_FULL
        case 112:  // ERROR_DISK_FULL
            errno = ENOSPC;
            break;
        case 80:   // ERROR_FILE_EXISTS
        case 183:  // ERROR_ALREADY_EXISTS
            errno = EEXIST;
            break;
        case 267:  // ERROR_DIRECTORY
            errno = ENOTDIR;
            break;
        default:
            errno = EIO;
    }
    return false;
}

}  // namespace primsel::inline PRIMSEL_ABI::core::windows

#endif
