/// \file
/// What the driver knows about an address.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/native.hpp>

#include <cstddef>
#include <cstdint>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

class Device;

/// The kind of memory at an address.
enum class MemoryKind : std::uint8_t {
    unknown,  ///< Nothing that the driver knows, such as pageable host memory.
    host,     ///< Page-locked host memory, allocated or registered.
    device,   ///< Device memory.
    managed   ///< Managed memory, which host and devices share.
};

/// The enumerator's own spelling, such as "managed".
[[nodiscard]] const char* to_string(MemoryKind kind) noexcept;

/// What the driver knows about an address; only `kind` means anything for unknown memory.
struct PointerInfo {
    MemoryKind kind = MemoryKind::unknown;   ///< What it is.
    int device_ordinal = -1;                 ///< The device that it was allocated on.
    NativeDevicePointer device_address = 0;  ///< For kernels; 0 if they can't access it.
    void* host_address = nullptr;            ///< For the host; nullptr if it can't access it.
    NativeDevicePointer base = 0;            ///< The start of its allocation.
    std::size_t size = 0;                    ///< The size of its allocation in bytes.
};

/// Asks the driver about a device or host address of any origin (cuPointerGetAttributes;
/// Programming Guide 3.2.7). The driver is that of `device`. An address that it doesn't know is no
/// error. Errors: device_lost; the driver's own.
[[nodiscard]] Result<PointerInfo> inspect_pointer(const Device& device,
                                                  NativeDevicePointer address);
/// The same for a pointer.
[[nodiscard]] Result<PointerInfo> inspect_pointer(const Device& device, const void* address);

}  // namespace LODE_NAMESPACE

LODE_API_END
