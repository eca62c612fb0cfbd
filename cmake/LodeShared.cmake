# The shared library: all components as liblode.so. Before 1.0 each minor version has its own soname,
# liblode.so.X.Y, because it may change the ABI. tests/abi lists what the library exports.
include_guard(GLOBAL)

get_property(_lode_components GLOBAL PROPERTY LODE_COMPONENT_TARGETS)
get_property(_lode_libraries GLOBAL PROPERTY LODE_COMPONENT_LIBRARIES)
list(REMOVE_DUPLICATES _lode_libraries)
# Files in place of targets: hosts of the installed library needn't find the packages.
list(FILTER _lode_libraries EXCLUDE REGEX "BUILD_INTERFACE")
set(_lode_files "")
foreach(library IN LISTS _lode_libraries)
    set(kind "")
    if(TARGET ${library})
        get_target_property(kind ${library} TYPE)
    endif()
    if(kind MATCHES "^(SHARED|STATIC|UNKNOWN)_LIBRARY$")
        list(APPEND _lode_files $<TARGET_LINKER_FILE:${library}>)
    else()
        list(APPEND _lode_files ${library})
    endif()
endforeach()

add_library(lode_shared SHARED)
add_library(lode::shared ALIAS lode_shared)
foreach(component IN LISTS _lode_components)
    target_sources(lode_shared PRIVATE $<TARGET_OBJECTS:${component}>)
endforeach()
set(LODE_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# As in <lode/base/api.hpp>.
set(_lode_definition LODE_SHARED)
set(LODE_INLINE_NAMESPACE v${LODE_SOVERSION})
if(NOT BUILD_SHARED_LIBS) # For tests, from the objects of the static library.
    set(_lode_definition LODE_EXPORTS)
    set(LODE_INLINE_NAMESPACE v${PROJECT_VERSION})
endif()
string(REPLACE "." "_" LODE_INLINE_NAMESPACE ${LODE_INLINE_NAMESPACE})
set(_lode_map "${PROJECT_BINARY_DIR}/liblode.map")
configure_file("${PROJECT_SOURCE_DIR}/cmake/liblode.map.in" "${_lode_map}" @ONLY)
set_target_properties(
    lode_shared
    PROPERTIES OUTPUT_NAME lode
               EXPORT_NAME shared
               VERSION ${PROJECT_VERSION}
               SOVERSION ${LODE_SOVERSION}
               LINKER_LANGUAGE CXX
               LINK_DEPENDS "${_lode_map}")
target_include_directories(
    lode_shared PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_definitions(lode_shared INTERFACE ${_lode_definition})
target_link_libraries(lode_shared PUBLIC tl::expected PRIVATE ${_lode_files})
target_link_options(lode_shared PRIVATE "LINKER:--version-script=${_lode_map}"
                    LINKER:-Bsymbolic-functions)
if(NOT LODE_SANITIZE) # The program provides the sanitizer's functions.
    target_link_options(lode_shared PRIVATE LINKER:--no-undefined)
endif()
lode_project_flags(lode_shared)
