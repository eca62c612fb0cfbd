// A buffer goes only where the kernel takes a pointer to its own element type.
// expect: the element type of this memory doesn't match
#include <lode/lode.hpp>

lode::Status use(const lode::Kernel<void(const float*)>& kernel, lode::StreamRef stream,
                 const lode::DeviceBuffer<float>& floats, const lode::DeviceBuffer<int>& ints) {
#ifdef LODE_BAD
    (void)floats;
    return kernel.launch(stream, lode::cover(1), ints);
#else
    (void)ints;
    return kernel.launch(stream, lode::cover(1), floats);
#endif
}
