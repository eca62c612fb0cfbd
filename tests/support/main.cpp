#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#if defined(__SANITIZE_ADDRESS__)
/// NVIDIA's compilers leak inside themselves, above all when a compilation fails. LeakSanitizer
/// asks for this function by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libnvrtc\nleak:libnvJitLink\n";
}
#endif
