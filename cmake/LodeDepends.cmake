# lode_depends(package [arguments of find_package…])
#
# A package that the library's components link. It is found here, and again by every host that calls
# find_package(lode): lodeConfig.cmake is generated from this list. Packages that only tools, tests,
# samples or benchmarks need are found by plain find_package in their own folders.
include_guard(GLOBAL)

set(LODE_FIND_DEPENDENCIES "")
macro(lode_depends package)
    find_package(${package} REQUIRED ${ARGN})
    string(JOIN " " _lode_arguments ${package} ${ARGN})
    string(APPEND LODE_FIND_DEPENDENCIES "find_dependency(${_lode_arguments})\n")
endmacro()
