# Compiles for AArch64 with Debian's cross compiler and the libraries in LODE_AARCH64_ROOT, which
# tests/aarch64/run makes. The programs name their loader and libraries by path, so that children
# with any environment start too.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(root "$ENV{LODE_AARCH64_ROOT}")
set(CMAKE_FIND_ROOT_PATH "${root}")
# Header-only packages are those of this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_SYSROOT "${root}")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${root}")
set(ENV{PKG_CONFIG_LIBDIR} "${root}/usr/lib/aarch64-linux-gnu/pkgconfig")
set(library_folder "${root}/usr/lib/aarch64-linux-gnu")
set(loader "${root}/lib/ld-linux-aarch64.so.1")
string(JOIN "," linker_flags "-Wl,--dynamic-linker=${loader}" "--disable-new-dtags"
       "-rpath=${library_folder}" "-rpath=${root}/lib/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${linker_flags}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT
    "-Wl,--disable-new-dtags,-rpath=${library_folder},-rpath=${root}/lib/aarch64-linux-gnu")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${CMAKE_SHARED_LINKER_FLAGS_INIT}")
