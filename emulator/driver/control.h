/* The emulator's private test interface: C functions that liblode_emulator.so exports in addition
 * to the driver's. Not part of lode's public interface; only tests and lode's tools use it.
 * Every function is thread-safe unless stated otherwise. */
#ifndef LODE_EMULATOR_CONTROL_H
#define LODE_EMULATOR_CONTROL_H

#include <stddef.h>

/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): this is C. */

#if defined(__GNUC__)
#define LODE_EMULATOR_EXPORT __attribute__((visibility("default")))
#else
#define LODE_EMULATOR_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Logs and reports that a stand-in of the toolkit doesn't support a function; `name` is a literal. */
LODE_EMULATOR_EXPORT void lode_emulator_refuse(const char* name);

/* Kinds of live handles. A destroyed or freed handle isn't live, even while its submitted work is
 * still running. */
enum lode_emulator_kind {
    LODE_EMULATOR_PRIMARY_REFERENCES, /* cuDevicePrimaryCtxRetain minus ...Release */
    LODE_EMULATOR_CONTEXTS,           /* cuCtxCreate */
    LODE_EMULATOR_STREAMS,            /* without the default streams */
    LODE_EMULATOR_EVENTS,
    LODE_EMULATOR_LIBRARIES,
    LODE_EMULATOR_MODULES,            /* without those inside libraries */
    LODE_EMULATOR_DEVICE_ALLOCATIONS, /* device, managed and pool memory */
    LODE_EMULATOR_HOST_ALLOCATIONS,   /* page-locked */
    LODE_EMULATOR_HOST_REGISTRATIONS,
    LODE_EMULATOR_MEMORY_POOLS,     /* without the default pools */
    LODE_EMULATOR_ADDRESS_RANGES,   /* cuMemAddressReserve */
    LODE_EMULATOR_PHYSICAL_MEMORY,  /* handles of cuMemCreate and of imports */
    LODE_EMULATOR_GRAPHS,           /* without child graphs and graphs that are being captured */
    LODE_EMULATOR_GRAPH_EXECS,      /* instantiated graphs */
    LODE_EMULATOR_USER_OBJECTS,     /* that graphs can keep alive */
    LODE_EMULATOR_ARRAYS,           /* without the levels of mipmapped arrays; their memory is a
                                       device allocation */
    LODE_EMULATOR_IMAGES,           /* texture and surface objects */
    LODE_EMULATOR_GREEN_CONTEXTS,   /* cuGreenCtxCreate */
    LODE_EMULATOR_LINKS,            /* cuLinkCreate */
    LODE_EMULATOR_IMPORTS,          /* memory of other processes and of files */
    LODE_EMULATOR_EXTERNAL_OBJECTS, /* cuImportExternalMemory, cuImportExternalSemaphore */
    LODE_EMULATOR_LEAKS,            /* since the reset: handles that were destroyed only
                                       with their context; the log names each */
    LODE_EMULATOR_KINDS
};

/* Resets the machine to its state before cuInit: the devices in `devices` ("sm_75,sm_90"; NULL:
 * those of LODE_EMULATOR_DEVICES), no handles, no pending failures, all counters zero. Waits for
 * running work. All earlier handles become invalid, and no other thread may be inside a driver
 * call. Returns 0, or -1 for an unknown device, which is logged and changes nothing. */
LODE_EMULATOR_EXPORT int lode_emulator_reset(const char* devices);

/* Makes cuInit show all devices, whatever CUDA_VISIBLE_DEVICES is: the emulator stands in for GPUs,
 * which the variable may hide. Until the next reset. */
LODE_EMULATOR_EXPORT void lode_emulator_show_all(void);

/* Sets the CUDA version that the driver reports, for example 12040; newer entry points aren't
 * found. 0 restores the emulator's own version. */
LODE_EMULATOR_EXPORT void lode_emulator_set_driver_version(int version);

