// An asynchronous copy of a span doesn't take a temporary either.
// expect: a temporary is gone by then
#include <lode/lode.hpp>

#include <vector>

lode::Status use(lode::DeviceSpan<float> span, lode::StreamRef stream) {
#ifdef LODE_BAD
    return span.copy_from_async(stream, std::vector<float>(4));
#else
    static std::vector<float> values(4);
    return span.copy_from_async(stream, values);
#endif
}
