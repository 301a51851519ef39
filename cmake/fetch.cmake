# Headers that no installed package has are downloaded, at the versions that primsel is tested with.
include(FetchContent)

set(primsel_xsimd_origin https://github.com/xtensor-stack/xsimd 1577b02d549cca52aa5e943c16f2600950480289) # 8.1.0
set(primsel_RapidJSON_origin https://github.com/Tencent/rapidjson 24b5e7a8b27f42fa16b96fc70aade9106cf7102f)
set(primsel_doctest_origin https://github.com/doctest/doctest b7c21ec5ceeadb4951b00396fc1e4642dd347e5f) # 2.4.9

# Like primsel_find_headers; fetches the package if it is not installed.
function(primsel_find_or_fetch_headers package header)
    primsel_find_headers(${package} ${header})
    string(TOUPPER ${package} upper)
    string(TOLOWER ${package} lower)
    if(PRIMSEL_${upper}_INCLUDE_DIR)
        return()
    endif()
    list(GET primsel_${package}_origin 0 repository)
    list(GET primsel_${package}_origin 1 commit)
    message(STATUS "primsel: ${package} is not installed; fetching it from ${repository}")
    # Only the headers are wanted: naming a folder that does not exist keeps the package's own build out of ours.
    FetchContent_Declare(${lower} GIT_REPOSITORY ${repository} GIT_TAG ${commit} GIT_SUBMODULES ""
                         SOURCE_SUBDIR headers_only)
    FetchContent_MakeAvailable(${lower})
    find_path(PRIMSEL_${upper}_INCLUDE_DIR ${header} PATHS ${${lower}_SOURCE_DIR}/include ${${lower}_SOURCE_DIR}
              NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
    # An installed primsel needs them too.
    get_filename_component(folder ${header} DIRECTORY)
    set_property(GLOBAL APPEND PROPERTY PRIMSEL_FETCHED_HEADERS ${PRIMSEL_${upper}_INCLUDE_DIR}/${folder})
endfunction()
