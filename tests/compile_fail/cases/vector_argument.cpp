// Memory of the host isn't an argument of a launch.
// expect: this object isn't device memory: for a pointer parameter pass a DeviceBuffer
#include <lode/lode.hpp>

#include <vector>

lode::Status use(const lode::Kernel<void(float*)>& kernel, lode::StreamRef stream,
                 const std::vector<float>& host, const lode::DeviceBuffer<float>& device) {
#ifdef LODE_BAD
    (void)device;
    return kernel.launch(stream, lode::cover(1), host);
#else
    (void)host;
    return kernel.launch(stream, lode::cover(1), device);
#endif
}
