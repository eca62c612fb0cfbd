#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>

#include <doctest/doctest.h>

#if defined(__SANITIZE_ADDRESS__)
/// NVIDIA's compilers leak inside themselves, above all when a compilation fails. LeakSanitizer
/// asks for this function by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libnvrtc\nleak:libnvJitLink\n";
}
#endif

#if defined(__SANITIZE_THREAD__)
/// NVTX's headers initialise themselves on first use with plain stores that racing threads repeat.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
    return "race:nvtx\n";
}
#endif

int main(int argc, char** argv) {
    // Tests leave the user's cache alone; those about the cache name a folder of their own.
    ::setenv("LODE_CACHE", "off", 0);
    return doctest::Context(argc, argv).run();
}
