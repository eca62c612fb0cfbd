// Times from the device's clocks. clock() is NVRTC's own and counts cycles; time() and
// timespec_get() read the global timer, which counts nanoseconds of the Unix epoch.
#pragma once
#include <stddef.h>

// A libcu++ that has this file defines timespec itself, in ::; it needs C++17.
#if __cplusplus >= 201703L && __has_include(<cuda/std/__host_stdlib/time.h>)
#include <cuda/std/ctime>
#else
typedef long long int time_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
#define TIME_UTC 1
#endif

struct tm {
    int tm_sec;
    int tm_min;
    int tm_hour;
    int tm_mday;
    int tm_mon;
    int tm_year;
    int tm_wday;
    int tm_yday;
    int tm_isdst;
};

__device__ inline unsigned long long __lode_global_timer() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

__device__ inline time_t time(time_t* result) {
    const time_t now = static_cast<time_t>(__lode_global_timer() / 1000000000);
    if (result != nullptr) *result = now;
    return now;
}

__device__ inline int timespec_get(timespec* result, int base) {
    if (base != TIME_UTC) return 0;
    const unsigned long long now = __lode_global_timer();
    result->tv_sec = static_cast<time_t>(now / 1000000000);
    result->tv_nsec = static_cast<long>(now % 1000000000);
    return base;
}

__device__ inline double difftime(time_t end, time_t start) {
    return static_cast<double>(end - start);
}

// The rest is declared as templates, so that only a use is an error.
template <class Time = time_t>
__device__ constexpr long __lode_clocks_per_second() {
    static_assert(sizeof(Time) == 0,
                  "CLOCKS_PER_SEC isn't a constant in kernels: clock() counts the cycles of a "
                  "multiprocessor. Use timespec_get(), or pass the clock rate to the kernel.");
    return 1;
}
#define CLOCKS_PER_SEC (__lode_clocks_per_second())

#define __LODE_CALENDAR(result, name, parameters)                                       \
    template <class Time = time_t>                                                      \
    __device__ result name parameters {                                                 \
        static_assert(sizeof(Time) == 0,                                                \
                      #name " isn't available in kernels, which have no calendar and "  \
                            "no time zone. Pass the time as a number and convert it "   \
                            "on the host.");                                            \
        return result();                                                                \
    }
typedef char* __lode_text;
typedef tm* __lode_calendar_time;
__LODE_CALENDAR(time_t, mktime, (tm*))
__LODE_CALENDAR(__lode_text, asctime, (const tm*))
__LODE_CALENDAR(__lode_text, ctime, (const time_t*))
__LODE_CALENDAR(__lode_calendar_time, gmtime, (const time_t*))
__LODE_CALENDAR(__lode_calendar_time, localtime, (const time_t*))
__LODE_CALENDAR(size_t, strftime, (char*, size_t, const char*, const tm*))
#undef __LODE_CALENDAR
