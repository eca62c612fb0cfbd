/**
 * \file
 * Tells the static library where its package is: a host finds the software device and lode-worker
 * there. For lode's other headers, not for hosts.
 *
 * lode::lode and lode.pc of an installed static library define LODE_PACKAGE as the path of this
 * file. Without it, such as with -ULODE_PACKAGE, the host has no path of the machine that built it.
 */
#ifndef LODE_BASE_PACKAGE_H
#define LODE_BASE_PACKAGE_H

#ifdef LODE_PACKAGE
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
