// The driver's own declarations, and checks that lode's public handle types match them.
#pragma once

#include "base/cuda_additions.hpp"

#include <lode/runtime/native.hpp>

#include <type_traits>

#include <cuda.h>
#include <cudaTypedefs.h>

namespace LODE_NAMESPACE {

static_assert(std::is_same_v<NativeDevice, CUdevice>);
static_assert(std::is_same_v<NativeContext, CUcontext>);
static_assert(std::is_same_v<NativeStream, CUstream>);
static_assert(std::is_same_v<NativeArray, CUarray>);
static_assert(std::is_same_v<NativeMipmappedArray, CUmipmappedArray>);
static_assert(std::is_same_v<NativeTexture, CUtexObject>);
static_assert(std::is_same_v<NativeSurface, CUsurfObject>);
static_assert(std::is_same_v<NativeEvent, CUevent>);
static_assert(std::is_same_v<NativeLibrary, CUlibrary>);
static_assert(std::is_same_v<NativeKernel, CUkernel>);
static_assert(std::is_same_v<NativeDevicePointer, CUdeviceptr>);

}  // namespace LODE_NAMESPACE
