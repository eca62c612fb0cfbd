/* What Debian 12's libstdc++.a needs and glibc 2.27 lacks. scripts/sysroot adds it to the part of
 * glibc that is linked statically. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Zero is always right: libstdc++ then counts references atomically. */
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
    uint32_t random;
    if (getentropy(&random, sizeof random) != 0) abort();
    return random;
}
