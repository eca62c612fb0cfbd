/// \file
/// The version of lode's headers, the namespace that carries it, and LODE_API_BEGIN and
/// LODE_API_END: what the shared library exports.
#pragma once

#include <lode/base/package.h>

/// The version, major, minor and patch. CMakeLists.txt reads it here.
#define LODE_VERSION_NUMBERS 0, 1, 0

/// How lode's own files spell the namespace lode where they open it: `namespace LODE_NAMESPACE {`.
#define LODE_NAMESPACE lode

/// The shared library exports the functions that are declared between these. LODE_SHARED is defined
/// for lode's own sources and for programs that link the shared library.
#ifdef LODE_SHARED
#define LODE_API_BEGIN _Pragma("GCC visibility push(default)")
/// The end of what LODE_API_BEGIN begins.
#define LODE_API_END _Pragma("GCC visibility pop")
#else
#define LODE_API_BEGIN
/// The end of what LODE_API_BEGIN begins.
#define LODE_API_END
#endif
