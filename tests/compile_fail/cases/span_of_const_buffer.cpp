// A const buffer has only read-only views.
// expect: DeviceSpan<float>
#include <lode/lode.hpp>

#ifdef LODE_BAD
using Buffer = const lode::DeviceBuffer<float>;
#else
using Buffer = lode::DeviceBuffer<float>;
#endif

lode::DeviceSpan<float> use(Buffer& buffer) {
    return buffer;
}
