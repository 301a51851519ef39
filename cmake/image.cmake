# primsel_image: PNG and JPEG images for our own programs (examples/image/), where libspng and libjpeg-turbo are there
# (Debian: libspng-dev and libturbojpeg0-dev). Without them the target is missing. WebP images too, where libwebp is there
# (Debian: libwebp-dev).
include_guard(GLOBAL)
find_path(PRIMSEL_SPNG_INCLUDE_DIR spng.h)
find_library(PRIMSEL_SPNG_LIBRARY spng)
find_path(PRIMSEL_TURBOJPEG_INCLUDE_DIR turbojpeg.h)
find_library(PRIMSEL_TURBOJPEG_LIBRARY turbojpeg)
find_path(PRIMSEL_WEBP_INCLUDE_DIR webp/demux.h)
find_library(PRIMSEL_WEBP_LIBRARY webp)
find_library(PRIMSEL_WEBPDEMUX_LIBRARY webpdemux)
mark_as_advanced(PRIMSEL_SPNG_INCLUDE_DIR PRIMSEL_SPNG_LIBRARY PRIMSEL_TURBOJPEG_INCLUDE_DIR PRIMSEL_TURBOJPEG_LIBRARY
                 PRIMSEL_WEBP_INCLUDE_DIR PRIMSEL_WEBP_LIBRARY PRIMSEL_WEBPDEMUX_LIBRARY)
if(PRIMSEL_SPNG_INCLUDE_DIR AND PRIMSEL_SPNG_LIBRARY AND PRIMSEL_TURBOJPEG_INCLUDE_DIR AND PRIMSEL_TURBOJPEG_LIBRARY)
    # Its source is compiled with the flags of the program that links it, sanitizers included.
    add_library(primsel_image INTERFACE)
    target_sources(primsel_image INTERFACE ${PROJECT_SOURCE_DIR}/examples/image/image.cpp)
    target_include_directories(primsel_image INTERFACE ${PROJECT_SOURCE_DIR}/examples/image)
    target_include_directories(primsel_image SYSTEM INTERFACE ${PRIMSEL_SPNG_INCLUDE_DIR} ${PRIMSEL_TURBOJPEG_INCLUDE_DIR})
    target_link_libraries(primsel_image INTERFACE ${PRIMSEL_SPNG_LIBRARY} ${PRIMSEL_TURBOJPEG_LIBRARY})
    if(PRIMSEL_WEBP_INCLUDE_DIR AND PRIMSEL_WEBP_LIBRARY AND PRIMSEL_WEBPDEMUX_LIBRARY)
        target_sources(primsel_image INTERFACE ${PROJECT_SOURCE_DIR}/examples/image/with_webp.cpp)
        target_include_directories(primsel_image SYSTEM INTERFACE ${PRIMSEL_WEBP_INCLUDE_DIR})
        target_link_libraries(primsel_image INTERFACE ${PRIMSEL_WEBP_LIBRARY} ${PRIMSEL_WEBPDEMUX_LIBRARY})
    else()
        target_sources(primsel_image INTERFACE ${PROJECT_SOURCE_DIR}/examples/image/without_webp.cpp)
    endif()
endif()
