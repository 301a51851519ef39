# Installs the headers and what find_package(primsel) needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/primsel)
get_property(fetched GLOBAL PROPERTY PRIMSEL_FETCHED_HEADERS)
install(DIRECTORY include/primsel ${fetched} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS primsel EXPORT primselTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT primselTargets NAMESPACE primsel:: DESTINATION ${package_dir})

configure_package_config_file(cmake/primselConfig.cmake.in ${PROJECT_BINARY_DIR}/primselConfig.cmake
                              INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/primselConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/primselConfig.cmake ${PROJECT_BINARY_DIR}/primselConfigVersion.cmake
              cmake/primselDependencies.cmake
        DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
