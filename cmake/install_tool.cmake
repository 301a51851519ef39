# Installs the component `tool`: the command line, and its man page and the completion of three shells as the program
# itself prints them. What has not been built, or does not run here, is left out.
install(TARGETS primsel_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL COMPONENT tool)
install(CODE [[
    set(program "$<TARGET_FILE:primsel_cli>")
    set(pages "$<TARGET_PROPERTY:primsel_cli,BINARY_DIR>/pages")
    file(REMOVE_RECURSE "${pages}")
    file(MAKE_DIRECTORY "${pages}")
    if(EXISTS "${program}")
        foreach(page IN ITEMS "primsel.1:manual" "primsel:completion bash" "_primsel:completion zsh" "primsel.fish:completion fish")
            string(REGEX MATCH "^([^:]+):(.+)$" page "${page}")
            set(file "${pages}/${CMAKE_MATCH_1}")
            separate_arguments(command UNIX_COMMAND "${CMAKE_MATCH_2}")
            execute_process(COMMAND "${program}" ${command} OUTPUT_FILE "${file}" RESULT_VARIABLE result)
            if(NOT result EQUAL 0)
                message(STATUS "Not installed, as the program does not run here: ${file}")
                file(REMOVE "${file}")
            endif()
        endforeach()
    endif()
]] COMPONENT tool)
foreach(page IN ITEMS ${CMAKE_INSTALL_MANDIR}/man1/primsel.1
                      ${CMAKE_INSTALL_DATADIR}/bash-completion/completions/primsel
                      ${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_primsel
                      ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/primsel.fish)
    get_filename_component(folder ${page} DIRECTORY)
    get_filename_component(name ${page} NAME)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pages/${name} DESTINATION ${folder} OPTIONAL COMPONENT tool)
endforeach()
