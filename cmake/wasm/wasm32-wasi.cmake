# Cross build for WebAssembly with Debian's clang-19, lld-19, wasi-libc, libc++-19-dev-wasm32, libc++abi-19-dev-wasm32 and
# libclang-rt-19-dev-wasm32. Programs need vectors and exception handling, which browsers have since 2021, and one thread.
# The host's header-only packages serve, but for xsimd: its first release that works here is 13. Name its folder:
#     cmake -B build/wasm -DCMAKE_TOOLCHAIN_FILE=cmake/wasm/wasm32-wasi.cmake -DPRIMSEL_XSIMD_INCLUDE_DIR=<folder>
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_C_FLAGS_INIT -msimd128)
set(CMAKE_CXX_FLAGS_INIT "-msimd128 -fwasm-exceptions -isystem ${CMAKE_CURRENT_LIST_DIR}/include")
set(CMAKE_EXECUTABLE_SUFFIX_CXX .wasm)
set(CMAKE_EXECUTABLE_SUFFIX_C .wasm)
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-warnings ${CMAKE_CURRENT_LIST_DIR}/run.mjs)

set(primsel_host_packages rapidjson protozero)
include(${CMAKE_CURRENT_LIST_DIR}/../host_headers.cmake)

# Every program links the parts that Debian's C++ library lacks.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(PRIMSEL_WASM_RUNTIME ${CMAKE_CURRENT_LIST_DIR}/runtime.cpp)

set(CMAKE_FIND_ROOT_PATH /usr/lib/llvm-19/lib/wasm32-wasi)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
