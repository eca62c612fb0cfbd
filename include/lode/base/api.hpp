/// \file
/// The version of lode's headers, the namespace that carries it, and LODE_API_BEGIN and
/// LODE_API_END: what the shared library exports.
#pragma once

#if __cplusplus < 202002L
#error \
    "lode needs C++20: add -std=c++20, or set CMAKE_CXX_STANDARD to 20 (GCC 11, Clang 14 or newer)."
#endif

#if !__has_include(<tl/expected.hpp>)
#error \
    "lode needs tl::expected: install libexpected-dev, or add the folder with tl/expected.hpp by -I."
#endif

#include <lode/base/package.h>

#include <version>

#if !defined(_GLIBCXX_RELEASE) || _GLIBCXX_RELEASE < 11
#error "lode needs libstdc++ 11 or newer: for Clang, drop -stdlib=libc++."
#endif

/// The version, major, minor and patch. CMakeLists.txt reads it here.
#define LODE_VERSION_NUMBERS 0, 3, 0

/// How lode's own files spell the namespace lode where they open it: `namespace LODE_NAMESPACE {`.
/// Its names are those of an inline namespace for the version, so that two versions in one process
/// have no symbol in common. Hosts write lode::Device, and never this.
#define LODE_NAMESPACE LODE_NAMESPACE_OF(LODE_VERSION_NUMBERS)

/// For LODE_NAMESPACE: expands the version.
#define LODE_NAMESPACE_OF(version) LODE_INLINE_NAMESPACE(version)
/// For LODE_NAMESPACE. The shared library's symbols stay the same while its soname does; those of a
/// static library are its own.
#ifdef LODE_SHARED
#define LODE_INLINE_NAMESPACE(major, minor, patch) lode::inline v##major##_##minor
#else
/// For LODE_NAMESPACE.
#define LODE_INLINE_NAMESPACE(major, minor, patch) lode::inline v##major##_##minor##_##patch
#endif

/// The shared library exports the functions that are declared between these. LODE_SHARED is defined
/// for it and for programs that link it; LODE_EXPORTS for the sources of a static library, from
/// which tests make a shared one.
#if defined(LODE_SHARED) || defined(LODE_EXPORTS)
#define LODE_API_BEGIN _Pragma("GCC visibility push(default)")
/// The end of what LODE_API_BEGIN begins.
#define LODE_API_END _Pragma("GCC visibility pop")
#else
#define LODE_API_BEGIN
/// The end of what LODE_API_BEGIN begins.
#define LODE_API_END
#endif
