// The default stream is asked for by name, never by 0.
// expect: use of deleted function
#include <lode/lode.hpp>

lode::Status use(const lode::Kernel<void()>& kernel, const lode::Device& device) {
#ifdef LODE_BAD
    (void)device;
    return kernel.launch(0, lode::cover(1));
#else
    return kernel.launch(device.default_stream(), lode::cover(1));
#endif
}
