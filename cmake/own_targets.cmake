# Flags of our own tests, benchmarks, examples and fuzzers. Nothing here reaches who uses the library.
set(PRIMSEL_ARCH "" CACHE STRING "Instruction set of our own programs: native, avx512, avx2, sse4_2; or empty, the compiler's default, and for the command line whatever the processor has")
set_property(CACHE PRIMSEL_ARCH PROPERTY STRINGS "" native avx512 avx2 sse4_2)
option(PRIMSEL_WERROR "Treat warnings in our own programs as errors" OFF)

set(primsel_march_native -march=native) # the others are primselDispatch.cmake's
if(PRIMSEL_ARCH AND NOT DEFINED primsel_march_${PRIMSEL_ARCH})
    message(FATAL_ERROR "PRIMSEL_ARCH is '${PRIMSEL_ARCH}'; it may be native, avx512, avx2, sse4_2 or empty")
endif()

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
    set(CMAKE_CXX_EXTENSIONS OFF)
endif()

# The headers, without .hpp, that need a door (see primselDependencies.cmake); their tests have the same names. Also other tests
# that need one.
set(PRIMSEL_BEHIND_openmp core/openmp)
set(PRIMSEL_BEHIND_eigen gemm/gemm_eigen learn/linear learn/mlp learn/regression learn/gaussian_process
                         learn/detail/covariance learn/transfer learn/any_regression learn/trained_model learn/fit_model
                         learn/transfer_model learn/process_posterior
                         search/bayes search/detail/acquire search/detail/warp search/any_searcher search/searchers search/searcher_laws
                         learn/model_file fuzz/model engine/compose measure/pairs measure/usual)
set(PRIMSEL_BEHIND_boost_graph network/boost_graph)
set(PRIMSEL_BEHIND_onnx onnx/[a-z_]+ onnx/detail/[a-z_]+)
set(PRIMSEL_BEHIND_yaml io/yaml fuzz/yaml)
set(PRIMSEL_BEHIND_redis search/redis_queue search/detail/redis_connection)

# Takes from the list of files those whose door is missing.
function(primsel_remove_closed files_variable)
    foreach(door IN LISTS PRIMSEL_DOORS)
        if(NOT TARGET primsel::${door})
            foreach(name IN LISTS PRIMSEL_BEHIND_${door})
                list(FILTER ${files_variable} EXCLUDE REGEX "(^|/)${name}\\.[ch]pp$")
            endforeach()
        endif()
    endforeach()
    set(${files_variable} ${${files_variable}} PARENT_SCOPE)
endfunction()

# Every door that exists, for the programs that may open any of them.
function(primsel_link_doors target)
    foreach(door IN LISTS PRIMSEL_DOORS)
        if(TARGET primsel::${door})
            target_link_libraries(${target} PRIVATE primsel::${door})
        endif()
    endforeach()
endfunction()

function(primsel_warnings target)
    # g++ 12 sees array bounds exceeded and values uninitialised where they are not, at -O3: those stay warnings.
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion $<$<BOOL:${PRIMSEL_WERROR}>:-Werror>
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds -Wno-error=uninitialized -Wno-error=maybe-uninitialized
                           -Wno-error=stringop-overflow -Wno-error=stringop-overread>)
endfunction()

# Our flags and the library with every door, for what calls kernels that are compiled elsewhere; of the instruction set
# nothing is said.
function(primsel_own_for_any_arch target)
    primsel_warnings(${target})
    target_compile_definitions(${target} PRIVATE PRIMSEL_EXTERN_KERNELS)
    target_link_libraries(${target} PRIVATE primsel::primsel)
    primsel_link_doors(${target})
endfunction()

if(PRIMSEL_C OR PRIMSEL_PYTHON)
    set(PRIMSEL_SHARED_FLAGS -O1 CACHE STRING "Optimisation of all but the kernels in shared libraries")
else()
    set(PRIMSEL_SHARED_FLAGS -O0)  # for their tests alone
endif()
# Like primsel_own_for_any_arch, for a shared library: the only optional library that it uses is ONNX's.
function(primsel_own_shared target)
    primsel_warnings(${target})
    target_compile_definitions(${target} PRIVATE PRIMSEL_EXTERN_KERNELS)
    target_compile_options(${target} PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)
    target_link_libraries(${target} PRIVATE primsel::primsel primsel::onnx)
endfunction()

set(PRIMSEL_KERNELS_FLAGS "" CACHE STRING "More flags for the kernels of our own programs, e.g. -O2 where all else is not optimised")

# The kernels of our own programs: compiled once and not once a program. Shared libraries take them, too.
set(PRIMSEL_KERNELS_SOURCE ${CMAKE_CURRENT_LIST_DIR}/kernels.cpp)
add_library(primsel_kernels STATIC EXCLUDE_FROM_ALL ${PRIMSEL_KERNELS_SOURCE})
primsel_own_for_any_arch(primsel_kernels)
target_compile_options(primsel_kernels PRIVATE ${primsel_march_${PRIMSEL_ARCH}} ${PRIMSEL_KERNELS_FLAGS} -fno-semantic-interposition)
set_target_properties(primsel_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)

# Makes a shared library of sources for PRIMSEL_ARCH and the kernels `library`, or those compiled here where that is empty. It
# exports the symbols that match `visible`, and no instantiation of the standard library's. Planning is not hot.
function(primsel_shared_for_arch target visible library)
    target_sources(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${PRIMSEL_SHARED_FLAGS}> ${primsel_march_${PRIMSEL_ARCH}})
    if(NOT library)
        set(library $<TARGET_FILE:primsel_kernels>)
        add_dependencies(${target} primsel_kernels)
    endif()
    target_link_libraries(${target} PRIVATE ${library})
    if(NOT APPLE)
        set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
        file(WRITE ${script} "{ global: ${visible}; local: *; };\n")
        target_link_options(${target} PRIVATE -Wl,--version-script=${script})
    endif()
endfunction()
# The same for every x86-64 processor: copies of sources and kernels, whose only visible functions are the entries. Arguments
# after these are include folders.
function(primsel_shared_for_every_arch target entries sources kernels)
    set(copies "")
    foreach(arch IN LISTS PRIMSEL_DISPATCH_ARCHS)
        add_library(${target}_${arch} OBJECT EXCLUDE_FROM_ALL ${sources})
        target_compile_options(${target}_${arch} PRIVATE $<$<CONFIG:Release>:${PRIMSEL_SHARED_FLAGS}>)
        target_include_directories(${target}_${arch} SYSTEM PRIVATE ${ARGN})
        add_library(${target}_kernels_${arch} OBJECT EXCLUDE_FROM_ALL ${kernels})
        foreach(part IN ITEMS ${target}_${arch} ${target}_kernels_${arch})
            primsel_own_shared(${part})
            list(APPEND copies ${arch} ${part})
        endforeach()
    endforeach()
    primsel_dispatch_copies(${target} "${entries}" ${copies})
endfunction()

# A program of ours.
function(primsel_own target)
    primsel_own_for_any_arch(${target})
    target_compile_options(${target} PRIVATE ${primsel_march_${PRIMSEL_ARCH}})
    target_link_libraries(${target} PRIVATE primsel_kernels)
endfunction()
