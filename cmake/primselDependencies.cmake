# The libraries that primsel needs, and its optional doors. Included by primsel's own build and, installed
# beside primselConfig.cmake, by find_package(primsel).

# PRIMSEL_<PACKAGE>_INCLUDE_DIR: the folder that holds <header> of a header-only package, or ...-NOTFOUND. Only the
# folder is taken from the package: the xsimd that Debian 12 ships names a library to link that does not exist.
function(primsel_find_headers package header)
    string(TOUPPER ${package} upper)
    find_package(${package} QUIET)
    find_path(PRIMSEL_${upper}_INCLUDE_DIR ${header}
              HINTS ${${package}_INCLUDE_DIRS} ${${upper}_INCLUDE_DIRS} ${PRIMSEL_INSTALLED_INCLUDE_DIR})
    mark_as_advanced(PRIMSEL_${upper}_INCLUDE_DIR)
endfunction()

# The optional doors: targets that exist when their package does, and components of find_package(primsel). Each brings
# what one opt-in header needs.
#   primsel::openmp       core/openmp.hpp
#   primsel::eigen        gemm/gemm_eigen.hpp, learn/model_file.hpp, most regressions of learn/
#   primsel::boost_graph  network/boost_graph.hpp
#   primsel::onnx         onnx/
#   primsel::yaml         io/yaml.hpp
#   primsel::redis        search/redis_queue.hpp
set(PRIMSEL_DOORS openmp eigen boost_graph onnx yaml redis)
set(primsel_needed_by_openmp "a compiler with OpenMP (Debian: g++, or libomp-16-dev for clang-16)")
set(primsel_needed_by_eigen "Eigen 3.4 or newer (Debian: libeigen3-dev)")
set(primsel_needed_by_boost_graph "Boost 1.71 or newer (Debian: libboost-graph-dev)")
set(primsel_needed_by_onnx "protozero (Debian: libprotozero-dev)")
set(primsel_needed_by_yaml "yaml-cpp (Debian: libyaml-cpp-dev)")
set(primsel_needed_by_redis "hiredis (Debian: libhiredis-dev)")
function(primsel_add_door door package)
    if(TARGET primsel::${door} OR NOT ${package}_FOUND)
        return()
    endif()
    add_library(primsel_${door} INTERFACE)
    add_library(primsel::${door} ALIAS primsel_${door})
    target_link_libraries(primsel_${door} INTERFACE primsel::primsel ${ARGN})
endfunction()

macro(primsel_find_doors)
    find_package(OpenMP QUIET COMPONENTS CXX)
    # Eigen 5 does not answer to a request for 3.4.
    find_package(Eigen3 QUIET NO_MODULE)
    if(Eigen3_FOUND AND Eigen3_VERSION VERSION_LESS 3.4)
        set(Eigen3_FOUND FALSE)
    endif()
    find_package(Boost 1.71 QUIET NO_MODULE)
    primsel_add_door(openmp OpenMP_CXX OpenMP::OpenMP_CXX)
    primsel_add_door(eigen Eigen3 Eigen3::Eigen)
    primsel_add_door(boost_graph Boost Boost::headers)
    find_path(PRIMSEL_PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp HINTS ${PRIMSEL_INSTALLED_INCLUDE_DIR})
    mark_as_advanced(PRIMSEL_PROTOZERO_INCLUDE_DIR)
    set(protozero_FOUND ${PRIMSEL_PROTOZERO_INCLUDE_DIR})
    primsel_add_door(onnx protozero)
    find_package(yaml-cpp QUIET)
    if(TARGET yaml-cpp::yaml-cpp) # from 0.8 on
        primsel_add_door(yaml yaml-cpp yaml-cpp::yaml-cpp)
    else()
        primsel_add_door(yaml yaml-cpp yaml-cpp)
    endif()
    find_path(PRIMSEL_HIREDIS_INCLUDE_DIR hiredis/hiredis.h HINTS ${PRIMSEL_INSTALLED_INCLUDE_DIR})
    find_library(PRIMSEL_HIREDIS_LIBRARY hiredis)
    mark_as_advanced(PRIMSEL_HIREDIS_INCLUDE_DIR PRIMSEL_HIREDIS_LIBRARY)
    if(PRIMSEL_HIREDIS_INCLUDE_DIR AND PRIMSEL_HIREDIS_LIBRARY)
        set(hiredis_FOUND TRUE)
    endif()
    primsel_add_door(redis hiredis ${PRIMSEL_HIREDIS_LIBRARY})
    if(TARGET primsel_redis)
        target_include_directories(primsel_redis SYSTEM INTERFACE ${PRIMSEL_HIREDIS_INCLUDE_DIR})
    endif()
    if(TARGET primsel_onnx)
        target_include_directories(primsel_onnx SYSTEM INTERFACE ${PRIMSEL_PROTOZERO_INCLUDE_DIR})
    endif()
endmacro()
