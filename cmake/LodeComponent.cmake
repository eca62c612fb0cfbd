# One function builds every component, so that all are built the same way.
include_guard(GLOBAL)
include(GNUInstallDirs)

# The flags that every target of this repository is built with: lode_project_flags(target)
function(lode_project_flags target)
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                             -Wno-sign-conversion -Wnon-virtual-dtor)
    # A product and a sum round separately. By default GCC contracts them to an fma where the
    # processor has one, such as AArch64; the x86-64 of the default flags has none.
    if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        target_compile_options(${target} PRIVATE -ffp-contract=off)
    endif()
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
    # GCC 12 warns about std::string's own code where it inlines (GCC bug 105651).
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
    # Sources of one unity build share their anonymous namespaces, and none of them is the main
    # file. GCC collects garbage many times in one, an eighth of the build's processor time; a gibibyte
    # of heap adds up to 400 MB to the largest one's 1.4 GB.
    if(CMAKE_UNITY_BUILD)
        target_compile_options(
            ${target} PRIVATE -Wno-shadow
                              $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
                              "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=1048576>")
    endif()
    if(LODE_WARNINGS_AS_ERRORS)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(LODE_SANITIZE)
        # C callers may pass the software device values that an enumeration doesn't define. vptr and
        # object-size would cost a third of the build: no class is cast down, and AddressSanitizer
        # finds accesses past an object. Clang's function would refuse calls of a library that is
        # opened at run time, whose own types have other names.
        target_compile_options(
            ${target} PRIVATE -fsanitize=${LODE_SANITIZE} -fno-sanitize=enum,vptr,object-size
                              $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>
                              -fno-omit-frame-pointer -fno-sanitize-recover=all)
        target_link_options(${target} PUBLIC -fsanitize=${LODE_SANITIZE})
    endif()
endfunction()

# For programs of tests: with sanitizers, GCC takes a fifth less time to compile them at -O0 than at
# -Og. The code that they test keeps its optimisation, without which long tests would take minutes.
function(lode_unoptimised_if_sanitized target)
    if(LODE_SANITIZE)
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

# lode_add_component(NAME base SOURCES a.cpp … [PUBLIC targets…] [PRIVATE targets…])
#
# Makes the static library lode_<name>, alias lode::<name>. Public headers come from include/;
# sources may also include private headers by their path from the repository's root. PRIVATE targets
# are needed only for the build, or lodeConfig.cmake finds them again.
#
# The shared library is made of the same objects, so they export the public headers' declarations.
# Linked into a plug-in, the static library exports nothing.
function(lode_add_component)
    cmake_parse_arguments(component "" "NAME" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
    set(target lode_${component_NAME})
    add_library(${target} STATIC ${component_SOURCES})
    add_library(lode::${component_NAME} ALIAS ${target})
    set_target_properties(
        ${target}
        PROPERTIES EXPORT_NAME ${component_NAME}
                   POSITION_INDEPENDENT_CODE ON
                   CXX_VISIBILITY_PRESET hidden
                   VISIBILITY_INLINES_HIDDEN ON)
    target_include_directories(
        ${target}
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PUBLIC ${component_PUBLIC} PRIVATE ${component_PRIVATE})
    # Also for programs of this repository that link the components of the shared library.
    if(BUILD_SHARED_LIBS)
        target_compile_definitions(${target} PUBLIC LODE_SHARED)
    else()
        target_compile_definitions(${target} PRIVATE LODE_EXPORTS)
    endif()
    # Exported functions may be inlined into their callers.
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    target_link_options(${target} INTERFACE
                        "LINKER:--exclude-libs,lib${target}.a")
    lode_project_flags(${target})
    set_property(GLOBAL APPEND PROPERTY LODE_COMPONENT_TARGETS ${target})
    set(libraries ${component_PUBLIC} ${component_PRIVATE})
    list(FILTER libraries EXCLUDE REGEX "^lode::")
    set_property(GLOBAL APPEND PROPERTY LODE_COMPONENT_LIBRARIES ${libraries})
endfunction()
