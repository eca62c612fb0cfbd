// Included after both lode's headers and cuda.h: lode's handle types are the driver's.
#include <type_traits>

static_assert(std::is_same_v<lode::NativeDevice, CUdevice>);
static_assert(std::is_same_v<lode::NativeContext, CUcontext>);
static_assert(std::is_same_v<lode::NativeStream, CUstream>);
static_assert(std::is_same_v<lode::NativeEvent, CUevent>);
static_assert(std::is_same_v<lode::NativeLibrary, CUlibrary>);
static_assert(std::is_same_v<lode::NativeKernel, CUkernel>);
static_assert(std::is_same_v<lode::NativeMemoryPool, CUmemoryPool>);
static_assert(std::is_same_v<lode::NativeDevicePointer, CUdeviceptr>);
