// host_exception LIBRARY KIND: a host function that throws on the software device. The stream must
// report the error once and run later work. A failure shows as a hang or as the process's end.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string_view>

#include <cudaTypedefs.h>
#include <dlfcn.h>

namespace {

void* library = nullptr;

template <class Function>
Function* call(const char* name) {
    auto* const found = reinterpret_cast<Function*>(dlsym(library, name));
    if (found == nullptr) std::exit(3);
    return found;
}
#define CU(name) call<std::remove_pointer_t<decltype(&name)>>(#name)

void throws(void* kind) {
    const std::string_view what = static_cast<const char*>(kind);
    if (what == "runtime_error") throw std::runtime_error("from the host");
    if (what == "bad_alloc") throw std::bad_alloc();
    throw 42;
}

void count(void* number) {
    ++*static_cast<int*>(number);
}

}  // namespace

int main(int, char** arguments) {
    library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 3;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    if (CU(cuInit)(0) != CUDA_SUCCESS) return 3;
    if (CU(cuDevicePrimaryCtxRetain)(&context, 0) != CUDA_SUCCESS) return 3;
    if (CU(cuCtxSetCurrent)(context) != CUDA_SUCCESS) return 3;
    if (CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return 3;
    int ran = 0;
    if (CU(cuLaunchHostFunc)(stream, throws, arguments[2]) != CUDA_SUCCESS) return 3;
    if (CU(cuStreamSynchronize)(stream) == CUDA_SUCCESS) {
        std::puts("the exception is lost");
        return 1;
    }
    if (CU(cuLaunchHostFunc)(stream, count, &ran) != CUDA_SUCCESS ||
        CU(cuStreamSynchronize)(stream) != CUDA_SUCCESS || ran != 1) {
        std::puts("the stream doesn't continue");
        return 1;
    }
    return 0;
}
