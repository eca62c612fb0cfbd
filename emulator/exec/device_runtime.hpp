// DeviceRuntime: what kernels ask of the driver through CUDA's device runtime (libcudadevrt.a).
#pragma once

#include "emulator/decode/module.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator::exec {

struct GridShape {
    Dim3 grid, block;
    std::uint32_t dynamic_shared = 0;  ///< Bytes.
    /// Blocks in a cluster; zeros for the kernel's own (.reqnctapercluster), or else one block.
    Dim3 cluster{0, 0, 0};
};

/// The values are those of cudaError_t.
enum class DeviceError : int {
    none = 0,
    invalid_value = 1,
    memory_allocation = 2,
    invalid_configuration = 9,
    invalid_memcpy_direction = 21,
    launch_max_depth_exceeded = 65,
    invalid_device_function = 98,
    invalid_device = 101,
    invalid_resource_handle = 400,
    launch_out_of_resources = 701,
    not_supported = 801,
};

/// A rectangle of device memory: rows of bytes.
struct Rows {
    std::uint64_t at = 0;
    std::uint64_t pitch = 0;  ///< Bytes from row to row.
};

/// One for each grid that runs. Kernels are those of the grid's module. Thread-safe.
class DeviceRuntime {
public:
    virtual ~DeviceRuntime() = default;

    /// Whether a kernel can be launched so.
    virtual DeviceError check(std::string_view kernel, const GridShape& shape) = 0;
    /// Queues a launch; `parameters` are the kernel's parameter block.
    virtual DeviceError launch(std::string_view kernel, const GridShape& shape,
                               std::vector<std::byte> parameters, bool is_tail) = 0;
    /// Queues a copy within device memory. Sizes are in bytes.
    virtual DeviceError copy(Rows to, Rows from, std::uint64_t width, std::uint64_t height,
                             bool is_tail) = 0;
    /// Queues a fill with a byte.
    virtual DeviceError fill(Rows to, std::uint8_t value, std::uint64_t width, std::uint64_t height,
                             bool is_tail) = 0;

    /// A cudaLimit.
    virtual DeviceError limit(std::uint32_t which, std::uint64_t& value) = 0;
    /// A cudaDeviceAttr.
    virtual DeviceError attribute(std::uint32_t which, int device, int& value) = 0;
    /// The blocks of a kernel that one multiprocessor runs at once.
    virtual DeviceError occupancy(std::string_view kernel, int threads, std::uint64_t shared,
                                  int& blocks) = 0;
    /// A cudaFuncAttributes.
    virtual DeviceError attributes(std::string_view kernel, std::vector<std::byte>& bytes) = 0;
    virtual int cache_config() = 0;  ///< A cudaFuncCache.
    virtual int device() = 0;
    virtual int device_count() = 0;
    virtual int version() = 0;  ///< As cudaRuntimeGetVersion gives it.
    /// The name of an error, or what it means.
    virtual std::string error_text(int error, bool is_name) = 0;
};

}  // namespace lode::emulator::exec
