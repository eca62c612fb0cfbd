#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>

#include <doctest/doctest.h>

#if defined(__SANITIZE_ADDRESS__)
/// NVIDIA's compilers leak internally, mostly when a compilation fails. LeakSanitizer looks this
/// function up by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libnvrtc\nleak:libnvJitLink\n";
}
#endif

#if defined(__SANITIZE_THREAD__)
/// NVTX's headers initialise themselves on first use, with plain stores that racing threads repeat.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
    return "race:nvtx\n";
}
#endif

int main(int argc, char** argv) {
    // Tests leave the user's cache alone; cache tests set their own folder.
    ::setenv("LODE_CACHE", "off", 0);
    return doctest::Context(argc, argv).run();
}
