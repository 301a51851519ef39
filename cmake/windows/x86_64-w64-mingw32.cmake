# Cross build for 64-bit Windows with Debian's g++-mingw-w64-x86-64-posix; programs run under wine64. The host's header-only packages
# serve:
#     cmake -B build/windows -DCMAKE_TOOLCHAIN_FILE=cmake/windows/x86_64-w64-mingw32.cmake
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
find_program(PRIMSEL_WINE NAMES wine64 wine PATHS /usr/lib/wine)
set(CMAKE_CROSSCOMPILING_EMULATOR ${PRIMSEL_WINE})
# For AVX2: -DCMAKE_CXX_FLAGS="-march=x86-64-v3 -D_FILE_OFFSET_BITS=64".
set(CMAKE_CXX_FLAGS_INIT "-msse4.2 -D_FILE_OFFSET_BITS=64")
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)

set(primsel_host_packages xsimd rapidjson protozero)
include(${CMAKE_CURRENT_LIST_DIR}/../host_headers.cmake)

set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
