// A Result isn't its value.
// expect: this argument is a Result: pass its value, after a check or by unwrap()
#include <lode/lode.hpp>

lode::Status use(const lode::Kernel<void(float*)>& kernel, lode::StreamRef stream,
                 const lode::Result<lode::DeviceBuffer<float>>& made) {
#ifdef LODE_BAD
    return kernel.launch(stream, lode::cover(1), made);
#else
    return kernel.launch(stream, lode::cover(1), *made);
#endif
}
