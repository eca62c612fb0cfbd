/**
 * \file
 * Tells the static library where its package is: a host finds the software device and lode-worker
 * there. For lode's other headers, not for hosts.
 *
 * LODE_PACKAGE is the path of this file where it belongs to an installed static library. With
 * -DLODE_NO_PACKAGE the host has no path of the machine that built it.
 */
#ifndef LODE_BASE_PACKAGE_H
#define LODE_BASE_PACKAGE_H

/* The file exists in an installed package only, and defines LODE_PACKAGE. */
#if !defined(LODE_PACKAGE) && __has_include("installed.h")
#include "installed.h"
#endif

#if defined(LODE_PACKAGE) && !defined(LODE_NO_PACKAGE)
#ifdef __cplusplus
extern "C" {
#endif
/** Each program or library that links the static library has its own. */
__attribute__((weak, visibility("hidden"))) const char* lode_package = LODE_PACKAGE;
#ifdef __cplusplus
}
#endif
#endif

#endif
