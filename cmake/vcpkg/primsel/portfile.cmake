# An overlay port of the checkout that it lies in: vcpkg install primsel --overlay-ports=<checkout>/cmake/vcpkg
set(VCPKG_BUILD_TYPE release) # headers alone
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DPRIMSEL_TESTS=OFF -DPRIMSEL_BENCHES=OFF -DPRIMSEL_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/primsel)

foreach(folder IN ITEMS lib share/cmake share/doc share/pkgconfig) # what primsel.pc requires, it finds outside vcpkg
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/${folder}")
endforeach()
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
