# lode_precompile(target samples|tests)
#
# With LODE_PRECOMPILED_HEADERS, compiles the target with headers that all targets of the set share,
# parsed once: lode.hpp for samples and documents, which include it themselves; doctest, fmt and the
# standard library's for tests, which see none of lode that they don't include. GCC only. A header
# that can't be used is a warning (-Winvalid-pch). The components and the command use none.
include_guard(GLOBAL)

option(LODE_PRECOMPILED_HEADERS "Precompile the headers that tests and samples share (GCC)" OFF)

function(lode_precompile target set)
    if(NOT LODE_PRECOMPILED_HEADERS OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        return()
    endif()
    set(carrier lode_precompiled_${set})
    if(NOT TARGET ${carrier})
        set(source "${PROJECT_BINARY_DIR}/${carrier}.cpp")
        file(CONFIGURE OUTPUT "${source}" CONTENT "// Only its headers matter.\n")
        add_library(${carrier} OBJECT "${source}")
        if(set STREQUAL "samples")
            target_link_libraries(${carrier} PRIVATE lode::lode)
            target_precompile_headers(${carrier} PRIVATE <lode/lode.hpp>)
        else()
            target_link_libraries(${carrier} PRIVATE doctest::doctest fmt::fmt)
            target_precompile_headers(
                ${carrier}
                PRIVATE <algorithm> <array> <atomic> <chrono> <cstdint> <cstdio> <cstdlib> <cstring>
                        <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span>
                        <string> <string_view> <thread> <utility> <vector> <doctest/doctest.h>
                        <fmt/format.h>)
        endif()
        lode_project_flags(${carrier})
        if(set STREQUAL "tests")
            lode_unoptimised_if_sanitized(${carrier})
        endif()
    endif()
    target_precompile_headers(${target} REUSE_FROM ${carrier})
endfunction()
