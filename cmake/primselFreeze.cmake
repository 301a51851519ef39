# primsel_freeze(<target> <network> [NAME <name>] [EMBED] [ARCHS <name>...] [OPTIONS <option>...])
#
# Freezes the network, a file or a name that `primsel run` takes, whenever the file or the program `primsel` changes. The target
# may then include <name>.hpp, which declares `struct <name>` for primsel::FrozenEngine. <name> is that of the file without
# its ending unless NAME says otherwise. The weights are <name>.bin in the folder that the target's property
# PRIMSEL_FROZEN_DIR names, or a part of the program with EMBED. OPTIONS go to `primsel freeze`, e.g. --batch 2 --size 224.
#
# The program `primsel` is PRIMSEL_TOOL, or that of this build, or an installed one; it runs on the host. It freezes for the
# instruction set that it runs with, so that the target's sources must be compiled for the same (primsel::native where both are
# built for this machine). With ARCHS, from primsel_dispatch's, a `primsel` built for every processor freezes for each of
# them, and <name>.hpp is the one of the unit that includes it; their weights are <name>_<arch>.bin.
function(primsel_freeze target network)
    cmake_parse_arguments(PARSE_ARGV 2 arg "EMBED" "NAME" "ARCHS;OPTIONS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "primsel_freeze(<target> <network> [NAME <name>] [EMBED] [ARCHS <name>...] [OPTIONS <option>...])")
    endif()
    set(file "")
    get_filename_component(path ${network} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    if(EXISTS ${path})
        set(file ${path})
        set(network ${path})
    endif()
    if(NOT arg_NAME)
        get_filename_component(arg_NAME ${network} NAME_WE)
    endif()
    string(MAKE_C_IDENTIFIER ${arg_NAME} name)

    if(PRIMSEL_TOOL)
        set(tool ${PRIMSEL_TOOL})
    elseif(TARGET primsel_cli AND NOT CMAKE_CROSSCOMPILING)
        set(tool primsel_cli)
    else()
        find_program(PRIMSEL_TOOL_FOUND primsel)
        mark_as_advanced(PRIMSEL_TOOL_FOUND)
        if(NOT PRIMSEL_TOOL_FOUND)
            message(FATAL_ERROR "primsel_freeze: the program `primsel` is needed to freeze ${network}: set PRIMSEL_TOOL to its path")
        endif()
        set(tool ${PRIMSEL_TOOL_FOUND})
    endif()

    set(folder ${CMAKE_CURRENT_BINARY_DIR}/primsel_frozen/${target})
    file(MAKE_DIRECTORY ${folder})
    set(embed "")
    if(arg_EMBED)
        set(embed --embed)
    endif()
    set(outputs "")
    macro(primsel_freeze_as header)
        add_custom_command(OUTPUT ${folder}/${header}.hpp ${folder}/${header}.bin
                           COMMAND ${ARGN} ${tool} freeze ${network} --out ${folder}/${header}.hpp --name ${name} ${embed} ${arg_OPTIONS}
                           DEPENDS ${tool} ${file} COMMENT "Freezing ${network} as ${header}.hpp" VERBATIM)
        list(APPEND outputs ${folder}/${header}.hpp)
    endmacro()
    if(arg_ARCHS)
        set(text "#pragma once\n#include <primsel/core/config.hpp>\n")
        set(condition "#if")
        foreach(level IN ITEMS avx512:__AVX512F__ avx2:__AVX2__ sse4_2:__SSE4_2__)
            string(REGEX MATCH "^(.+):(.+)$" level ${level})
            set(arch ${CMAKE_MATCH_1})
            if(arch IN_LIST arg_ARCHS)
                string(APPEND text "${condition} defined(${CMAKE_MATCH_2})\n#include \"${name}_${arch}.hpp\"\n")
                set(condition "#elif")
                primsel_freeze_as(${name}_${arch} ${CMAKE_COMMAND} -E env PRIMSEL_ARCH=${arch})
            endif()
        endforeach()
        string(APPEND text "#else\n#error \"primsel: ${name} was not frozen for this instruction set\"\n#endif\n")
        file(CONFIGURE OUTPUT ${folder}/${name}.hpp CONTENT "${text}" @ONLY)
    else()
        primsel_freeze_as(${name})
    endif()

    # The target's objects wait for the headers, also those of primsel_dispatch's copies.
    target_sources(${target} PRIVATE ${outputs})
    target_include_directories(${target} PRIVATE ${folder})
    set_property(TARGET ${target} PROPERTY PRIMSEL_FROZEN_DIR ${folder})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${folder}/${name}.bin)
endfunction()
