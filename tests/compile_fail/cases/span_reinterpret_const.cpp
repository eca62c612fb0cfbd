// A read-only span isn't reinterpreted as a writable one.
// expect: constraints
#include <lode/lode.hpp>

#ifdef LODE_BAD
using Byte = unsigned char;
#else
using Byte = const unsigned char;
#endif

lode::Result<lode::DeviceSpan<Byte>> use(lode::DeviceSpan<const float> span) {
    return span.reinterpret<Byte>();
}
