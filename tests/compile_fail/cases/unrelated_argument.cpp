// An argument must convert to its parameter.
// expect: this argument doesn't convert to the kernel's parameter
#include <lode/lode.hpp>

lode::Status use(const lode::Kernel<void(float*)>& kernel, lode::StreamRef stream, float* device) {
#ifdef LODE_BAD
    (void)device;
    return kernel.launch(stream, lode::cover(1), 7);
#else
    return kernel.launch(stream, lode::cover(1), device);
#endif
}
