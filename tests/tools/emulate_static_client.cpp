// A program or a library that is linked with NVIDIA's static runtime library: it runs a kernel, and
// prints the result. With a library's path it runs that library's kernel instead, and after another
// argument its own first. After "error" it makes an error before, which isn't the library's. With
// "lacking" it calls a function that the stand-in lacks.
#include "tests/unit/emulator/toolkit/cudart_program.hpp"

#include <cstdio>
#include <cstring>

#include <dlfcn.h>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the runtime's names, and
// one of its kind, as nvcc's __cudaUnregisterBinaryUtil.
extern "C" {
cudaError_t cudaMemcpy_ptds(void*, const void*, size_t, cudaMemcpyKind);
__attribute__((weak)) int __cudaGetProcAddress();  // No shared library has it.

__attribute__((noinline)) int cudaOwnFunction(int value) {
    return value + 1;
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

int run_client() {
    const lode::test::Program program;
    unsigned values[4] = {1, 2, 3, 4};
    unsigned* memory = nullptr;
    unsigned count = 4;
    void* arguments[] = {&memory, &count};
    if (cudaPeekAtLastError() != cudaSuccess ||
        cudaMalloc(reinterpret_cast<void**>(&memory), sizeof(values)) != cudaSuccess ||
        cudaMemcpy(memory, values, sizeof(values), cudaMemcpyHostToDevice) != cudaSuccess ||
        cudaLaunchKernel(&program.scale, dim3(1), dim3(4), arguments, 0, nullptr) != cudaSuccess ||
        cudaMemcpy_ptds(values, memory, sizeof(values), cudaMemcpyDeviceToHost) != cudaSuccess ||
        cudaFree(memory) != cudaSuccess) {
        std::printf("fails: %s\n", cudaGetErrorName(cudaGetLastError()));
        return 1;
    }
    std::printf("%u %u %u %u, %d\n", values[0], values[1], values[2], values[3],
                cudaOwnFunction(6));
    return 0;
}
}

int main(int argc, char** argv) {
    if (argc < 2) return run_client();
    if (std::strcmp(argv[1], "lacking") == 0) {
        std::printf("%d, ", cudaFree(nullptr));
        std::printf("%d\n", __cudaGetProcAddress());
        return 0;
    }
    if (argc > 2 && run_client() != 0) return 1;
    if (std::strcmp(argv[1], "error") == 0) (void)cudaSetDevice(-1);
    void* const library = ::dlopen(argv[argc - 1], RTLD_NOW);
    if (library == nullptr) {
        std::puts(::dlerror());
        return 3;
    }
    return reinterpret_cast<int (*)()>(::dlsym(library, "run_client"))();
}
