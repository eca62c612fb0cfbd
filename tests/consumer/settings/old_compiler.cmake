# find_package with a compiler that is too old, as CMake would describe it.
set(CMAKE_CXX_COMPILER_ID GNU)
set(CMAKE_CXX_COMPILER_VERSION 10.2.1)
set(CMAKE_SIZEOF_VOID_P 8)
find_package(lode REQUIRED)
