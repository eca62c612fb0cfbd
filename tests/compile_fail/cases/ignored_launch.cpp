// A launch's Status can't be dropped by accident.
// expect: ignoring return value
#include <lode/lode.hpp>

void use(const lode::Kernel<void(int)>& kernel, lode::StreamRef stream) {
#ifdef LODE_BAD
    kernel.launch(stream, lode::cover(1), 1);
#else
    if (!kernel.launch(stream, lode::cover(1), 1)) return;
#endif
}
