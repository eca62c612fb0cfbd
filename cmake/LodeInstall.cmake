# Installs lode in three install components:
#
#   lode_library      liblode.so, if BUILD_SHARED_LIBS is set
#   lode_development  the headers, the static libraries (also that of the kernels, where lode is shared)
#                     and the files of find_package and pkg-config
#   lode_tools        the command, the worker and the software device, whose folders install them
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(_lode_components GLOBAL PROPERTY LODE_COMPONENT_TARGETS)
set(_lode_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lode")

# What the linker of a C host doesn't add by itself.
set(_lode_cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER _lode_cxx_runtime INCLUDE REGEX "^(stdc\\+\\+|c\\+\\+|m)$")

if(BUILD_SHARED_LIBS)
    install(
        TARGETS lode_shared
        EXPORT lode
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                COMPONENT lode_library
                NAMELINK_COMPONENT lode_development)
    install(TARGETS lode EXPORT lode)
else()
    foreach(library IN LISTS _lode_cxx_runtime)
        target_link_libraries(
            lode_base INTERFACE $<INSTALL_INTERFACE:$<$<LINK_LANGUAGE:C>:${library}>>)
    endforeach()
    install(
        TARGETS lode ${_lode_components}
        EXPORT lode
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT lode_development)
endif()
install(
    TARGETS lode_kernels
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
    FILES_MATCHING
    PATTERN "*.hpp"
    PATTERN "*.h")
install(
    FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD_PARTY.md"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/lode"
    COMPONENT lode_development)

# find_package(lode)
set(LODE_IS_SHARED "${BUILD_SHARED_LIBS}")
configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/lodeConfig.cmake.in" "${PROJECT_BINARY_DIR}/lodeConfig.cmake"
    INSTALL_DESTINATION "${_lode_package_dir}"
    PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR
              CMAKE_INSTALL_LIBEXECDIR
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

# pkg-config, relative to the file itself, so that the prefix can be moved.
set(LODE_PC_FLAGS "")
set(LODE_PC_LIBRARIES "")
set(LODE_PC_STATIC "")
if(BUILD_SHARED_LIBS)
    set(LODE_PC_FLAGS " -DLODE_SHARED")
    set(LODE_PC_LIBRARIES "-llode")
else()
    # For package.h, which includes it.
    file(WRITE "${PROJECT_BINARY_DIR}/installed.h" "#define LODE_PACKAGE __FILE__\n")
    install(
        FILES "${PROJECT_BINARY_DIR}/installed.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lode/base"
        COMPONENT lode_development)
    set(_lode_archives "")
    foreach(component IN ITEMS c runtime jit base)
        string(APPEND LODE_PC_LIBRARIES "-llode_${component} ")
        list(APPEND _lode_archives "liblode_${component}.a")
    endforeach()
    # A plug-in doesn't export them.
    list(JOIN _lode_archives ":" _lode_archives)
    string(PREPEND LODE_PC_LIBRARIES "-Wl,--exclude-libs,${_lode_archives} ")
    string(APPEND LODE_PC_LIBRARIES "-pthread -l${CMAKE_DL_LIBS}")
    list(JOIN LODE_PC_DEPENDENCIES ", " _lode_requires)
    list(JOIN _lode_cxx_runtime " -l" _lode_private)
    set(LODE_PC_STATIC "Requires: ${_lode_requires}\nLibs.private: -l${_lode_private}\n")
endif()
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
           OUTPUT_VARIABLE LODE_PC_LIBDIR)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
           OUTPUT_VARIABLE LODE_PC_INCLUDEDIR)
string(REGEX REPLACE "[^/]+" ".." LODE_PC_PREFIX "${LODE_PC_LIBDIR}/pkgconfig")
configure_file("${PROJECT_SOURCE_DIR}/cmake/lode.pc.in" "${PROJECT_BINARY_DIR}/lode.pc" @ONLY)
install(
    FILES "${PROJECT_BINARY_DIR}/lode.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT lode_development)
