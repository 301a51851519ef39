# primsel::native: primsel::primsel, compiled for the processor of this machine. For programs that run where they are compiled;
# primsel::primsel itself never names an instruction set.
if(NOT TARGET primsel::native AND NOT CMAKE_CROSSCOMPILING)
    add_library(primsel_native INTERFACE)
    add_library(primsel::native ALIAS primsel_native)
    target_link_libraries(primsel_native INTERFACE primsel::primsel)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
        target_compile_options(primsel_native INTERFACE -mcpu=native)
    else()
        target_compile_options(primsel_native INTERFACE -march=native)
    endif()
endif()

# Says once that a build without optimisation, or for size with g++, is slow.
get_property(primsel_warned GLOBAL PROPERTY PRIMSEL_WARNED)
get_property(primsel_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT primsel_warned AND NOT primsel_multi_config)
    set(primsel_fix "configure with -DCMAKE_BUILD_TYPE=Release")
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CXX_FLAGS MATCHES "-O[1-9sfz]")
        set_property(GLOBAL PROPERTY PRIMSEL_WARNED TRUE)
        message(WARNING "primsel: without a build type nothing is optimised, and networks run some hundred times slower: ${primsel_fix}")
    elseif(CMAKE_BUILD_TYPE STREQUAL "MinSizeRel" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set_property(GLOBAL PROPERTY PRIMSEL_WARNED TRUE)
        message(WARNING "primsel: with MinSizeRel g++ makes networks some four times slower: ${primsel_fix}")
    endif()
endif()

# Warns of a g++ for 64-bit Windows whose AVX code crashes: it leaves vectors of 32 bytes on a stack aligned to 16, and moves them by
# instructions that need 32 (GCC's bug 54412). Debian's g++ moves them by others.
if(MINGW AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_FLAGS MATCHES "-muse-unaligned-vector-move")
    set(primsel_probe ${CMAKE_CURRENT_BINARY_DIR}/primsel_stack_vector.cpp)
    file(WRITE ${primsel_probe} "typedef float V __attribute__((vector_size(32)));\nvoid use(V&);\nvoid f() { V v{}; use(v); }\n")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -O1 -mavx -S -o - ${primsel_probe} OUTPUT_VARIABLE primsel_assembly ERROR_QUIET)
    if(primsel_assembly MATCHES "vmov(ap|dqa)")
        message(WARNING "primsel: this g++ does not align vectors on the stack, so programs for AVX crash: compile for SSE4.2 "
                        "(-march=x86-64-v2), or set CMAKE_CXX_FLAGS to -Wa,-muse-unaligned-vector-move (binutils 2.38 or newer)")
    endif()
endif()
