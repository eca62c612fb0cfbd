// A read-only span isn't passed where the kernel may write.
// expect: the element type of this memory doesn't match
#include <lode/lode.hpp>

lode::Status use(const lode::Kernel<void(float*)>& kernel, lode::StreamRef stream,
                 lode::DeviceSpan<float> floats) {
#ifdef LODE_BAD
    return kernel.launch(stream, lode::cover(1), lode::DeviceSpan<const float>(floats));
#else
    return kernel.launch(stream, lode::cover(1), floats);
#endif
}
