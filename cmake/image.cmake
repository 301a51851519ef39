# primsel_image: PNG and JPEG images for our own programs (examples/image/), where libspng and libjpeg-turbo are there
# (Debian: libspng-dev and libturbojpeg0-dev). Without them the target is missing.
include_guard(GLOBAL)
find_path(PRIMSEL_SPNG_INCLUDE_DIR spng.h)
find_library(PRIMSEL_SPNG_LIBRARY spng)
find_path(PRIMSEL_TURBOJPEG_INCLUDE_DIR turbojpeg.h)
find_library(PRIMSEL_TURBOJPEG_LIBRARY turbojpeg)
mark_as_advanced(PRIMSEL_SPNG_INCLUDE_DIR PRIMSEL_SPNG_LIBRARY PRIMSEL_TURBOJPEG_INCLUDE_DIR PRIMSEL_TURBOJPEG_LIBRARY)
if(PRIMSEL_SPNG_INCLUDE_DIR AND PRIMSEL_SPNG_LIBRARY AND PRIMSEL_TURBOJPEG_INCLUDE_DIR AND PRIMSEL_TURBOJPEG_LIBRARY)
    # Its source is compiled with the flags of the program that links it, sanitizers included.
    add_library(primsel_image INTERFACE)
    target_sources(primsel_image INTERFACE ${PROJECT_SOURCE_DIR}/examples/image/image.cpp)
    target_include_directories(primsel_image INTERFACE ${PROJECT_SOURCE_DIR}/examples/image)
    target_include_directories(primsel_image SYSTEM INTERFACE ${PRIMSEL_SPNG_INCLUDE_DIR} ${PRIMSEL_TURBOJPEG_INCLUDE_DIR})
    target_link_libraries(primsel_image INTERFACE ${PRIMSEL_SPNG_LIBRARY} ${PRIMSEL_TURBOJPEG_LIBRARY})
endif()
