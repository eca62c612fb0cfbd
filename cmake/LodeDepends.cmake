# lode_depends(package [arguments of find_package…] [PKG_CONFIG name])
#
# A package that the library's components link. It is found here, and again by every host that links
# the static library: lodeConfig.cmake and, with the package's name there, lode.pc have this list.
# lode_depends_publicly is for packages that public headers need, with the shared library too.
# Packages that only tools, tests, samples or benchmarks need are found by plain find_package in
# their own folders.
include_guard(GLOBAL)

set(LODE_FIND_DEPENDENCIES "")
set(LODE_FIND_PUBLIC_DEPENDENCIES "")
set(LODE_PC_DEPENDENCIES "")
macro(lode_depends package)
    cmake_parse_arguments(_lode_depends "" "PKG_CONFIG" "" ${ARGN})
    list(APPEND LODE_PC_DEPENDENCIES ${_lode_depends_PKG_CONFIG})
    find_package(${package} REQUIRED ${_lode_depends_UNPARSED_ARGUMENTS})
    string(JOIN " " _lode_arguments ${package} ${_lode_depends_UNPARSED_ARGUMENTS})
    string(APPEND LODE_FIND_DEPENDENCIES "    find_dependency(${_lode_arguments})\n")
endmacro()
macro(lode_depends_publicly package)
    find_package(${package} REQUIRED ${ARGN})
    string(JOIN " " _lode_arguments ${package} ${ARGN})
    string(APPEND LODE_FIND_PUBLIC_DEPENDENCIES "find_dependency(${_lode_arguments})\n")
endmacro()
