# Installs the headers, the libraries and the package files for find_package(lode). They are in the
# install component lode_development, so that they can be installed without the tools.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(_lode_components GLOBAL PROPERTY LODE_COMPONENT_TARGETS)
set(_lode_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lode")

install(
    TARGETS lode ${_lode_components}
    EXPORT lode
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT lode_development)
install(
    EXPORT lode
    FILE lodeTargets.cmake
    NAMESPACE lode::
    DESTINATION "${_lode_package_dir}"
    COMPONENT lode_development)
install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/include/lode"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT lode_development
    FILES_MATCHING PATTERN "*.hpp")
install(
    FILES "${PROJECT_SOURCE_DIR}/LICENSE"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/lode"
    COMPONENT lode_development)

configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/lodeConfig.cmake.in" "${PROJECT_BINARY_DIR}/lodeConfig.cmake"
    INSTALL_DESTINATION "${_lode_package_dir}"
    NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break hosts.
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/lodeConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(
    FILES "${PROJECT_BINARY_DIR}/lodeConfig.cmake" "${PROJECT_BINARY_DIR}/lodeConfigVersion.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/LodeEmbedKernels.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/LodeEmbedFiles.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/LodeWarm.cmake"
    DESTINATION "${_lode_package_dir}"
    COMPONENT lode_development)
