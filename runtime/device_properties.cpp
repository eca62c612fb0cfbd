#include "runtime/device_properties.hpp"

#include "base/lower_case.hpp"
#include "base/try.hpp"
#include "runtime/state/device_checks.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE {
namespace detail {
namespace {

/// Reads attributes one by one and keeps the first error.
class AttributeReader {
public:
    AttributeReader(const DriverState& driver, CUdevice device)
        : driver_(driver), device_(device) {}

    int integer(CUdevice_attribute attribute) {
        if (!status_) return 0;
        auto value = read_attribute(driver_, device_, attribute);
        if (value) return *value;
        status_ = tl::unexpected<Error>(std::move(value).error().in(
            fmt::format("reading device attribute {}", static_cast<int>(attribute))));
        return 0;
    }
    bool flag(CUdevice_attribute attribute) { return integer(attribute) != 0; }
    std::size_t bytes(CUdevice_attribute attribute) {
        return static_cast<std::size_t>(integer(attribute));
    }
    Dim3 extents(CUdevice_attribute x, CUdevice_attribute y, CUdevice_attribute z) {
        const auto one = [&](auto attribute) {
            return static_cast<std::uint32_t>(integer(attribute));
        };
        return {one(x), one(y), one(z)};
    }

    [[nodiscard]] const Status& status() const noexcept { return status_; }

private:
    const DriverState& driver_;
    CUdevice device_;
    Status status_;
};

ComputeMode compute_mode_of(int value) noexcept {
    switch (value) {
        case CU_COMPUTEMODE_PROHIBITED:
            return ComputeMode::prohibited;
        case CU_COMPUTEMODE_EXCLUSIVE_PROCESS:
            return ComputeMode::exclusive_process;
        default:
            return ComputeMode::shared;
    }
}

Status read_identity(const DriverState& driver, CUdevice device, DeviceProperties& properties) {
    constexpr int longest = 256;
    char text[longest] = {};
    LODE_TRY(driver.call(driver.table.cuDeviceGetName, text, longest, device));
    properties.name = text;

    CUuuid uuid{};
    LODE_TRY(driver.call(driver.table.cuDeviceGetUuid, &uuid, device));
    std::ranges::transform(uuid.bytes, properties.uuid.begin(),
                           [](char byte) { return static_cast<std::uint8_t>(byte); });

    LODE_TRY(driver.call(driver.table.cuDeviceGetPCIBusId, text, longest, device));
    properties.pci_id = lower_case(text);
    return driver.call(driver.table.cuDeviceTotalMem, &properties.total_memory_bytes, device);
}

Status read_attributes(const DriverState& driver, CUdevice device, DeviceProperties& to) {
    AttributeReader read(driver, device);
    to.cc = {read.integer(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             read.integer(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
    to.compute_mode = compute_mode_of(read.integer(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE));

    to.multiprocessors = read.integer(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    to.memory_bus_bits = read.integer(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    to.l2_bytes = read.bytes(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    to.async_engines = read.integer(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    to.ecc = read.flag(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
    to.integrated = read.flag(CU_DEVICE_ATTRIBUTE_INTEGRATED);
    to.concurrent_kernels = read.flag(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
    to.cooperative_launch = read.flag(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
    to.cluster_launch = read.flag(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
    to.memory_pools = read.flag(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    to.managed_memory = read.flag(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
    to.persisting_l2_bytes = read.bytes(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
    to.access_policy_window_bytes = read.bytes(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
    to.memory_sync_domains = read.integer(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);

    to.warp_size = read.integer(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    to.max_threads_per_block = read.integer(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    to.max_block =
        read.extents(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                     CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    to.max_grid =
        read.extents(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                     CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    to.max_threads_per_multiprocessor =
        read.integer(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    to.max_blocks_per_multiprocessor =
        read.integer(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    to.registers_per_block = read.integer(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    to.registers_per_multiprocessor =
        read.integer(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    to.shared_bytes_per_block = read.bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    to.shared_bytes_per_block_optin =
        read.bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    to.shared_bytes_per_multiprocessor =
        read.bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    to.reserved_shared_bytes_per_block =
        read.bytes(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    return read.status();
}

}  // namespace

Result<DeviceProperties> read_properties(const DriverState& driver, int ordinal) {
    DeviceProperties properties;
    properties.ordinal = ordinal;
    CUdevice device{};
    LODE_TRY(driver.call(driver.table.cuDeviceGet, &device, ordinal));
    LODE_TRY(read_identity(driver, device, properties));
    LODE_TRY(read_attributes(driver, device, properties));
    return properties;
}

}  // namespace detail

std::string_view to_string(ComputeMode mode) noexcept {
    switch (mode) {
        case ComputeMode::shared:
            return "shared";
        case ComputeMode::prohibited:
            return "prohibited";
        case ComputeMode::exclusive_process:
            return "exclusive_process";
    }
    return "unknown";
}

std::string DeviceProperties::uuid_text() const {
    constexpr std::size_t dash_before[] = {4, 6, 8, 10};
    std::string text = "GPU-";
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (std::ranges::find(dash_before, i) != std::end(dash_before)) text += '-';
        text += fmt::format("{:02x}", uuid[i]);
    }
    return text;
}

double theoretical_bandwidth(int memory_clock_khz, int memory_bus_bits) noexcept {
    constexpr double hertz_per_kilohertz = 1e3;
    constexpr double bits_per_byte = 8;
    constexpr double transfers_per_clock = 2;
    return memory_clock_khz * hertz_per_kilohertz * (memory_bus_bits / bits_per_byte) *
           transfers_per_clock;
}

}  // namespace LODE_NAMESPACE
