// An asynchronous copy doesn't take a temporary, whose elements are gone when it runs.
// expect: a temporary is gone by then
#include <lode/lode.hpp>

#include <vector>

lode::Status use(lode::DeviceBuffer<float>& buffer, lode::StreamRef stream) {
#ifdef LODE_BAD
    return buffer.copy_from_async(stream, std::vector<float>(4));
#else
    static std::vector<float> values(4);
    return buffer.copy_from_async(stream, values);
#endif
}
