# For toolchain files: finds header-only packages of the host, those in primsel_host_packages. Its headers cannot be searched as a whole:
# its C library's would be found.
foreach(package IN LISTS primsel_host_packages)
    string(TOUPPER ${package} upper)
    if(EXISTS /usr/include/${package} AND NOT PRIMSEL_${upper}_INCLUDE_DIR)
        file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers)
        file(CREATE_LINK /usr/include/${package} ${CMAKE_BINARY_DIR}/headers/${package} SYMBOLIC)
        set(PRIMSEL_${upper}_INCLUDE_DIR ${CMAKE_BINARY_DIR}/headers CACHE PATH "")
    endif()
endforeach()
