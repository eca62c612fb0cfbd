# Debian packages, made by cpack: scripts/package configures and builds what they need. What only
# Debian asks for, cpack adds by LodeDebian.cmake.
#
#   liblodeX.Y  the shared library
#   liblode-dev headers, lode::kernels, files of CMake and pkg-config
#   lode-tools  the command, the worker, the software device
include_guard(GLOBAL)
if(NOT PROJECT_IS_TOP_LEVEL OR NOT BUILD_SHARED_LIBS)
    return()
endif()

set(_lode_library_package liblode${LODE_SOVERSION})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lode)
set(CPACK_PACKAGE_VENDOR "lode")
if(NOT CPACK_PACKAGE_CONTACT) # Distributors name themselves.
    set(CPACK_PACKAGE_CONTACT "The developers of lode <lode@localhost>")
endif()
if(LODE_SITE_URL)
    set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${LODE_SITE_URL}")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # The components' descriptions have a summary each.
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL lode_library lode_development lode_tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    "${PROJECT_BINARY_DIR}" "${PROJECT_BINARY_DIR}/emulator"
    "${PROJECT_BINARY_DIR}/emulator/toolkit/originals" "${PROJECT_BINARY_DIR}/tools/cached/originals")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/LodeDebian.cmake")
set(CPACK_LODE_SOURCE_DIR "${PROJECT_SOURCE_DIR}")

set(CPACK_DEBIAN_LODE_LIBRARY_PACKAGE_NAME ${_lode_library_package})
set(CPACK_DEBIAN_LODE_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LODE_LIBRARY_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/packaging/debian/triggers")
set(CPACK_COMPONENT_LODE_LIBRARY_DESCRIPTION
    "CUDA source to running kernels at run time: shared library
A library that finds the CUDA driver and NVRTC when a program runs, compiles
kernels for the device at hand and keeps the result.")
set(CPACK_DEBIAN_LODE_DEVELOPMENT_PACKAGE_NAME liblode-dev)
set(CPACK_DEBIAN_LODE_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LODE_DEVELOPMENT_PACKAGE_DEPENDS
    "${_lode_library_package} (= ${PROJECT_VERSION}), libexpected-dev")
set(CPACK_COMPONENT_LODE_DEVELOPMENT_DESCRIPTION
    "CUDA source to running kernels at run time: development files
The headers of lode for C++20 and C99, its own kernels as a static library, and
files for CMake and pkg-config.")
set(CPACK_DEBIAN_LODE_TOOLS_PACKAGE_NAME lode-tools)
set(CPACK_DEBIAN_LODE_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_LODE_TOOLS_PACKAGE_RECOMMENDS python3) # For `lode bench`.
set(CPACK_COMPONENT_LODE_TOOLS_DESCRIPTION
    "CUDA source to running kernels at run time: command and software device
The command lode, which compiles, inspects and runs kernels, and a software
CUDA device, on which programs run without a GPU.")
include(CPack)