/* Makes the n-th counted driver call from now (1 is the next) return `result`, once. The call then
 * has no effect, unless it destroys, frees, releases or pops something: it still does that, like
 * the driver when it reports an earlier error. n = 0 cancels the failure. All entry points except
 * cuGetProcAddress, cuGetErrorName and cuGetErrorString are counted. */
LODE_EMULATOR_EXPORT void lode_emulator_fail_call(unsigned long n, int result);

/* Sets a hook that is asked before each counted driver call: it returns 0, or the result that the
 * call then returns as if lode_emulator_fail_call had failed it. `entry` is, for example,
 * "cuMemAlloc". Any thread may call the hook, but never two at once. It must not call the driver.
 * NULL removes it. */
typedef int (*lode_emulator_call_hook)(void* user, const char* entry);
LODE_EMULATOR_EXPORT void lode_emulator_set_calls(lode_emulator_call_hook hook, void* user);

/* The number of counted driver calls since process start or the last reset. */
LODE_EMULATOR_EXPORT unsigned long lode_emulator_call_count(void);

/* The entry point that failed because of the last lode_emulator_fail_call, for example
 * "cuMemAlloc"; NULL if none has failed yet. */
LODE_EMULATOR_EXPORT const char* lode_emulator_failed_call(void);

/* The number of live handles of one kind; -1 for an unknown kind. */
LODE_EMULATOR_EXPORT long lode_emulator_live(int kind);

/* For example "streams" or "device allocations"; NULL for an unknown kind. */
LODE_EMULATOR_EXPORT const char* lode_emulator_kind_name(int kind);

/* Sets a hook that receives every line of the emulator's log: level 0 error, 1 warning,
 * 2 information. Any thread may call it, also concurrently. It must not call the driver. NULL
 * removes it. */
typedef void (*lode_emulator_log_hook)(void* user, int level, const char* line);
LODE_EMULATOR_EXPORT void lode_emulator_set_log(lode_emulator_log_hook hook, void* user);

/* Sets a hook that receives the text of each device printf, which otherwise goes to stdout. Any
 * thread may call it, but never two at once. It must not call the driver. A NULL hook removes the
 * current one if `user` is its user, and waits until it isn't running. */
typedef void (*lode_emulator_print_hook)(void* user, const char* text, size_t length);
LODE_EMULATOR_EXPORT void lode_emulator_set_print(lode_emulator_print_hook hook, void* user);

/* Sets the hook that gives PTX with line information for a library whose code has none. It is asked
 * once for each context that the library is loaded into, when the first place in its code has to be
 * named, and calls `take` with `to` once for each text that it has. Lines are taken from functions
 * whose instructions are those of the loaded ones. It runs on the thread that names the place, may
 * take seconds, and must not call the driver. NULL removes it and waits until it isn't running, as
 * does cuLibraryUnload after the work of the library's kernels. `library` is a CUlibrary. Returns
 * 0, or -1 for a library that isn't loaded. */
typedef void (*lode_emulator_take_lines)(void* to, const char* ptx, size_t length);
typedef void (*lode_emulator_lines_hook)(void* user, lode_emulator_take_lines take, void* to);
LODE_EMULATOR_EXPORT int lode_emulator_set_lines(void* library, lode_emulator_lines_hook hook,
                                                 void* user);

/* Sets the limit in milliseconds of launches after the next cuInit where LODE_EMULATOR_REPORT is set
 * and LODE_EMULATOR_TIMEOUT isn't: 600000 by default. */
LODE_EMULATOR_EXPORT void lode_emulator_set_default_timeout(unsigned long milliseconds);

/* Copies and clears the report of the last failure that has details beyond its code: memory
 * errors, traps, asserts, unsupported kernels, PTX that fails to load, invalid environment
 * variables. Writes at most `room` bytes including the final NUL; returns the length of the whole
 * report without it, 0 if there is none. */
LODE_EMULATOR_EXPORT size_t lode_emulator_take_report(char* text, size_t room);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using,readability-identifier-naming) */

#endif
