// A plug-in that ships its kernels as packs and compiles nothing at run time, in an application
// that knows nothing of lode. plug.cpp is the plug-in; this is the application.
//
//     cmake -B build && cmake --build build && build/28_plug_in
//     triple.cu: hit (pack)
//     1000 elements, 0 wrong
#include <cstdio>
#include <vector>

#include <dlfcn.h>

int main() {
    // It stays loaded until the process ends: work on other threads may be under way.
    void* const plug = ::dlopen(PLUG, RTLD_NOW | RTLD_LOCAL);
    if (plug == nullptr) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return 1;
    }
    auto* const triple = reinterpret_cast<int (*)(float*, int)>(::dlsym(plug, "plug_triple"));
    if (triple == nullptr) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return 1;
    }
    constexpr int n = 1000;
    std::vector<float> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = static_cast<float>(i);
    if (triple(values.data(), n) != 0) return 1;
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += values[i] != 3.0F * static_cast<float>(i);
    std::printf("%d elements, %d wrong\n", n, wrong);
    return wrong == 0 ? 0 : 1;
}
