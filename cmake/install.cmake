# Installs the headers, what find_package(primsel) needs and the pkg-config file: the component `library`. The component
# `tool` is the command line (tools/primsel/).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/primsel)
get_property(fetched GLOBAL PROPERTY PRIMSEL_FETCHED_HEADERS)
install(DIRECTORY include/primsel ${fetched} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(TARGETS primsel EXPORT primselTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT primselTargets NAMESPACE primsel:: DESTINATION ${package_dir} COMPONENT library)

configure_package_config_file(cmake/primselConfig.cmake.in ${PROJECT_BINARY_DIR}/primselConfig.cmake
                              INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/primselConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/primselConfig.cmake ${PROJECT_BINARY_DIR}/primselConfigVersion.cmake
              cmake/primselDependencies.cmake
              cmake/primselDispatch.cmake
              cmake/primselNative.cmake
              cmake/primselFreeze.cmake
        DESTINATION ${package_dir} COMPONENT library)
install(DIRECTORY cmake/dispatch DESTINATION ${package_dir} COMPONENT library USE_SOURCE_PERMISSIONS)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
include(cmake/pkg_config.cmake)
