// A floating-point argument isn't cut to an integer in silence.
// expect: a floating-point argument would be truncated to an integer
#include <lode/lode.hpp>

lode::Status use(const lode::Kernel<void(int)>& kernel, lode::StreamRef stream) {
#ifdef LODE_BAD
    return kernel.launch(stream, lode::cover(1), 2.5F);
#else
    return kernel.launch(stream, lode::cover(1), 2);
#endif
}
