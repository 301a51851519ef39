# Cross build for 64-bit ARM with Debian's g++-aarch64-linux-gnu; tests run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# Header-only packages serve every architecture, but /usr/include as a whole holds the host's headers: so link to the
# few folders that are wanted, and look nowhere else.
set(headers ${CMAKE_BINARY_DIR}/headers)
foreach(package IN ITEMS xsimd rapidjson doctest)
    if(EXISTS /usr/include/${package} AND NOT EXISTS ${headers}/include/${package})
        file(MAKE_DIRECTORY ${headers}/include)
        file(CREATE_LINK /usr/include/${package} ${headers}/include/${package} SYMBOLIC)
    endif()
endforeach()
set(CMAKE_FIND_ROOT_PATH ${headers} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
