// cuMemset…
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/memory/copies.hpp"

namespace lode::emulator::driver {
namespace {

CUresult set(const char* symbol, CUstream handle, DefaultStream null_means, CUdeviceptr to,
             std::size_t pitch, std::uint32_t value, std::size_t value_bytes, std::size_t width,
             std::size_t height, Waits waits) {
    return enter_stream(symbol, handle, null_means, [&](const StreamUse& use) {
        return fill(use, to, pitch, value, value_bytes, width, height, waits);
    });
}

}  // namespace

/// The four entry points of one value type: linear and 2D, synchronous and asynchronous.
#define LODE_MEMSET(bits, type)                                                                  \
    LODE_ENTRY_TWINS(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr dst, type value, size_t N), {     \
        return set(__func__, nullptr, default_stream, dst, 0, value, sizeof(type), N, 1,         \
                   Waits::yes);                                                                  \
    })                                                                                           \
    LODE_ENTRY_TWINS(cuMemsetD##bits##Async, _ptsz,                                              \
                     (CUdeviceptr dst, type value, size_t N, CUstream hStream), {                \
                         return set(__func__, hStream, default_stream, dst, 0, value,            \
                                    sizeof(type), N, 1, Waits::no);                              \
                     })                                                                          \
    LODE_ENTRY_TWINS(cuMemsetD2D##bits##_v2, _ptds,                                              \
                     (CUdeviceptr dst, size_t pitch, type value, size_t Width, size_t Height), { \
                         return set(__func__, nullptr, default_stream, dst, pitch, value,        \
                                    sizeof(type), Width, Height, Waits::yes);                    \
                     })                                                                          \
    LODE_ENTRY_TWINS(cuMemsetD2D##bits##Async, _ptsz,                                            \
                     (CUdeviceptr dst, size_t pitch, type value, size_t Width, size_t Height,    \
                      CUstream hStream),                                                         \
                     {                                                                           \
                         return set(__func__, hStream, default_stream, dst, pitch, value,        \
                                    sizeof(type), Width, Height, Waits::no);                     \
                     })

LODE_MEMSET(8, unsigned char)
LODE_MEMSET(16, unsigned short)
LODE_MEMSET(32, unsigned int)

}  // namespace lode::emulator::driver
