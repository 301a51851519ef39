# Programs that run on every x86-64 processor and use what the one at hand has.
set(PRIMSEL_DISPATCH_DIR ${CMAKE_CURRENT_LIST_DIR}/dispatch CACHE INTERNAL "where dispatch.sh lies")
set(PRIMSEL_DISPATCH_ARCHS sse4_2 avx2 avx512 CACHE INTERNAL "the instruction sets that primsel_dispatch knows")
set(primsel_march_sse4_2 -march=x86-64-v2 CACHE INTERNAL "")
set(primsel_march_avx2 -march=x86-64-v3 CACHE INTERNAL "")
set(primsel_march_avx512 -march=x86-64-v4 CACHE INTERNAL "")

# Whether functions can be dispatched here: by GNU binutils, for ELF on x86-64.
function(primsel_can_dispatch variable)
    set(${variable} FALSE PARENT_SCOPE)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND CMAKE_LINKER AND CMAKE_OBJCOPY AND CMAKE_NM AND UNIX AND NOT APPLE)
        set(${variable} TRUE PARENT_SCOPE)
    endif()
endfunction()

# primsel_dispatch(<target> ENTRIES <function>... SOURCES <file>... [LIBRARIES <library>...] [ARCHS <name>...])
#
# Compiles the sources once for each of the instruction sets (by default sse4_2, avx2 and avx512) and adds all copies to the
# target, which exists already. When the program starts, each <function>, declared extern "C", is that of the widest
# instruction set that the processor and the operating system bear; the environment variable PRIMSEL_ARCH may name another.
# The libraries, e.g. primsel::primsel, are linked to the target, and the sources compiled as they ask for. The copies see the
# rest of the program, which sees nothing of them but the functions. Elsewhere than on x86-64 with GNU binutils the
# sources become part of the target as they are.
function(primsel_dispatch target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ENTRIES;SOURCES;LIBRARIES;ARCHS")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_ENTRIES OR NOT arg_SOURCES)
        message(FATAL_ERROR "primsel_dispatch(<target> ENTRIES <function>... SOURCES <file>... [LIBRARIES <library>...] [ARCHS <name>...])")
    endif()
    target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
    primsel_can_dispatch(can)
    if(NOT can)
        target_sources(${target} PRIVATE ${arg_SOURCES})
        return()
    endif()
    if(NOT arg_ARCHS)
        set(arg_ARCHS ${PRIMSEL_DISPATCH_ARCHS})
    endif()
    set(copies "")
    foreach(arch IN LISTS arg_ARCHS)
        set(copy ${target}_${arch})
        add_library(${copy} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCES})
        target_link_libraries(${copy} PRIVATE ${arg_LIBRARIES})
        list(APPEND copies ${arch} ${copy})
    endforeach()
    primsel_dispatch_copies(${target} "${arg_ENTRIES}" ${copies})
    # For primsel_freeze.
    get_target_property(folder ${target} PRIMSEL_FROZEN_DIR)
    if(folder)
        message(FATAL_ERROR "primsel_dispatch: call it before primsel_freeze, which makes a plan for each instruction set of ${target}")
    endif()
    list(TRANSFORM arg_ARCHS PREPEND ${target}_ OUTPUT_VARIABLE names)
    set_target_properties(${target} PROPERTIES PRIMSEL_COPIES "${names}" PRIMSEL_COPY_ARCHS "${arg_ARCHS}")
endfunction()

# primsel_dispatch_copies(<target> "<function>;..." <arch> <object library> ...): the same of object libraries, of which an
# instruction set may have several. They are given the flags that copies need.
function(primsel_dispatch_copies target entries)
    get_target_property(type ${target} TYPE)
    set(archs "")
    while(ARGN)
        list(POP_FRONT ARGN arch copy)
        if(NOT primsel_march_${arch})
            message(FATAL_ERROR "primsel_dispatch: ${arch}: no such instruction set; there are ${PRIMSEL_DISPATCH_ARCHS}")
        endif()
        target_compile_options(${copy} PRIVATE ${primsel_march_${arch}} $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
        add_dependencies(${target} ${copy}) # Makefiles have no rule for an object of another target
        set_target_properties(${copy} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
        if(NOT type STREQUAL "EXECUTABLE")
            set_target_properties(${copy} PROPERTIES POSITION_INDEPENDENT_CODE ON)
            target_compile_options(${copy} PRIVATE -fno-semantic-interposition)
        endif()
        list(APPEND archs ${arch})
        list(APPEND objects_of_${arch} $<TARGET_OBJECTS:${copy}>)
    endwhile()
    list(REMOVE_DUPLICATES archs)
    set(arguments ${entries})
    set(objects "")
    foreach(arch IN LISTS archs)
        list(APPEND arguments -- ${arch} ${objects_of_${arch}})
        list(APPEND objects ${objects_of_${arch}})
    endforeach()
    set(joined ${CMAKE_CURRENT_BINARY_DIR}/${target}_dispatched.o)
    set(script ${PRIMSEL_DISPATCH_DIR}/dispatch.sh)
    add_custom_command(OUTPUT ${joined}
                       COMMAND ${CMAKE_COMMAND} -E env CXX=${CMAKE_CXX_COMPILER} LD=${CMAKE_LINKER} OBJCOPY=${CMAKE_OBJCOPY}
                               NM=${CMAKE_NM} ${script} ${joined} ${arguments}
                       DEPENDS ${objects} ${script} ${PRIMSEL_DISPATCH_DIR}/dispatch.cpp
                       COMMENT "Joining the copies of ${target}" COMMAND_EXPAND_LISTS VERBATIM)
    target_sources(${target} PRIVATE ${joined})
    set_source_files_properties(${joined} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()
