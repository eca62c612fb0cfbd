// A program that is linked with the driver, which its DT_RPATH finds, and with a library that has
// more thread-local memory than the loader reserves by itself.
#include <cstdio>

extern "C" int cuInit(unsigned);
extern "C" char* lode_thread_memory();

int main() {
    lode_thread_memory()[0] = 1;
    std::printf("cuInit gives %d\n", cuInit(0));
    return 0;
}
