// A launch passes as many arguments as the signature has.
// expect: the number of arguments differs from the kernel's signature
#include <lode/lode.hpp>

lode::Status use(const lode::Kernel<void(float, int)>& kernel, lode::StreamRef stream) {
#ifdef LODE_BAD
    return kernel.launch(stream, lode::cover(1), 1.0F);
#else
    return kernel.launch(stream, lode::cover(1), 1.0F, 1);
#endif
}
