/* The emulator's private test instrument: C functions exported by liblode_emulator.so beside the
 * driver's own. Not part of lode's public interface; nothing but tests and lode's tools uses it.
 * Every function is thread-safe unless it says otherwise. */
#ifndef LODE_EMULATOR_CONTROL_H
#define LODE_EMULATOR_CONTROL_H

#include <stddef.h>

#if defined(__GNUC__)
#define LODE_EMULATOR_EXPORT __attribute__((visibility("default")))
#else
#define LODE_EMULATOR_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What the emulator counts as live. A destroyed or freed handle isn't live, even while work that
 * was submitted to it is still under way. */
enum lode_emulator_kind {
    LODE_EMULATOR_PRIMARY_REFERENCES, /* cuDevicePrimaryCtxRetain less ...Release */
    LODE_EMULATOR_CONTEXTS,           /* cuCtxCreate */
    LODE_EMULATOR_STREAMS,            /* without the default streams */
    LODE_EMULATOR_EVENTS,
    LODE_EMULATOR_LIBRARIES,
    LODE_EMULATOR_MODULES,            /* without those inside libraries */
    LODE_EMULATOR_DEVICE_ALLOCATIONS, /* device, managed and pool memory */
    LODE_EMULATOR_HOST_ALLOCATIONS,   /* page-locked */
    LODE_EMULATOR_HOST_REGISTRATIONS,
    LODE_EMULATOR_MEMORY_POOLS, /* without the default pools */
    LODE_EMULATOR_LEAKS,        /* since the reset: handles that ended only because their
                                   context did; the log names each */
    LODE_EMULATOR_KINDS
};

/* Makes the machine anew: the devices that `devices` names ("sm_75,sm_90"; NULL: as
 * LODE_EMULATOR_DEVICES says), nothing initialised, no handles, no faults, counters at zero.
 * Waits for work under way. Handles from before are invalid afterwards, and no other thread may
 * be inside a driver call. Returns 0, or -1 when a name isn't known (nothing changes then; the
 * sentence goes to the log). */
LODE_EMULATOR_EXPORT int lode_emulator_reset(const char* devices);

/* The CUDA version that the driver reports from now on, e.g. 12040; entry points that are younger
 * aren't found. 0 restores the emulator's own. */
LODE_EMULATOR_EXPORT void lode_emulator_set_driver_version(int version);

/* Makes the n-th counted driver call from now (1 is the next) return `result`, once. A call that
 * creates or does something then does nothing; one that destroys, frees, releases or pops does so
 * all the same, as the driver does when it reports an earlier error. 0 takes the order back.
 * Counted are all entry points but cuGetProcAddress, cuGetErrorName and cuGetErrorString. */
LODE_EMULATOR_EXPORT void lode_emulator_fail_call(unsigned long n, int result);

/* Counted driver calls since the start or the last reset. */
LODE_EMULATOR_EXPORT unsigned long lode_emulator_call_count(void);

/* The entry point that the last order of lode_emulator_fail_call hit ("cuMemAlloc"), or NULL when
 * it hasn't hit one yet. */
LODE_EMULATOR_EXPORT const char* lode_emulator_failed_call(void);

/* Live handles of one kind now; -1 for an unknown kind. */
LODE_EMULATOR_EXPORT long lode_emulator_live(int kind);

/* "streams", "device allocations", …; NULL for an unknown kind. */
LODE_EMULATOR_EXPORT const char* lode_emulator_kind_name(int kind);

/* Receives every line of the emulator's log: level 0 error, 1 warning, 2 information. May be
 * called from any thread, from several at once, and must not call the driver. NULL removes it. */
typedef void (*lode_emulator_log_hook)(void* user, int level, const char* line);
LODE_EMULATOR_EXPORT void lode_emulator_set_log(lode_emulator_log_hook hook, void* user);

/* Copies the report of the last failure that has more to say than its code (memory errors, traps,
 * asserts, kernels that can't run, PTX that can't be loaded, an environment that makes no sense) and
 * forgets it. Writes at most `room` bytes with the final NUL; returns the bytes that the whole report
 * takes without it, 0 when there is none. */
LODE_EMULATOR_EXPORT size_t lode_emulator_take_report(char* text, size_t room);

#ifdef __cplusplus
}
#endif

#endif
