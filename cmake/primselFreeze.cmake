# primsel_freeze(<target> <network> [NAME <name>] [EMBED] [OPTIONS <option>...])
#
# Freezes the network, a file or a name that `primsel run` takes, whenever the file or the program `primsel` changes. The target
# may then include <name>.hpp, which declares `struct <name>` for primsel::FrozenEngine. <name> is that of the file without
# its ending unless NAME says otherwise. The weights are <name>.bin in the folder that the target's property
# PRIMSEL_FROZEN_DIR names, or a part of the program with EMBED. OPTIONS go to `primsel freeze`, e.g. --batch 2 --size 224;
# files that they name are relative to the source folder, and a change of them freezes again, too. The linker leaves out
# of the program what it does not call.
#
# The program `primsel` is PRIMSEL_TOOL, or that of this build, or the one installed beside this file or elsewhere. It
# freezes for the instruction set that it runs with, so that the target's sources must be compiled for the same
# (primsel::native where both are built for this machine). PRIMSEL_TOOL may be a list: the emulator of another processor, its
# options and a program that is built for that; or the name of a target, which a cross build runs by its emulator.
#
# A target of primsel_dispatch, which is called before, has a plan for each of its instruction sets; `primsel` must be built
# for every processor. The plans share one <name>.bin.
function(primsel_freeze target network)
    cmake_parse_arguments(PARSE_ARGV 2 arg "EMBED" "NAME" "OPTIONS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "primsel_freeze(<target> <network> [NAME <name>] [EMBED] [OPTIONS <option>...])")
    endif()
    set(file "")
    get_filename_component(path ${network} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    if(EXISTS ${path} OR network MATCHES "[.]onnx$") # a file that a rule makes is not there yet
        set(file ${path})
        set(network ${path})
    endif()
    foreach(option IN LISTS arg_OPTIONS)
        get_filename_component(path "${option}" ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
        if(EXISTS ${path} AND NOT IS_DIRECTORY ${path})
            list(APPEND file ${path})
        endif()
    endforeach()
    if(NOT arg_NAME)
        get_filename_component(arg_NAME ${network} NAME_WE)
    endif()
    string(MAKE_C_IDENTIFIER ${arg_NAME} name)

    if(PRIMSEL_TOOL)
        set(tool ${PRIMSEL_TOOL})
    elseif(TARGET primsel_cli AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
        set(tool primsel_cli)
    else()
        find_program(PRIMSEL_TOOL_FOUND primsel HINTS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin)
        mark_as_advanced(PRIMSEL_TOOL_FOUND)
        if(NOT PRIMSEL_TOOL_FOUND)
            message(FATAL_ERROR "primsel_freeze: the program `primsel` is needed to freeze ${network}: set PRIMSEL_TOOL to its path")
        endif()
        set(tool ${PRIMSEL_TOOL_FOUND})
    endif()
    list(GET tool -1 program)

    set(folder ${CMAKE_CURRENT_BINARY_DIR}/primsel_frozen/${target})
    file(MAKE_DIRECTORY ${folder})
    get_target_property(copies ${target} PRIMSEL_COPIES)
    get_target_property(archs ${target} PRIMSEL_COPY_ARCHS)
    set(outputs ${folder}/${name}.hpp)
    set(options ${arg_OPTIONS})
    if(copies)
        list(JOIN archs "," archs)
        list(APPEND options --arch ${archs})
    else()
        set(copies "")
    endif()
    if(arg_EMBED)
        list(APPEND options --embed)
    endif()
    if(arg_EMBED AND copies)
        # All copies read the same weights, which are no part of any.
        list(APPEND outputs ${folder}/${name}.cpp)
        target_sources(${target} PRIVATE ${folder}/${name}.cpp)
    endif()
    add_custom_command(OUTPUT ${outputs} BYPRODUCTS ${folder}/${name}.bin
                       COMMAND ${tool} freeze ${network} --out ${folder}/${name}.hpp --name ${name} ${options}
                       WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
                       DEPENDS ${program} ${file} COMMENT "Freezing ${network} as ${name}.hpp" VERBATIM)
    add_custom_target(${target}_freezes_${name} DEPENDS ${outputs})
    foreach(part IN LISTS target copies)
        add_dependencies(${part} ${target}_freezes_${name})
        target_include_directories(${part} PRIVATE ${folder})
        target_compile_options(${part} PRIVATE -ffunction-sections -fdata-sections)
    endforeach()
    set(drop_unused -Wl,--gc-sections)
    if(APPLE)
        set(drop_unused -Wl,-dead_strip)
    endif()
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(STATIC|OBJECT)_LIBRARY$")
        target_link_options(${target} INTERFACE ${drop_unused}) # of the program that it becomes a part of
    else()
        target_link_options(${target} PRIVATE ${drop_unused})
    endif()
    set_property(TARGET ${target} PROPERTY PRIMSEL_FROZEN_DIR ${folder})
endfunction()
