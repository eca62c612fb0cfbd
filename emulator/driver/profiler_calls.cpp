// cuProfiler…: they tell a profiler which part of a program it should look at. Without one they
// succeed and change nothing, as on a GPU.
#include "emulator/driver/gate.hpp"

namespace lode::emulator::driver {

LODE_ENTRY cuProfilerInitialize(const char*, const char*, int) {
    return enter_context(__func__, [](Context&) { return CUDA_ERROR_PROFILER_DISABLED; });
}

LODE_ENTRY cuProfilerStart() {
    return enter_context(__func__, [](Context&) { return CUDA_SUCCESS; });
}

LODE_ENTRY cuProfilerStop() {
    return enter_context(__func__, [](Context&) { return CUDA_SUCCESS; });
}

}  // namespace lode::emulator::driver
